import Type, { type TProperties, type TSchema } from "typebox";

/** Parts that the schemas of all modules share. */
export const UUID = Type.String({ format: "uuid" });
export const TIME = Type.String({ format: "date-time" });

/** An object that refuses unknown fields: a body, a query, or a part of one. */
export function closedObject<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

/** A field that is always there, and may be null. */
export function nullable<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
}

/** A field of a body: absent and null mean the same. */
export function optional<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Optional(nullable(schema, description));
}
