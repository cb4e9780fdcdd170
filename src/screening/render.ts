import type { Static } from "typebox";
import { compileRender } from "../platform/http/render.ts";
import type { ScreeningMatch } from "./model.ts";
import { MatchAnswer, MatchListAnswer, type MatchRecord } from "./schemas.ts";

export type ShownMatch = ScreeningMatch & { account_name: string };

const writeMatch = compileRender(MatchAnswer);
const writeMatches = compileRender(MatchListAnswer);

export function renderMatch(match: ScreeningMatch): string {
  return writeMatch({ screening_match: toRecord(match) });
}

export function renderMatches(matches: readonly ScreeningMatch[], has_more: boolean): string {
  return writeMatches({ screening_matches: matches.map(toRecord), has_more });
}

export function birthText({ from, to }: { from: string; to: string }): string {
  return from === to ? from : `${from}/${to}`;
}

function toRecord(match: ScreeningMatch): Static<typeof MatchRecord> {
  const { id, status, verdict, score, account_id, user_id, record_kind, record_id } = match;
  const { person, entry, listed, reason } = match.details;
  return {
    ...{ id, status, verdict, score, account_id, user_id, record_kind, record_id },
    person: {
      kind: person.kind,
      names: [...person.names],
      birth_date: person.birth_date,
      countries: [...person.countries],
      wallets: [...person.wallets],
    },
    entry: {
      ...{ list: entry.list, entry_id: entry.id, kind: entry.kind },
      names: entry.names.map(({ text }) => text),
      birth_dates: entry.birth_dates.map(birthText),
      countries: [...entry.countries],
      wallets: [...entry.wallets],
      programs: [...entry.programs],
    },
    listed,
    reason,
    decided_by: match.decided_by,
    decided_at: match.decided_at?.toISOString() ?? null,
    created_at: match.created_at.toISOString(),
    updated_at: match.updated_at.toISOString(),
  };
}
