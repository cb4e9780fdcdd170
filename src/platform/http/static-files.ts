import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyInstance } from "fastify";
import { Refusal } from "../errors.ts";

type StaticFile = {
  bytes: Buffer;
  /** The same, compressed, where the build wrote it. */
  brotli: Buffer | null;
  media_type: string;
  etag: string;
};

/** By name: a flat directory, read once. Requests are looked up here, never on disk. */
type StaticFiles = ReadonlyMap<string, StaticFile>;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};
/**
 * `index-B1x9_aQz.js`: the name changes with the content, so a browser may cache it permanently.
 */
const HASHED = /-[\w-]{8}\.\w+$/;
const FILES_MAX = 1_000;

/** Null if there is no such directory. */
export function readStaticFiles(directory: string): StaticFiles | null {
  let names: string[];
  try {
    names = readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  if (names.length > FILES_MAX) throw new Error(`${directory} has more than ${FILES_MAX} files`);
  return new Map(
    names.map((name) => {
      const bytes = readFileSync(join(directory, name));
      const media_type = MEDIA_TYPES[extname(name)] ?? "application/octet-stream";
      const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
      const brotli = names.includes(`${name}.br`)
        ? readFileSync(join(directory, `${name}.br`))
        : null;
      return [name, { bytes, brotli, media_type, etag }];
    }),
  );
}

/** Serves the files under `prefix/`. */
export function addStaticFiles(
  app: FastifyInstance,
  prefix: string,
  files: StaticFiles | null,
): void {
  app.get(`${prefix}/:name`, (request, reply) => {
    const { name } = request.params as { name: string };
    const file = files?.get(name);
    if (!file) throw new Refusal("route_not_found");
    reply
      .header(
        "Cache-Control",
        HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
      )
      .header("X-Content-Type-Options", "nosniff")
      .header("ETag", file.etag)
      .type(file.media_type);
    if (request.headers["if-none-match"] === file.etag) return reply.code(304).send();
    if (!file.brotli) return reply.send(file.bytes);
    reply.header("Vary", "Accept-Encoding");
    const is_understood = /\bbr\b/.test(request.headers["accept-encoding"] ?? "");
    if (!is_understood) return reply.send(file.bytes);
    return reply.header("Content-Encoding", "br").send(file.brotli);
  });
}
