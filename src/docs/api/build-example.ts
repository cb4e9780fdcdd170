import { BY_NAME, IDS } from "./sample-fields.ts";
import { BY_OPERATION } from "./sample-states.ts";
import { RECORDS } from "./sample-values.ts";

// biome-ignore lint/suspicious/noExplicitAny: a JSON schema has as many shapes as the standard.
export type Json = any;

/** Used where no sample is known; a test expects none. */
export const MISSING = "string";

type Place = { components: Record<string, Json>; operation: string; record: string; name: string };

/**
 * An example that fits the schema. It takes, in this order: the operation's value for this record,
 * the record's value, the schema's own `examples`, the sample for the field's name, and last what
 * the type allows.
 */
export function buildExample(components: Record<string, Json>, schema: Json, operation = ""): Json {
  return exampleOf({ components, operation, record: "", name: "" }, schema);
}

function exampleOf(place: Place, schema: Json): Json {
  const shown = shownValue(place);
  if (shown !== undefined) return shown;
  if (schema.$ref) return exampleOfComponent(place, schema);
  if (schema.examples) return schema.examples[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return exampleOfChoice(place, choices);
  if (schema.properties) return exampleOfObject(place, schema);
  const value = BY_NAME[place.name];
  if (value !== undefined && (value === null) === (schema.type === "null")) return value;
  if (schema.enum) return schema.enum[0];
  return exampleOfType(place, schema);
}

function shownValue(place: Pick<Place, "operation" | "record" | "name">): unknown {
  const { operation, record, name } = place;
  if (name === "") return undefined;
  // `null` is a value too, and `??` would skip it.
  for (const fields of [BY_OPERATION[operation]?.[record], RECORDS[record]]) {
    if (fields && Object.hasOwn(fields, name)) return fields[name];
  }
  return undefined;
}

function exampleOfComponent(place: Place, schema: Json): Json {
  const name = schema.$ref.split("/").at(-1);
  const component = place.components[name];
  // A named enum or string still uses the sample of its field.
  if (!component.properties) return exampleOf(place, component);
  return exampleOfObject({ ...place, record: baseRecord(name), name: "" }, component);
}

/** `OnrampDetails` shows what `Onramp` shows, and more. */
function baseRecord(component: string): string {
  return component.replace(/Details$|Answer$/, "");
}

function exampleOfChoice(place: Place, choices: Json[]): Json {
  const may_be_null = choices.some((choice) => choice.type === "null");
  if (may_be_null && BY_NAME[place.name] === null) return null;
  const others = choices.filter((choice) => choice.type !== "null");
  const is_known = Object.hasOwn(BY_NAME, place.name) || Object.hasOwn(IDS, place.name);
  // A nullable string without a sample is null.
  if (may_be_null && !is_known && others.every(({ type }) => type !== "object")) return null;
  return exampleOf(place, others[0]);
}

function exampleOfObject(place: Place, schema: Json): Json {
  const required: string[] = schema.required ?? [];
  const entries = Object.entries<Json>(schema.properties)
    .filter(([name]) => required.includes(name) || isShown(place, name))
    .map(([name, inner]) => [name, exampleOf({ ...place, name }, inner)]);
  return Object.fromEntries(entries);
}

/** Optional fields appear in the example only where a sample has them. */
function isShown({ operation, record }: Place, name: string): boolean {
  if (/secret/.test(name)) return /create|rotate/i.test(operation);
  return shownValue({ operation, record, name }) !== undefined;
}

function exampleOfType(place: Place, schema: Json): Json {
  const { name } = place;
  if (schema.format === "uuid") return IDS[name] ?? IDS[ownId(place)] ?? IDS.record_id;
  if (schema.format === "date-time") return BY_NAME.created_at;
  switch (schema.type) {
    case "array":
      return [exampleOf({ ...place, name: singular(name) }, schema.items)];
    case "object":
      return {};
    case "boolean":
      return false;
    case "integer":
      return schema.minimum ?? 1;
    case "number":
      return 1;
    case "null":
      return null;
    default:
      return MISSING;
  }
}

function ownId({ record, operation }: Place): string {
  if (record === "") return operation === "replayApp" ? "replay_id" : "user_id";
  return `${record.replace(/\B[A-Z]/g, "_$&").toLowerCase()}_id`;
}

function singular(name: string): string {
  return name.replace(/s$/, "");
}
