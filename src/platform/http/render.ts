import fastJsonStringify from "fast-json-stringify";
import type { Static, TSchema } from "typebox";

/** Compiles an answer's schema into the function that writes it as JSON. */
export function compileRender<Schema extends TSchema>(
  schema: Schema,
): (value: Static<Schema>) => string {
  // A copy without TypeBox's non-enumerable marks.
  return fastJsonStringify(JSON.parse(JSON.stringify(schema))) as (value: Static<Schema>) => string;
}
