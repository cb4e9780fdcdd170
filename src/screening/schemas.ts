import Type from "typebox";
import { SCREENING_VERDICTS } from "../partners/screening/port.ts";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import {
  closedObject,
  NULLABLE_TEXT,
  nullable,
  TIME,
  titledObject,
  UUID,
} from "../platform/schema-parts.ts";
import { MATCH_STATUSES, SCREENED_RECORDS } from "./model.ts";

const Person = titledObject("ScreenedPerson", {
  kind: Type.Enum(["individual", "business"]),
  names: Type.Array(Type.String()),
  birth_date: NULLABLE_TEXT,
  countries: Type.Array(Type.String()),
  wallets: Type.Array(Type.String(), {
    description: "Of a user: those of their wallets that a list has.",
  }),
});

const Entry = titledObject("ListEntry", {
  list: Type.String(),
  entry_id: Type.String({ description: "The id of the entry within its list." }),
  kind: Type.Enum(["individual", "business", "other"]),
  names: Type.Array(Type.String()),
  birth_dates: Type.Array(Type.String({ description: "A date, or two with a slash between." })),
  countries: Type.Array(Type.String()),
  wallets: Type.Array(Type.String()),
  programs: Type.Array(Type.String()),
});

export const MatchRecord = titledObject("ScreeningMatch", {
  id: UUID,
  status: Type.Enum([...MATCH_STATUSES]),
  verdict: Type.Enum(SCREENING_VERDICTS.filter((verdict) => verdict !== "clear")),
  score: Type.Number({ description: "How similar they are, up to 1." }),
  account_id: UUID,
  user_id: UUID,
  record_kind: Type.Enum([...SCREENED_RECORDS]),
  record_id: UUID,
  person: Person,
  entry: Entry,
  listed: Type.String({
    description: "The name or wallet of the entry that is like the person's.",
  }),
  reason: nullable(Type.String(), "Why it was cleared or confirmed."),
  decided_by: NULLABLE_TEXT,
  decided_at: nullable(TIME),
  created_at: TIME,
  updated_at: TIME,
});
export const MatchAnswer = Type.Object({ screening_match: MatchRecord });
export const MatchListAnswer = listAnswer("screening_matches", MatchRecord);
export const MatchListQuery = listQuery({
  status: Type.Optional(Type.Enum([...MATCH_STATUSES])),
  user_id: Type.Optional(Type.String({ description: "Only matches of this user." })),
});
export const DecisionBody = closedObject({
  reason: Type.String({ description: "For the operator's audit log." }),
});
