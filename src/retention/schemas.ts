import Type from "typebox";
import { nullable, TIME, titledObject, UUID } from "../platform/schema-parts.ts";
import { KEPT_RECORDS, RETENTION_STATUSES } from "./model.ts";

export const RetentionRecord = titledObject("Retention", {
  user_id: UUID,
  status: Type.Enum([...RETENTION_STATUSES]),
  requested_at: nullable(TIME, "When the erasure was requested."),
  last_payment_at: nullable(TIME, "When money of the user last moved, in or out."),
  erase_after: nullable(
    TIME,
    "When the user can be erased. Null if nothing has to be kept, and while one of `kept` has no " +
      "end.",
  ),
  kept: Type.Array(
    Type.Object({
      record: Type.Enum([...KEPT_RECORDS]),
      why: Type.String(),
      until: nullable(TIME, "Null if no time can be given."),
    }),
    { description: "What prevents the erasure. Empty if nothing does." },
  ),
});

export const RetentionAnswer = Type.Object({ retention: RetentionRecord });
