import { afterAll, beforeAll, expect, it } from "vitest";
import { exampleBody, fillPath, type Operation, readDocument } from "../harness/api-document.ts";
import { createRecords, type RecordIds } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

/** What a caller would like to set: owners, states, decisions and sums that the service decides. */
const WANTED: Readonly<Record<string, unknown>> = {
  id: "01a1eb00-0000-7000-8000-000000000001",
  account_id: "01a1eb00-0000-7000-8000-000000000002",
  owner_id: "01a1eb00-0000-7000-8000-000000000002",
  created_at: "2020-01-01T00:00:00.000Z",
  updated_at: "2020-01-01T00:00:00.000Z",
  is_operator: true,
  is_frozen: false,
  is_approved: true,
  approval: "approved",
  approved_by: "admin@example.com",
  operator_approval: true,
  kyc_status: "approved",
  screening: { status: "clear" },
  balance: 1_000_000,
  fee: 0,
  fees: [],
  rate: "0.0001",
  price_version: 1,
  paid_at: "2020-01-01T00:00:00.000Z",
  role: "admin",
  scopes: ["admin"],
  __proto__x: { is_operator: true },
};

/** Answers 200 with the problems that it found. */
const VALIDATES = "validatePaymentDetail";

let server: TestServer;
let operations: Operation[];
let ids: RecordIds;
beforeAll(async () => {
  server = await startTestServer();
  operations = readDocument(server.app.server).operations.filter(({ body }) => body !== null);
  ids = await createRecords(server, server.key);
});
afterAll(() => server.close());

it("no operation takes a field that its body does not have, at any depth", async () => {
  let tried = 0;
  for (const operation of operations) {
    const body = exampleBody(operation, ids)!;
    const places = listObjects(body, operation.body!.schema, []);
    expect(places.length, operation.name).toBeGreaterThan(0);
    for (const { path, known } of places) {
      const added = Object.entries(WANTED).filter(([name]) => !known.has(name));
      const changed = structuredClone(body);
      Object.assign(at(changed, path), Object.fromEntries(added));
      const answer = await server.call(operation.method, fillPath(operation, ids), changed);
      const about = `${operation.name}, ${path.join(".") || "top"}: ${answer.text.slice(0, 300)}`;
      expect(answer.status, about).toBe(operation.name === VALIDATES ? 200 : 422);
      const { errors } = operation.name === VALIDATES ? answer.body.payment_detail : answer.body;
      const unknown = errors.filter(({ code }: { code: string }) => code === "parameter_unknown");
      const fields = new Set(unknown.map(({ field }: { field: string }) => field));
      const wanted = added.map(([name]) => fieldName([...path, name]));
      expect(
        wanted.filter((field) => !fields.has(field)),
        about,
      ).toEqual([]);
      tried += 1;
    }
  }
  expect(tried).toBeGreaterThan(operations.length);
});

type Place = { path: (string | number)[]; known: Set<string> };

/** The objects of the example whose fields the document names; free ones, as metadata, are not. */
function listObjects(
  value: unknown,
  schema: Record<string, unknown>,
  path: Place["path"],
): Place[] {
  const forms = [schema, ...((schema.anyOf ?? schema.oneOf ?? []) as Record<string, unknown>[])];
  if (Array.isArray(value)) {
    const items = forms.find((form) => form.items)?.items as Record<string, unknown> | undefined;
    return value.length > 0 && items ? listObjects(value[0], items, [...path, 0]) : [];
  }
  if (value === null || typeof value !== "object") return [];
  const described = forms.filter((form) => form.properties);
  if (described.length === 0) return [];
  const properties = Object.assign({}, ...described.map((form) => form.properties));
  const own = { path, known: new Set(Object.keys(properties)) };
  const inner = Object.entries(value).flatMap(([name, field]) =>
    properties[name] ? listObjects(field, properties[name], [...path, name]) : [],
  );
  return [own, ...inner];
}

/** As errors name it: `offramps[0].id`. */
function fieldName([first, ...rest]: Place["path"]): string {
  return rest.reduce<string>(
    (name, part) => (typeof part === "number" ? `${name}[${part}]` : `${name}.${part}`),
    String(first),
  );
}

function at(body: unknown, path: Place["path"]): object {
  return path.reduce(
    (value, name) => (value as Record<string | number, unknown>)[name],
    body,
  ) as object;
}
