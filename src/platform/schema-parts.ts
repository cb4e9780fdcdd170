import Type, { type TProperties, type TSchema } from "typebox";

/** Parts that the schemas of all modules share. */
export const UUID = Type.String({ format: "uuid" });
export const TIME = Type.String({ format: "date-time" });

export const METADATA = Type.Record(Type.String(), Type.Unknown());

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

/** An object that the API's document describes under this name. */
export function titledObject<Properties extends TProperties>(
  title: string,
  properties: Properties,
) {
  return Type.Object(properties, { title });
}

export const NULLABLE_TEXT = nullable(Type.String());

export function optionalText(description: string) {
  return optional(Type.String(), description);
}

/** Of an act that may be done without giving one. */
export const OPTIONAL_REASON = optionalText(
  "Why, for the audit log; no personal data. At most 500 characters.",
);

/** All that an act needs to know besides its record, in its body or its query. */
export const ReasonInput = closedObject({ reason: OPTIONAL_REASON });

export const OPTIONAL_METADATA = optional(
  METADATA,
  "At most 50 keys of at most 40 characters; values of at most 500 characters.",
);
