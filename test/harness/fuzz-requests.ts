import fc from "fast-check";
import { exampleBody, type Operation, type Schema, UPLOAD, UPLOAD_TYPE } from "./api-document.ts";
import { junkJson, junkText, mutateBytes, mutateJson, writeJson } from "./fuzz-json.ts";

/** A request as it is sent. */
export type FuzzRequest = {
  operation: Operation;
  method: string;
  /** Includes the query. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer | null;
};

export type FuzzMaterial = {
  operations: readonly Operation[];
  key: string;
  /** Ids of real records that belong together, by the name of the path parameter. */
  records: readonly Readonly<Record<string, string>>[];
  /** Complete bodies that the server accepts, by the operation's name, besides the examples. */
  bodies: ReadonlyMap<string, readonly unknown[]>;
};

/** Requests to all operations: some valid, most with a few errors, some entirely wrong. */
export function fuzzRequests(material: FuzzMaterial): fc.Arbitrary<FuzzRequest> {
  const choices = material.operations.flatMap((operation) =>
    material.records.map((ids) => requestTo(material, operation, ids)),
  );
  return fc.oneof(...choices);
}

type Ids = Readonly<Record<string, string>>;

function requestTo(
  material: FuzzMaterial,
  operation: Operation,
  ids: Ids,
): fc.Arbitrary<FuzzRequest> {
  const method = rarely(operation.method, fc.constantFrom(...METHODS));
  const path = pathOf(material, operation, ids);
  const query = usually(fc.constant(""), queryOf(operation), operation.method === "GET" ? 1 : 8);
  const media_type = operation.is_upload ? UPLOAD_TYPE : "application/json";
  const has_body = operation.method !== "GET";
  const body = has_body
    ? bodyOf(material, operation, ids)
    : rarelyOf(fc.constant(null), junkBody());
  return fc
    .record({ method, path, query, headers: headersOf(material), body })
    .map(({ method, path, query, headers, body }) => ({
      operation,
      method,
      path: query === "" ? path : `${path}?${query}`,
      headers: body === null ? headers : { "content-type": media_type, ...headers },
      body: method === "HEAD" ? null : body,
    }));
}

const METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"];

function pathOf({ records }: FuzzMaterial, operation: Operation, ids: Ids): fc.Arbitrary<string> {
  const pieces = operation.path.split(/(\{\w+\})/).map((piece) => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1];
    if (name === undefined) return fc.constant(piece);
    const own = ids[name];
    if (!own) throw new Error(`create a record in test/harness/records.ts for ${name}`);
    const others = records.map((other) => other[name]!);
    return usually(fc.constant(own), fc.oneof(fc.constantFrom(...others), oddId(others)), 8);
  });
  return fc.tuple(...pieces).map((parts) => parts.join(""));
}

function oddId(known: readonly string[]): fc.Arbitrary<string> {
  const id = fc.constantFrom(...known);
  return fc.oneof(
    fc.uuid(),
    id.map((text) => text.toUpperCase()),
    id.map((text) => text.replaceAll("-", "")),
    id.map((text) => `${text}%00`),
    fc.constantFrom("%00", "%ff", "%c0%af", "%zz", "%", "..", "%2e%2e%2f", "null", "0", "-1"),
    fc.constantFrom("validate", "__proto__", "constructor", "a".repeat(301), "%20"),
    fc.constantFrom("'%20or%201=1--", "%F0%9F%92%A9", "a".repeat(4_000)),
    junkText().map((text) => encodeURIComponent(text.toWellFormed())),
  );
}

function queryOf(operation: Operation): fc.Arbitrary<string> {
  const named = operation.query_parameters.map(({ name, schema }) =>
    usually(plainText(schema), junkText(), 1).map((value) => pair(name, value)),
  );
  const odd = fc.oneof(
    fc.tuple(fc.string({ maxLength: 10 }), junkText()).map(([name, value]) => pair(name, value)),
    fc.constantFrom("__proto__=1", "constructor[prototype][x]=1", "limit[]=1", "limit=1&limit=2"),
    fc.constantFrom("limit=1e2", "limit=%31", "limit=+5", "limit=0x10", "limit=", "limit", "&&=&="),
    fc.constantFrom(
      "created_after=%00",
      "starting_after=%ff%fe",
      "a=%zz",
      `a=${"b".repeat(9_000)}`,
    ),
    fc.constantFrom("created_after=2026-02-31", "created_before=9999-12-31T23:59:59.999999999Z"),
    fc.constantFrom("created_after=0000-01-01", "created_after=2026-01-01T00:00:00%2B14:00"),
  );
  return fc
    .array(usually(fc.oneof(odd, ...named), odd, 3), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("&"));
}

function plainText(schema: Schema): fc.Arbitrary<string> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === "integer") {
    const { minimum = -1, maximum = 1_000 } = schema;
    return fc.integer({ min: minimum, max: maximum }).map(String);
  }
  const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) });
  const times = time.map((date) => date.toISOString());
  return fc.oneof(times, fc.uuid(), fc.constantFrom("eur", "usd", "swift", "local"));
}

function pair(name: string, value: string): string {
  return `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`;
}

function bodyOf(
  { bodies }: FuzzMaterial,
  operation: Operation,
  ids: Ids,
): fc.Arbitrary<Buffer | null> {
  if (operation.is_upload) {
    return usually<Buffer | null>(
      fc.constant(UPLOAD),
      fc.oneof(mutateBytes(UPLOAD), junkBody()),
      1,
    );
  }
  if (!operation.body) {
    const nothing = fc.constantFrom(null, Buffer.from(""), Buffer.from("{}"));
    return usually<Buffer | null>(nothing, junkBody(), 3);
  }
  const right = [exampleBody(operation, ids), ...(bodies.get(operation.name) ?? [])];
  const base = fc.constantFrom(...right).chain((body) => withOwnEmail(body));
  const mutated = base.chain((body) => mutateJson(body));
  const made_up = fromSchema(operation.body.schema).map(writeJson);
  const text = fc.oneof(
    { arbitrary: base.map(writeJson), weight: 3 },
    { arbitrary: mutated, weight: 6 },
    { arbitrary: made_up, weight: 2 },
  );
  return fc.oneof(
    { arbitrary: text.map((json) => Buffer.from(json)), weight: 12 },
    { arbitrary: text.chain((json) => mutateBytes(Buffer.from(json))), weight: 2 },
    { arbitrary: junkBody(), weight: 1 },
  );
}

function junkBody(): fc.Arbitrary<Buffer> {
  return fc.oneof(
    junkJson().map((value) => Buffer.from(writeJson(value))),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(0, 1, 2).map((extra) => Buffer.alloc(1024 * 1024 - 1 + extra, " ")),
  );
}

/** An e-mail is unique within an account, so every body needs its own to be accepted. */
function withOwnEmail(body: unknown): fc.Arbitrary<unknown> {
  return fc.bigInt({ min: 0n, max: 2n ** 64n }).map((number) => {
    const own = `fuzz-${number.toString(36)}@example.com`;
    const text = JSON.stringify(body);
    return JSON.parse(text, (name, value) => (name === "email" ? own : value));
  });
}

/** Valid by the schema, though rarely by the rules behind it. */
function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fromSchema));
  switch (schema.type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer();
    case "number":
      return fc.double({ noDefaultInfinity: true, noNaN: true });
    case "string":
      return fc.oneof(fc.string({ maxLength: 60 }), junkText());
    case "array":
      return fc.array(fromSchema(schema.items ?? {}), { maxLength: 4 });
    case "object":
      return objectFrom(schema);
    default:
      return junkJson();
  }
}

function objectFrom(schema: Schema): fc.Arbitrary<unknown> {
  const properties: Record<string, Schema> = schema.properties ?? {};
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, fromSchema(inner)]),
  );
  if (Object.keys(model).length === 0) {
    return fc.dictionary(fc.string({ maxLength: 45 }), junkJson(), { maxKeys: 4 });
  }
  return fc.record(model, { requiredKeys: schema.required ?? [] });
}

function headersOf({ key }: FuzzMaterial): fc.Arbitrary<FuzzRequest["headers"]> {
  const authorization = rarely(`Bearer ${key}`, fc.constantFrom(...AUTHORIZATIONS));
  const idempotency = fc.oneof(
    fc.constantFrom("one", "two", "three", "", " ", "a".repeat(255), "a".repeat(256), "ü"),
    fc.string({ maxLength: 40 }).map((text) => text.replace(/[^\x20-\x7e]/g, "?")),
  );
  const odd = fc.oneof(
    fc.constantFrom<[string, string | string[]]>(...ODD_HEADERS),
    idempotency.map((value): [string, string] => ["idempotency-key", value]),
    idempotency.map((value): [string, string[]] => ["idempotency-key", [value, "again"]]),
  );
  const some = usually(
    fc.constant<[string, string | string[]][]>([]),
    fc.array<[string, string | string[]]>(odd, { minLength: 1, maxLength: 2 }),
    2,
  );
  return fc
    .tuple(authorization, some)
    .map(([value, pairs]) => ({ authorization: value, ...Object.fromEntries(pairs) }));
}

const AUTHORIZATIONS = ["", "Bearer ", "Bearer x", `Bearer ${"k".repeat(400)}`, "Basic YTpi", "ÿ"];
const ODD_HEADERS: [string, string | string[]][] = [
  ["content-type", "text/plain"],
  ["content-type", ""],
  ["content-type", "application/json; charset=utf-8"],
  ["content-type", "application/json; charset=latin1"],
  ["content-type", "application/x-www-form-urlencoded"],
  ["content-type", "multipart/form-data"],
  ["content-type", "multipart/form-data; boundary=x"],
  ["content-type", "application/jsonx"],
  ["content-type", ";;;=,/"],
  ["content-type", "a".repeat(2_000)],
  ["content-encoding", "gzip"],
  ["accept", "text/html"],
  ["accept", "application/json"],
  ["accept", "*/*;q=0.1"],
  ["accept", ",".repeat(5_000)],
  ["sliproad-version", "2026-11-15"],
  ["sliproad-version", "1999-01-01"],
  ["sliproad-version", ""],
  ["expect", "100-continue"],
  ["x-forwarded-for", "1.2.3.4, ::1"],
  ["x-request-id", "mine"],
  ["x-http-method-override", "DELETE"],
  ["cookie", "session=%00; __proto__=1; ="],
  ["x-long", "a".repeat(9_000)],
  ["x-too-long", "a".repeat(40_000)],
  ["range", "bytes=0-1"],
  ["if-none-match", "*"],
  ["accept-encoding", "gzip, br"],
  ["origin", "null"],
];

/** `usual` more often than `odd`: `times` to one. */
function usually<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, times: number): fc.Arbitrary<T> {
  return fc.oneof({ arbitrary: usual, weight: times }, { arbitrary: odd, weight: 1 });
}

function rarely<T>(usual: T, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return usually(fc.constant(usual), odd, 40);
}

function rarelyOf<T, U>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<U>): fc.Arbitrary<T | U> {
  return usually<T | U>(usual, odd, 40);
}
