import type { FastifyInstance, FastifySchema } from "fastify";
import Type, { type TObject, type TSchema } from "typebox";
import { ERRORS, type ErrorCode } from "../errors.ts";
import { titledObject } from "../schema-parts.ts";
import type { RouteSpec } from "./route-spec.ts";

const FILE = { type: "string", format: "binary" };

/** Codes that any API route may answer. */
const EVERYWHERE: readonly ErrorCode[] = [
  "version_unknown",
  "unknown_format",
  // Too many headers, on a GET as well.
  "bad_request",
  "unauthorized",
  "insufficient_scope",
  "parameter_unknown",
  "record_invalid",
  "too_many_requests",
  "internal_error",
  "unavailable",
];
/** Also on routes without a body: a caller that sends one anyway gets its errors reported. */
const ON_WRITES: readonly ErrorCode[] = [
  "parameter_missing",
  "body_too_large",
  "unsupported_media_type",
  "idempotency_key_reused",
  "outcome_unknown",
];

const ErrorBody = titledObject("Error", {
  error_code: Type.Enum(Object.keys(ERRORS)),
  message: Type.String({ description: "What to do next." }),
  status: Type.Integer(),
  request_id: Type.String(),
  doc_url: Type.String(),
  errors: Type.Optional(
    Type.Array(
      Type.Object({
        field: Type.String({ description: "Path such as `offramps[1].destination_amount`." }),
        code: Type.Enum(Object.keys(ERRORS)),
        message: Type.String(),
      }),
      { maxItems: 100 },
    ),
  ),
  errors_omitted: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: "How many problems there are beyond the 100 listed.",
    }),
  ),
});

/** The OpenAPI description of a route, from the same schemas that validate it. */
export function describeRoute(
  app: FastifyInstance,
  spec: RouteSpec<string, TObject, TObject>,
): FastifySchema {
  const names = [...spec.path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
  const id = Type.String(spec.id_form ? {} : { format: "uuid" });
  const params = Type.Object(Object.fromEntries(names.map((name) => [name, id])));
  const response: Record<string, unknown> = {
    200: spec.file_types
      ? { description: "The file", content: describeFile(spec.file_types) }
      : { description: "Success", ...reference(app, spec.answer) },
  };
  const error_codes = errorsOf(spec, names.length > 0);
  for (const [status, codes] of groupByStatus(error_codes)) {
    const list = codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join("\n\n");
    response[status] = { description: list, ...reference(app, ErrorBody) };
  }
  const body = spec.body && { ...spec.body, examples: spec.body_example && [spec.body_example] };
  return {
    operationId: spec.operation,
    summary: spec.summary,
    description: spec.description,
    tags: [spec.tag],
    "x-error-codes": error_codes,
    security: [{ api_key: [] }, ...(spec.scope ? [{ oauth: [spec.scope] }] : [])],
    ...(names.length > 0 ? { params } : {}),
    ...(spec.query ? { querystring: spec.query } : {}),
    ...(spec.method === "GET" ? {} : { headers: IDEMPOTENCY_HEADERS }),
    ...(body ? { body } : {}),
    response,
  } as FastifySchema;
}

function describeFile(types: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(types.map((type) => [type, { schema: FILE }]));
}

const IDEMPOTENCY_HEADERS = Type.Object({
  "Idempotency-Key": Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: "A request that repeats the key gets the first answer again.",
    }),
  ),
});

function errorsOf(spec: RouteSpec<string, TObject, TObject>, has_params: boolean): ErrorCode[] {
  const codes = new Set<ErrorCode>([...EVERYWHERE, ...spec.errors]);
  if (spec.method !== "GET") for (const code of ON_WRITES) codes.add(code);
  if (has_params) codes.add("record_not_found");
  return (Object.keys(ERRORS) as ErrorCode[]).filter((code) => codes.has(code));
}

function groupByStatus(codes: ErrorCode[]): [number, ErrorCode[]][] {
  const groups = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = ERRORS[code][0];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups.entries()].sort(([a], [b]) => a - b);
}

/** Schemas with a title become named components of the document, the others stay inline. */
function reference(app: FastifyInstance, schema: TSchema): Record<string, unknown> {
  const { title, ...rest } = schema as TSchema & { title?: string };
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [key, referenceInside(app, value)]),
  );
  if (!title) return inner;
  if (!app.getSchema(title)) app.addSchema({ $id: title, ...inner });
  return { $ref: `${title}#` };
}

function referenceInside(app: FastifyInstance, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => referenceInside(app, item));
  if (value === null || typeof value !== "object") return value;
  return reference(app, value as TSchema);
}
