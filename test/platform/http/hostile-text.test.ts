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

it("a name, reference or reason of invisible characters only is refused", async () => {
  const text = "\u200b\u0301\u3164";
  const person = { beneficiary_type: "individual", email: "seen@example.com", last_name: "Sample" };
  const reference = { offramp: { reference: text } };
  const { user_id, quote_id, offramp_id, payment_detail_id, app_id } = own;
  const detail = await server.call("GET", `/users/${user_id}/payment_details/${payment_detail_id}`);
  const { beneficiary_type, currency, rails } = detail.body.payment_detail;
  const payee = { beneficiary_type, currency, rails, last_name: text };
  const cases: [string, string, unknown, string][] = [
    ["POST", "/users", { user: { ...person, first_name: text } }, "user.first_name"],
    [
      "PATCH",
      `/users/${user_id}/quotes/${quote_id}/offramps/${offramp_id}`,
      reference,
      "reference",
    ],
    ["POST", `/users/${user_id}/payment_details`, { payment_detail: payee }, "last_name"],
    ["PATCH", `/apps/${app_id}`, { app: { name: text } }, "app.name"],
    ["POST", `/users/${user_id}/freeze`, { reason: text }, "reason"],
    ["POST", "/users", { user: { ...person, metadata: { [text]: "x" } } }, "user.metadata"],
  ];
  for (const [method, path, body, field] of cases) {
    const { body: refused } = await server.call(method, path, body);
    const fields = (refused.errors ?? []).map((error: { field: string }) => error.field);
    expect(fields, path).toContainEqual(expect.stringMatching(new RegExp(`${field}$`)));
  }
});

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
