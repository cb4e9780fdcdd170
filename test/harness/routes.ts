import type { FastifyInstance } from "fastify";

/** A line of the tree that Fastify prints: how deep it is, a part of a path, its methods. */
const LINE = /^([│ ]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/;
const DEPTH_COLUMNS = 4;

/** Every route of the server, of the API and of pages, with parameters such as `:user_id`. */
export function listRoutes(server: FastifyInstance): { method: string; path: string }[] {
  const parts: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const [, indent = "", part = "", methods = ""] = LINE.exec(line) ?? [];
      parts.splice(indent.length / DEPTH_COLUMNS, Infinity, part);
      const path = parts.join("");
      return methods === "" ? [] : methods.split(", ").map((method) => ({ method, path }));
    });
}
