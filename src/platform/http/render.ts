import fastJsonStringify from "fast-json-stringify";
import type { Static, TSchema } from "typebox";

/** Compiles an answer's schema into a function that serializes it as JSON. */
export function compileRender<Schema extends TSchema>(
  schema: Schema,
): (value: Static<Schema>) => string {
  // A copy without TypeBox's non-enumerable properties.
  return fastJsonStringify(JSON.parse(JSON.stringify(schema))) as (value: Static<Schema>) => string;
}
