import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";
import type { Problem } from "../errors.ts";
import { nearest } from "./nearest.ts";

const PROBLEMS_MAX = 100;
/** Stands for the path where a problem concerns no field but the body as a whole. */
export const BODY = "body";

// `verbose` gives the mapping below the schema and the data that an error is about.
const options = { allErrors: true, verbose: true, strict: false, validateFormats: false };
const body_ajv = new Ajv({ ...options, coerceTypes: false });
const query_ajv = new Ajv({ ...options, coerceTypes: true });

export type Check = (value: unknown) => Problem[];

/** Compiles a schema into a check that reports all problems at once, each naming its field. */
export function compileCheck(schema: TSchema, source: "body" | "query"): Check {
  const validate = (source === "body" ? body_ajv : query_ajv).compile(schema);
  return (value) => (validate(value) ? [] : describe(validate, source));
}

function describe(validate: ValidateFunction, source: "body" | "query"): Problem[] {
  const by_field = new Map<string, Problem>();
  for (const error of validate.errors ?? []) {
    const problem = toProblem(error, source);
    const known = problem && by_field.get(problem.field);
    // One field may fail several keywords (a blank string that is also no known value): the
    // reader needs one sentence, and "missing" is the clearest.
    if (
      problem &&
      (!known || (problem.code === "parameter_missing" && known.code !== problem.code))
    ) {
      by_field.set(problem.field, problem);
    }
    if (by_field.size >= PROBLEMS_MAX) break;
  }
  const found = [...by_field.values()];
  // Of a choice of forms each refusal is listed; what is wrong inside says more than the choice.
  const isWithin = (field: string) =>
    found.some((other) => [".", "["].some((sign) => other.field.startsWith(`${field}${sign}`)));
  return found.filter(({ field, code }) => code !== "record_invalid" || !isWithin(field));
}

function toProblem(error: ErrorObject, source: "body" | "query"): Problem | undefined {
  const field = fieldPath(error.instancePath);
  // A blank filter in the address is a mistake: read as absent, it would list everything.
  const is_absent = error.data === null || (source === "body" && isBlankText(error.data));
  switch (error.keyword) {
    case "required":
      return missing(join(field, error.params.missingProperty));
    case "additionalProperties":
      return unknown(field, error.params.additionalProperty, error);
    case "type":
      return error.data === null || error.data === undefined
        ? missing(field)
        : invalid(field, `Send ${wordsFor(error.params.type)}.`);
    case "pattern":
      return invalid(field, error.parentSchema?.errorMessage ?? "The value has the wrong form.");
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
      return invalid(field, "The value cannot be accepted.");
  }
}

function missing(field: string): Problem {
  const message = field === BODY ? "Send a JSON object." : `Send ${field}.`;
  return { field, code: "parameter_missing", message };
}

function invalid(field: string, message: string): Problem {
  return { field, code: "record_invalid", message };
}

function unknown(parent: string, name: string, error: ErrorObject): Problem {
  const known = Object.keys((error.parentSchema?.properties as object | undefined) ?? {});
  const guess = nearest(name, known);
  const advice = guess ? `Did you mean ${guess}?` : `Known here: ${known.join(", ") || "none"}.`;
  // A name is the caller's own text: cut, so that the answer stays small.
  const field = join(parent, name.slice(0, 100));
  return { field, code: "parameter_unknown", message: `This field is not known. ${advice}` };
}

function isBlankText(value: unknown): boolean {
  return typeof value === "string" && value.trim() === "";
}

/** `/offramps/1/rails` → `offramps[1].rails`; the whole of a body is called so. */
function fieldPath(pointer: string): string {
  if (pointer === "") return BODY;
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), "");
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
