import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Static, TObject } from "typebox";
import { type ErrorCode, listedOf, PROBLEMS_LISTED_MAX, type Problem, Refusal } from "../errors.ts";
import { BODY, quoted } from "../problems.ts";
import { nearest } from "./nearest.ts";
import { escaped, partsOf, removeAt, type Sound } from "./sound.ts";

// `verbose` adds the schema and the data that an error is about.
const options = { allErrors: true, verbose: true, strict: false, validateFormats: false };
const ajv = new Ajv(options);

/** A form of the dashboard is a body whose blank texts its route judges, in words for people. */
type Source = "body" | "form" | "query";
/** By the schema's JSON. */
const COMPILED: Record<Source, Map<string, ValidateFunction>> = {
  body: new Map(),
  form: new Map(),
  query: new Map(),
};
type Check<Value> = (value: unknown) => { sound: Sound<Value>; problems: Problem[] };
type Fault = { code: ErrorCode; error: ErrorObject };

/**
 * Compiles a schema into a check that reports all problems at once, each naming its field, and
 * removes the invalid parts from the value. More problems than an answer lists are refused at once:
 * formatting them all would take far longer than finding them.
 */
export function compileCheck<Schema extends TObject>(
  schema: Schema,
  source: Source,
): Check<Static<Schema>> {
  type Checked = Sound<Static<Schema>>;
  const validate = compiled(schema, source);
  return (value) => {
    if (source === "query") readTexts(schema, value);
    if (validate(value)) return { sound: value as Checked, problems: [] };
    const faults = findFaults(validate.errors ?? [], source);
    const problems = listedOf(faults).map(toProblem);
    if (faults.length > PROBLEMS_LISTED_MAX) {
      throw Refusal.of(problems, faults.length - problems.length);
    }
    const places = faults.map(({ error }) => placeOf(error));
    return { sound: removeAt(value, places) as Checked, problems };
  };
}

const READ_TEXT: Readonly<Record<string, (text: string) => unknown>> = {
  // Not Number(text) alone: it also takes "0x5", "1e1" and " 5".
  integer: (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text),
  boolean: (text) => (text === "true" || text === "false" ? text === "true" : text),
};

/** A query has texts only. What is not a text of its schema's type stays one, and is refused. */
function readTexts(schema: TObject, value: unknown): void {
  const query = value as Record<string, unknown>;
  for (const [name, { type = "" }] of Object.entries(
    schema.properties as Record<string, { type?: string }>,
  )) {
    const given = query[name];
    const read = READ_TEXT[type];
    if (read && typeof given === "string") query[name] = read(given);
  }
}

/**
 * Many routes have the same schema (most accept no query), and a process may open several servers.
 * Each schema is compiled once: that is most of the time that adding a route takes.
 */
function compiled(schema: TObject, source: Source): ValidateFunction {
  const text = JSON.stringify(schema);
  const known = COMPILED[source].get(text);
  if (known) return known;
  const validate = ajv.compile(boundedSchema(PREPARE[source](schema)) as object);
  COMPILED[source].set(text, validate);
  return validate;
}

const PREPARE: Record<Source, (schema: unknown) => unknown> = {
  body: notBlank,
  form: (schema) => schema,
  query: withoutNul,
};

/** PostgreSQL takes no text with NUL. In a body, whoever scans its bytes finds it. */
function withoutNul(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutNul);
  if (schema === null || typeof schema !== "object") return schema;
  const inner: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withoutNul(value)]),
  );
  const is_free = inner.type === "string" && !("pattern" in inner) && !("enum" in inner);
  return is_free ? { ...inner, pattern: "^[^\\0]*$", errorMessage: NO_NUL } : inner;
}

const NO_NUL = "Remove NUL characters.";

/** A required text that is blank is missing, as if it were not there. */
function notBlank(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(notBlank);
  if (schema === null || typeof schema !== "object") return schema;
  const inner: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, notBlank(value)]),
  );
  const { properties, required } = inner as { properties?: object; required?: readonly string[] };
  if (!properties || !required) return inner;
  const marked = Object.entries(properties).map(([name, property]) => [
    name,
    required.includes(name) ? requiredText(property) : property,
  ]);
  return { ...inner, properties: Object.fromEntries(marked) };
}

type TextSchema = { type?: unknown; pattern?: string; anyOf?: readonly TextSchema[] };

function requiredText(schema: TextSchema): TextSchema & { is_required?: true } {
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map(requiredText) };
  return schema.type === "string" ? { pattern: "\\S", ...schema, is_required: true } : schema;
}

/** The same schema, but an array above its limit is refused without checking its items. */
function boundedSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(boundedSchema);
  if (schema === null || typeof schema !== "object") return schema;
  const inner: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, boundedSchema(value)]),
  );
  const { items, maxItems, ...rest } = inner;
  if (items === undefined || maxItems === undefined) return inner;
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema calls it so.
  return { ...rest, maxItems, if: { maxItems }, then: { items } };
}

function findFaults(errors: readonly ErrorObject[], source: Source): Fault[] {
  const by_pointer = new Map<string, Fault>();
  const only_counted: Fault[] = [];
  for (const error of errors) {
    // Invalid items have errors of their own.
    if (error.keyword === "if") continue;
    const code = codeOf(error, source);
    // A name is missing or unknown once: when the list is full, comparing them would only cost.
    if (by_pointer.size > PROBLEMS_LISTED_MAX && nameIn(error) !== undefined) {
      only_counted.push({ code, error });
      continue;
    }
    const pointer = pointerOf(error);
    const known = by_pointer.get(pointer);
    // One field may fail several keywords (a blank string is also not an allowed value): report one
    // problem, and prefer "missing" as the clearest.
    if (!known || (code === "parameter_missing" && known.code !== code)) {
      by_pointer.set(pointer, { code, error });
    }
  }
  const found = [...by_pointer.values(), ...only_counted];
  if (found.every(({ code }) => code !== "record_invalid")) return found;
  // In a choice of forms each refusal is listed; a problem inside says more than the choice itself.
  const around = new Set([...by_pointer.keys()].flatMap(pointersAround));
  return found.filter(
    ({ code, error }) => code !== "record_invalid" || !around.has(pointerOf(error)),
  );
}

/** Where the error is: a JSON pointer, so that a caller's name like `a/b` has one of its own. */
function pointerOf(error: ErrorObject): string {
  const name = nameIn(error);
  return name === undefined ? error.instancePath : `${error.instancePath}/${escaped(name)}`;
}

function nameIn({ keyword, params }: ErrorObject): string | undefined {
  if (keyword === "required") return params.missingProperty;
  return keyword === "additionalProperties" ? params.additionalProperty : undefined;
}

/** `/offramps/1/rails` → `/offramps`, `/offramps/1`. Schemas nest less than bodies may. */
function pointersAround(pointer: string): string[] {
  const around: string[] = [];
  for (let at = pointer.indexOf("/", 1); at > 0; at = pointer.indexOf("/", at + 1)) {
    around.push(pointer.slice(0, at));
  }
  return around;
}

/** The names that lead to the value that an error is about; a caller's own name as it was sent. */
function placeOf(error: ErrorObject): string[] {
  const name = nameIn(error);
  const parts = partsOf(error.instancePath);
  return name === undefined ? parts : [...parts, name];
}

function codeOf({ keyword, data, parentSchema }: ErrorObject, source: Source): ErrorCode {
  // A blank filter in the URL is a mistake: treated as absent, it would list everything.
  const is_absent = data === null || (source !== "query" && isBlankText(data));
  switch (keyword) {
    case "required":
    case "minItems":
      return "parameter_missing";
    case "additionalProperties":
      return "parameter_unknown";
    case "maxLength":
      return "value_too_long";
    case "pattern":
      return is_absent && parentSchema?.is_required ? "parameter_missing" : "record_invalid";
    case "type":
      return is_absent || data === undefined ? "parameter_missing" : "record_invalid";
    case "enum":
    case "anyOf":
      return is_absent ? "parameter_missing" : "record_invalid";
    default:
      return "record_invalid";
  }
}

function toProblem({ code, error }: Fault): Problem {
  const parent = fieldPath(error.instancePath);
  const name = nameIn(error);
  if (code === "parameter_unknown") return unknown(parent, name!, error);
  if (code === "parameter_missing")
    return missing(name === undefined ? parent : join(parent, name));
  return { field: parent, code, message: messageOf(error) };
}

function messageOf({ keyword, params, parentSchema }: ErrorObject): string {
  switch (keyword) {
    case "type":
      return `Send ${wordsFor(params.type)}.`;
    case "pattern":
      return parentSchema?.errorMessage ?? "The value has the wrong format.";
    case "maxLength":
      return `Send at most ${params.limit} characters.`;
    case "enum":
      return `Send one of ${params.allowedValues.join(", ")}.`;
    case "minimum":
      return `Send a number of at least ${params.limit}.`;
    case "maximum":
      return `Send a number of at most ${params.limit}.`;
    case "maxItems":
      return `Send at most ${params.limit} items.`;
    case "anyOf":
      return parentSchema?.errorMessage ?? "The value has the wrong type.";
    default:
      return "The value is invalid.";
  }
}

function missing(field: string): Problem {
  const message = field === BODY ? "Send a JSON object." : `Send ${field}.`;
  return { field, code: "parameter_missing", message };
}

function unknown(parent: string, name: string, error: ErrorObject): Problem {
  const field = quoted(join(parent, quoted(name)));
  const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {});
  const guess = nearest(name, known);
  const advice = guess ? `Did you mean ${guess}?` : `Known fields: ${known.join(", ") || "none"}.`;
  return { field, code: "parameter_unknown", message: `This field is unknown. ${advice}` };
}

function isBlankText(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

/** `/offramps/1/rails` → `offramps[1].rails`; the whole body is "body". */
function fieldPath(pointer: string): string {
  if (pointer === "") return BODY;
  return partsOf(pointer).reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)),
    "",
  );
}

function join(parent: string, name: string): string {
  return parent && parent !== BODY ? `${parent}.${name}` : name;
}

function wordsFor(type: string | string[]): string {
  const words: Record<string, string> = {
    string: "a string",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    object: "a JSON object",
    array: "a JSON array",
    null: "null",
  };
  return [type]
    .flat()
    .map((name) => words[name] ?? name)
    .join(" or ");
}
