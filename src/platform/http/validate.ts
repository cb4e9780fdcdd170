import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Static, TObject } from "typebox";
import type { Problem } from "../errors.ts";
import { BODY, parentsOf, quoted } from "../problems.ts";
import { nearest } from "./nearest.ts";
import { partsOf, removeAt, type Sound } from "./sound.ts";

/** Suggestions cost time, and more than the listed number of problems would not help. */
const GUESSES_MAX = 100;
// `verbose` adds the schema and the data that an error is about.
const options = { allErrors: true, verbose: true, strict: false, validateFormats: false };
const body_ajv = new Ajv({ ...options, coerceTypes: false });
const query_ajv = new Ajv({ ...options, coerceTypes: true });

type Source = "body" | "query";
type Check<Value> = (value: unknown) => { sound: Sound<Value>; problems: Problem[] };
type Fault = { problem: Problem; place: string[] };

/**
 * Compiles a schema into a check that reports all problems at once, each naming its field, and
 * removes the invalid parts from the value.
 */
export function compileCheck<Schema extends TObject>(
  schema: Schema,
  source: Source,
): Check<Static<Schema>> {
  type Checked = Sound<Static<Schema>>;
  const bounded = boundedSchema(schema) as object;
  const validate = (source === "body" ? body_ajv : query_ajv).compile(bounded);
  return (value) => {
    if (validate(value)) return { sound: value as Checked, problems: [] };
    const faults = findFaults(validate, source);
    const places = faults.map(({ place }) => place);
    const sound = removeAt(value, places) as Checked;
    return { sound, problems: faults.map(({ problem }) => problem) };
  };
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

function findFaults(validate: ValidateFunction, source: Source): Fault[] {
  const by_field = new Map<string, Fault>();
  for (const error of validate.errors ?? []) {
    const problem = toProblem(error, source, by_field.size < GUESSES_MAX);
    const known = problem && by_field.get(problem.field)?.problem;
    // One field may fail several keywords (a blank string is also not an allowed value): report one
    // problem, and prefer "missing" as the clearest.
    if (
      problem &&
      (!known || (problem.code === "parameter_missing" && known.code !== problem.code))
    ) {
      by_field.set(problem.field, { problem, place: placeOf(error) });
    }
  }
  const found = [...by_field.values()];
  if (found.every(({ problem }) => problem.code !== "record_invalid")) return found;
  // In a choice of forms each refusal is listed; a problem inside says more than the choice itself.
  const around = new Set(found.flatMap(({ problem }) => parentsOf(problem.field)));
  return found.filter(
    ({ problem }) => problem.code !== "record_invalid" || !around.has(problem.field),
  );
}

/** The names that lead to the value that an error is about; a caller's own name as it was sent. */
function placeOf({ keyword, instancePath, params }: ErrorObject): string[] {
  const name = {
    required: params.missingProperty,
    additionalProperties: params.additionalProperty,
  }[keyword];
  return name === undefined ? partsOf(instancePath) : [...partsOf(instancePath), name];
}

function toProblem(error: ErrorObject, source: Source, may_guess: boolean): Problem | undefined {
  const field = fieldPath(error.instancePath);
  // A blank filter in the URL is a mistake: treated as absent, it would list everything.
  const is_absent = error.data === null || (source === "body" && isBlankText(error.data));
  switch (error.keyword) {
    case "required":
      return missing(join(field, error.params.missingProperty));
    case "additionalProperties":
      return unknown(field, error.params.additionalProperty, error, may_guess);
    case "if":
      // Invalid items have errors of their own.
      return undefined;
    case "type":
      return is_absent || error.data === undefined
        ? missing(field)
        : invalid(field, `Send ${wordsFor(error.params.type)}.`);
    case "pattern":
      return invalid(field, error.parentSchema?.errorMessage ?? "The value has the wrong format.");
    case "maxLength":
      return {
        field,
        code: "value_too_long",
        message: `Send at most ${error.params.limit} characters.`,
      };
    case "enum":
      if (is_absent) return missing(field);
      return invalid(field, `Send one of ${error.params.allowedValues.join(", ")}.`);
    case "minimum":
    case "maximum":
      return invalid(
        field,
        `Send a number that is ${error.params.comparison} ${error.params.limit}.`,
      );
    case "minItems":
      return missing(field);
    case "maxItems":
      return invalid(field, `Send at most ${error.params.limit} items.`);
    case "anyOf":
      return is_absent
        ? missing(field)
        : invalid(field, error.parentSchema?.errorMessage ?? "The value has the wrong type.");
    default:
      return invalid(field, "The value is invalid.");
  }
}

function missing(field: string): Problem {
  const message = field === BODY ? "Send a JSON object." : `Send ${field}.`;
  return { field, code: "parameter_missing", message };
}

function invalid(field: string, message: string): Problem {
  return { field, code: "record_invalid", message };
}

function unknown(parent: string, name: string, error: ErrorObject, may_guess: boolean): Problem {
  const field = quoted(join(parent, quoted(name)));
  const message = "This field is unknown.";
  if (!may_guess) return { field, code: "parameter_unknown", message };
  const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {});
  const guess = nearest(name, known);
  const advice = guess ? `Did you mean ${guess}?` : `Known fields: ${known.join(", ") || "none"}.`;
  return { field, code: "parameter_unknown", message: `${message} ${advice}` };
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
