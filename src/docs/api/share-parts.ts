import { ERROR_CODES, ERRORS, type ErrorCode } from "../../platform/errors.ts";
import type { Json } from "./build-example.ts";
import { describeEnum, type EnumName, findEnum } from "./meanings.ts";
import { RECORDS } from "./sample-values.ts";

/** `errorMessage` is for our own validator; JSON Schema does not know it. */
export function withoutErrorMessages(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutErrorMessages);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries<Json>(value).filter(
    ([key, inner]) => key !== "errorMessage" || typeof inner === "object",
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutErrorMessages(inner)]));
}

/** `anyOf` of a plain type and null is longer than `type` with both, and means the same. */
export function shortenNullables(value: Json): Json {
  if (Array.isArray(value)) return value.map(shortenNullables);
  if (value === null || typeof value !== "object") return value;
  const { anyOf, ...rest } = value;
  if (Array.isArray(anyOf) && anyOf.length === 2 && anyOf[1].type === "null" && isPlain(anyOf[0])) {
    return { ...anyOf[0], type: [anyOf[0].type, "null"], ...rest };
  }
  const entries = Object.entries<Json>(value).map(([key, inner]) => [key, shortenNullables(inner)]);
  return Object.fromEntries(entries);
}

function isPlain(schema: Json): boolean {
  return Object.keys(schema).every((key) => key === "type" || key === "format");
}

/** Every enum becomes a component that explains its values; its uses refer to it. */
export function shareEnums(document: Json): Json {
  const shared: Record<string, Json> = {};
  const replaceEnums = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(replaceEnums);
    if (value === null || typeof value !== "object") return value;
    const name = Array.isArray(value.enum) ? findEnum(value.enum) : undefined;
    if (name !== undefined) {
      shared[name] ??= enumSchema(name, value.enum);
      const { description, default: value_default } = value;
      return {
        $ref: `#/components/schemas/${name}`,
        ...(description === undefined ? {} : { description }),
        ...(value_default === undefined ? {} : { default: value_default }),
      };
    }
    return Object.fromEntries(
      Object.entries<Json>(value).map(([key, inner]) => [key, replaceEnums(inner)]),
    );
  };
  const replaced = replaceEnums(document);
  const { schemas } = replaced.components;
  return {
    ...replaced,
    components: { ...replaced.components, schemas: { ...schemas, ...shared } },
  };
}

function enumSchema(name: EnumName, values: readonly string[]): Json {
  return { type: "string", enum: values, description: describeEnum(name) };
}

/** Parameters that several operations share become components: ids, pages, idempotency key. */
export function shareParameters(document: Json): Json {
  const forms = new Map<string, string[]>();
  eachOperation(document, (operation) => {
    for (const parameter of operation.parameters ?? []) {
      const known = forms.get(parameter.name) ?? [];
      forms.set(parameter.name, [...known, JSON.stringify(parameter)]);
    }
  });
  const isShared = ({ name }: Json) => {
    const [first, ...others] = forms.get(name)!;
    return others.length > 0 && others.every((form) => form === first);
  };
  const parameters: Record<string, Json> = {};
  const shared = mapOperations(document, (operation) => {
    if (!operation.parameters) return operation;
    const listed = operation.parameters.map((parameter: Json) => {
      if (!isShared(parameter)) return described(parameter);
      const name = pascalCase(parameter.name);
      parameters[name] = described(parameter);
      return { $ref: `#/components/parameters/${name}` };
    });
    return { ...operation, parameters: listed };
  });
  return { ...shared, components: { ...shared.components, parameters } };
}

function described(parameter: Json): Json {
  if (parameter.description || parameter.in !== "path") return parameter;
  const record = parameter.name.replace(/_id$/, "").replaceAll("_", " ");
  return { ...parameter, description: `Id of the ${record}.` };
}

const RESPONSE_NAMES: Readonly<Record<string, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  413: "TooLarge",
  415: "UnsupportedMediaType",
  422: "Refused",
  429: "TooManyRequests",
  500: "InternalError",
  503: "Unavailable",
};

/**
 * One component per status, with all codes of that status. An operation that returns only some of
 * them lists those next to the reference.
 */
export function shareErrors(document: Json): Json {
  const responses: Record<string, Json> = {};
  const shared = mapOperations(document, (operation) => {
    const { "x-error-codes": codes = [], ...rest } = operation;
    const entries = Object.entries<Json>(operation.responses).map(([status, response]) => {
      const name = RESPONSE_NAMES[status];
      if (name === undefined) return [status, response];
      responses[name] ??= errorResponse(Number(status));
      const all = codesOf(Number(status));
      const listed = all.filter((code) => codes.includes(code));
      const description = listed.map((code) => `\`${code}\``).join(", ");
      const is_partial = listed.length < all.length;
      return [
        status,
        { $ref: `#/components/responses/${name}`, ...(is_partial ? { description } : {}) },
      ];
    });
    return { ...rest, responses: Object.fromEntries(entries) };
  });
  return { ...shared, components: { ...shared.components, responses } };
}

/** `route_not_found` is only returned where there is no operation. */
function codesOf(status: number): ErrorCode[] {
  return ERROR_CODES.filter((code) => ERRORS[code][0] === status && code !== "route_not_found");
}

function errorResponse(status: number): Json {
  const codes = codesOf(status);
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code][1]}`).join("\n\n"),
    headers: HEADERS_OF_STATUS[status] ?? {},
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        example: errorExample(codes[0]!, status),
      },
    },
  };
}

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" }, example: 1 },
};
const HEADERS_OF_STATUS: Readonly<Record<number, Json>> = { 429: RETRY_AFTER, 503: RETRY_AFTER };

function errorExample(first_code: ErrorCode, status: number): Json {
  const code = status === 422 ? "below_currency_limit" : first_code;
  const shown = RECORDS.Error!;
  const field = FIELDS_OF_STATUS[status];
  const doc_url = String(shown.doc_url).replace(/#.*/, `#${code}`);
  return {
    error_code: code,
    message: ERRORS[code][1],
    status,
    request_id: shown.request_id,
    doc_url,
    ...(field ? { errors: [{ field, code, message: ERRORS[code][1] }] } : {}),
  };
}

const FIELDS_OF_STATUS: Readonly<Record<number, string>> = {
  404: "user_id",
  422: "offramps[0].destination_amount",
};

function eachOperation(document: Json, visit: (operation: Json) => void): void {
  for (const methods of Object.values<Json>(document.paths)) {
    for (const operation of Object.values<Json>(methods)) visit(operation);
  }
}

export function mapOperations(document: Json, map: (operation: Json) => Json): Json {
  const paths = Object.entries<Json>(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries<Json>(methods).map(([method, operation]) => [method, map(operation)]),
    ),
  ]);
  return { ...document, paths: Object.fromEntries(paths) };
}

function pascalCase(name: string): string {
  return name
    .split(/[_-]/)
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join("");
}
