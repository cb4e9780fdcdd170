import { readFile } from "node:fs/promises";
import { API_VERSION, Sliproad } from "@sliproad/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Api } from "../../sdk/src/api.ts";
import { Resource } from "../../sdk/src/resources/resource.ts";

type Document = { info: { version: string }; paths: Record<string, Record<string, unknown>> };
const document: Document = JSON.parse(
  await readFile(new URL("../../openapi.json", import.meta.url), "utf8"),
);

afterEach(() => vi.restoreAllMocks());

describe("the SDK and the OpenAPI document", () => {
  it("every operation has a method", () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const called = callEveryMethod();
    const without = operations.filter((operation) => !called.includes(operation));
    expect(without, "add a method to sdk/src/resources/").toEqual([]);
    const unknown = called.filter((operation) => !operations.includes(operation));
    expect(unknown, "not in openapi.json: npm run generate").toEqual([]);
    expect(called).toHaveLength(new Set(called).size);
  });

  it("have the same version", () => {
    expect(API_VERSION).toBe(document.info.version);
  });
});

/** The operation that each method would call. */
function callEveryMethod(): string[] {
  const called: string[] = [];
  vi.spyOn(Api.prototype, "send").mockImplementation(async (method, path) => {
    called.push(`${method} ${path}`);
    return {} as never;
  });
  vi.spyOn(Api.prototype, "sendFor").mockImplementation(async (_key, method, path) => {
    called.push(`${method} ${path}`);
    return {} as never;
  });
  vi.spyOn(Api.prototype, "list").mockImplementation((path) => {
    called.push(`get ${path}`);
    return null as never;
  });
  vi.spyOn(Api.prototype, "upload").mockImplementation(async (path) => {
    called.push(`post ${path}`);
    return {} as never;
  });
  vi.spyOn(Api.prototype, "download").mockImplementation(async (path) => {
    called.push(`get ${path}`);
    return new Response() as never;
  });
  const sliproad = new Sliproad({ baseUrl: "http://127.0.0.1", apiKey: "sk_test_invented" });
  for (const resource of resourcesIn(sliproad)) {
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
      if (name === "constructor") continue;
      const method = (resource as unknown as Record<string, (...args: unknown[]) => unknown>)[
        name
      ]!;
      // An empty array is a placeholder for an id, a record or options.
      method.apply(resource, Array(6).fill([]));
    }
  }
  return called;
}

function resourcesIn(owner: object): Resource[] {
  const own = Object.values(owner).filter((value) => value instanceof Resource);
  return own.flatMap((resource) => [resource, ...resourcesIn(resource)]);
}
