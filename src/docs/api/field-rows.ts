import type { Json } from "./build-example.ts";

const DEPTH_MAX = 4;

/** A row for every field of a schema, nested ones by their path. Enums are spelled out. */
export function fieldRows(
  document: Json,
  schema: Json,
  owners: ReadonlyMap<string, string>,
  prefix = "",
  depth = 0,
): string[] {
  const required: string[] = schema.required ?? [];
  return Object.entries<Json>(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const type = schemaName(document, field, owners);
    const mark = required.includes(name) ? " *required*" : "";
    const row = `| \`${path}\`${mark} | ${type} | ${meaning(document, field)} |`;
    const inner = innerObject(document, field, owners);
    if (!inner || depth === DEPTH_MAX) return [row];
    const step = isList(field) ? `${path}[].` : `${path}.`;
    return [row, ...fieldRows(document, inner, owners, step, depth + 1)];
  });
}

/** The description, with the meanings of an enum's values. */
function meaning(document: Json, field: Json): string {
  const target = componentOf(document, plainOf(field).items ?? plainOf(field));
  const values = target?.enum ? (target.description ?? "").replace(/^- /gm, "") : "";
  const text = [field.description ?? plainOf(field).description, values].filter(Boolean).join(" ");
  return cell(text);
}

/** A text as one line of a table. */
export function cell(text: string): string {
  const lines = text.replaceAll("|", "\\|").split("\n");
  return lines.map((line) => line.trim()).join(" ");
}

/** The type as text, with a link where an object has a section of its own. */
export function schemaName(
  document: Json,
  schema: Json,
  owners: ReadonlyMap<string, string>,
): string {
  if (schema.$ref) {
    const name: string = schema.$ref.split("/").at(-1);
    const url = owners.get(name);
    if (url) return `[${name}](${url}#${name.toLowerCase()}-object)`;
    return componentOf(document, schema)?.enum ? "string" : "object";
  }
  const choices: Json[] | undefined = schema.anyOf ?? schema.oneOf;
  if (choices) {
    const names = choices.map((choice) => schemaName(document, choice, owners));
    return [...new Set(names)].join(" or ");
  }
  if (schema.type === "array") return `list of ${schemaName(document, schema.items, owners)}`;
  const types: string[] = [schema.type ?? "any"].flat();
  return types.map((type) => (schema.format ? formatted(type, schema.format) : type)).join(" or ");
}

function formatted(type: string, format: string): string {
  return type === "string" ? format : type;
}

function componentOf(document: Json, schema: Json): Json | undefined {
  return schema?.$ref ? document.components.schemas[schema.$ref.split("/").at(-1)] : undefined;
}

/** Without the "or null". */
function plainOf(schema: Json): Json {
  const choices: Json[] | undefined = schema.anyOf;
  return choices?.find(({ type }) => type !== "null") ?? schema;
}

function isList(field: Json): boolean {
  return plainOf(field).type === "array";
}

/** An object that is described inline, not in a section of its own. */
function innerObject(
  document: Json,
  field: Json,
  owners: ReadonlyMap<string, string>,
): Json | undefined {
  const plain = plainOf(field);
  const inner = plain.type === "array" ? plainOf(plain.items) : plain;
  if (inner.$ref && owners.has(inner.$ref.split("/").at(-1))) return undefined;
  const target = componentOf(document, inner) ?? inner;
  return target.properties ? target : undefined;
}
