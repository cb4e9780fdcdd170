import type { FastifyInstance } from "fastify";
import { ERROR_CODES, type ErrorCode } from "../../src/platform/errors.ts";
import type { Answer, TestServer } from "./server.ts";

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema has as many shapes as the standard.
export type Schema = Record<string, any>;

/** An operation of the OpenAPI document, with what tests of all operations need. */
export type Operation = {
  name: string;
  summary: string;
  description: string;
  method: string;
  /** With parameters such as `{user_id}`. */
  path: string;
  path_parameters: string[];
  query_parameters: { name: string; schema: Schema }[];
  body: { schema: Schema; example: unknown } | null;
  /** Accepts a file instead, as multipart. */
  is_upload: boolean;
  /** The schema of the answer 200; strict: no other fields are allowed. Null for a file. */
  answer: Schema | null;
  /** Every code that the document lists for this operation. */
  error_codes: Set<ErrorCode>;
};

export type ApiDocument = { raw: Schema; operations: Operation[]; error: Schema };

/** Refusals of the input itself; others depend on the state of the records. */
export const INPUT_ERRORS: readonly ErrorCode[] = [
  ...(["bad_request", "unsupported_media_type", "parameter_unknown", "value_too_long"] as const),
  ...(["parameter_missing", "record_not_found", "record_invalid", "route_not_found"] as const),
];

/** The document as the server publishes it. */
export function readDocument(server: FastifyInstance): ApiDocument {
  const raw: Schema = JSON.parse(JSON.stringify(server.swagger()));
  const operations = Object.entries<Schema>(raw.paths).flatMap(([path, methods]) =>
    Object.entries<Schema>(methods).map(([method, entry]) =>
      toOperation(raw, path, method.toUpperCase(), entry),
    ),
  );
  return { raw, operations, error: strict(raw, raw.components.schemas.Error) };
}

/** `/users/{user_id}` → `/users/0190…`, with ids from `ids`. */
export function fillPath(operation: Operation, ids: Readonly<Record<string, string>>): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`create a record for ${name} in test/harness/records.ts`);
    return id;
  });
}

/** The documented example, with ids of real records instead of invented ones. */
export function exampleBody(
  operation: Operation,
  ids: Readonly<Record<string, string>>,
): Schema | undefined {
  if (!operation.body) return undefined;
  const text = JSON.stringify(operation.body.example);
  return JSON.parse(text, (name, value) => (Object.hasOwn(ids, name) ? ids[name] : value));
}

export const UPLOAD_TYPE = "multipart/form-data; boundary=sliproad";
export const UPLOAD = Buffer.from(
  '--sliproad\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n' +
    "Content-Type: application/pdf\r\n\r\n%PDF-1.4 an invented invoice\r\n--sliproad--\r\n",
);

/** A complete valid request: the example, or a small file if the operation accepts one. */
export function callExample(
  server: TestServer,
  key: string,
  operation: Operation,
  path_ids: Readonly<Record<string, string>>,
  body_ids: Readonly<Record<string, string>> = path_ids,
): Promise<Answer> {
  const path = fillPath(operation, path_ids);
  const body = exampleBody(operation, body_ids);
  const file = { raw: UPLOAD, headers: { "content-type": UPLOAD_TYPE } };
  const options = { key, ...(operation.is_upload ? file : {}) };
  return server.call(operation.method, path, body, options);
}

function toOperation(raw: Schema, path: string, method: string, entry: Schema): Operation {
  const parameters: Schema[] = resolve(raw, entry.parameters ?? []) as Schema[];
  const content = entry.requestBody?.content["application/json"];
  const answer = entry.responses["200"].content["application/json"];
  const described = Object.values<Schema>(entry.responses).map((response) => {
    // Keys next to a reference take precedence over the component's.
    return response.description ?? resolve(raw, response).description;
  });
  const codes = described.join("\n").matchAll(/`(\w+)`/g);
  const known = new Set([...codes].map((match) => match[1]!));
  return {
    name: entry.operationId,
    summary: entry.summary,
    description: entry.description,
    method,
    path,
    path_parameters: [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!),
    query_parameters: parameters
      .filter((parameter) => parameter.in === "query")
      .map(({ name, schema }) => ({ name, schema })),
    body: content ? { schema: resolve(raw, content.schema), example: content.example } : null,
    is_upload: entry.requestBody?.content["multipart/form-data"] !== undefined,
    answer: answer ? strict(raw, answer.schema) : null,
    error_codes: new Set(ERROR_CODES.filter((code) => known.has(code))),
  };
}

/** Replaces references with what they refer to. */
function resolve(raw: Schema, schema: unknown): Schema {
  if (Array.isArray(schema)) return schema.map((item) => resolve(raw, item));
  if (schema === null || typeof schema !== "object") return schema as unknown as Schema;
  const { $ref, ...rest } = schema as Schema;
  if (typeof $ref === "string") {
    const target = $ref
      .split("/")
      .slice(1)
      .reduce((at, name) => at[name], raw);
    return resolve(raw, target);
  }
  // Several types in one are expanded, so that code that visits schemas can ignore the short form.
  if (Array.isArray(rest.type)) {
    const { type: types, description, ...form } = rest;
    return { anyOf: types.map((type: string) => (type === "null" ? { type } : { type, ...form })) };
  }
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, resolve(raw, value)]));
}

function strict(raw: Schema, schema: Schema): Schema {
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close);
    if (value === null || typeof value !== "object") return value;
    const entries = Object.entries(value).map(([key, item]) => [key, close(item)]);
    const is_object = typeof (value as Schema).properties === "object";
    const closed = is_object ? { additionalProperties: false } : {};
    return { ...closed, ...Object.fromEntries(entries) };
  };
  return close(resolve(raw, schema)) as Schema;
}
