import { afterAll, beforeAll, expect, it } from "vitest";
import {
  exampleBody,
  fillPath,
  type Operation,
  readDocument,
  type Schema,
} from "../../harness/api-document.ts";
import { createRecords, type RecordIds } from "../../harness/records.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";

let server: TestServer;
let own: RecordIds;
let operations: Operation[];
beforeAll(async () => {
  server = await startTestServer();
  own = await createRecords(server, server.key);
  operations = readDocument(server.app.server).operations;
});
afterAll(() => server.close());

type Path = (string | number)[];

/** The paths of a request that may contain text, in any of its forms. */
function textPaths(schema: Schema, at: Path = []): Path[] {
  const forms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  const inside = Object.entries<Schema>(schema.properties ?? {});
  return [
    ...forms.flatMap((form: Schema) => textPaths(form, at)),
    ...inside.flatMap(([name, property]) => textPaths(property, [...at, name])),
    ...(schema.items ? textPaths(schema.items, [...at, 0]) : []),
    ...(schema.type === "string" ? [at] : []),
  ];
}

/** A copy of the body with this value at this path, and the required parents. */
function withValue(body: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value;
  const own_value = (body as Record<string | number, unknown> | null | undefined)?.[name];
  const inner = withValue(own_value, rest, value);
  if (typeof name === "number") return [inner, ...(Array.isArray(body) ? body.slice(1) : [])];
  return { ...(body as object | undefined), [name]: inner };
}

it.each([
  ["NUL", "a\0b"],
  ["a lone surrogate", "a\ud800b"],
])("%s in any text of any request is refused and never causes a 500", async (_name, text) => {
  const taken: string[] = [];
  let tried = 0;
  for (const operation of operations) {
    if (!operation.body) continue;
    const paths = new Map(textPaths(operation.body.schema).map((path) => [path.join("."), path]));
    for (const [name, path] of paths) {
      const body = withValue(exampleBody(operation, own), path, text);
      const answer = await server.call(operation.method, fillPath(operation, own), body);
      tried += 1;
      if (!isRefused(answer)) taken.push(`${operation.name} ${name}: ${answer.status}`);
    }
  }
  expect(taken).toEqual([]);
  expect(tried).toBeGreaterThan(100);
});

function isRefused({ status, body }: Answer): boolean {
  // The one route that answers with the problems instead of a refusal.
  if (body.payment_detail?.valid === false) return true;
  return status >= 400 && status < 500;
}

it("NUL in any filter never causes a 500", async () => {
  const failed: string[] = [];
  let tried = 0;
  for (const operation of operations) {
    const path = fillPath(operation, own);
    for (const { name } of operation.query_parameters) {
      const answer = await server.call(operation.method, `${path}?${name}=a%00b`);
      tried += 1;
      if (answer.status >= 500) failed.push(`${operation.name} ${name}: ${answer.status}`);
    }
  }
  expect(failed).toEqual([]);
  expect(tried).toBeGreaterThan(50);
});
