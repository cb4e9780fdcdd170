import { PROPOSAL_LIFE_MS } from "../approvals/model.ts";
import { listProposalTimes, type ProposalTime } from "../approvals/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Offramp } from "./model.ts";
import type { RateRules } from "./rate-promise.ts";

/** The kinds of proposals about an offramp that stop the time. */
const STOPPING = ["refund-offramps", "reroute-offramps"];

export type StoppedTimes = ReadonlyMap<string, readonly ProposalTime[]>;

/** When proposals about these offramps were open. */
export function loadStoppedTimes(
  session: Session,
  offramps: readonly { account_id: string; id: string }[],
): Promise<StoppedTimes> {
  return listProposalTimes(session, STOPPING, offramps);
}

/**
 * Until when the rate of a waiting offramp is kept. The time during which proposals about it are
 * open is added, in all at most the life of one: else a proposal after the other would keep a rate
 * for ever. Null while the rate is not limited.
 */
export function keptUntil(
  rules: Pick<RateRules, "rate_hold_ms" | "reroute_ms">,
  { id, status, rate_until }: Pick<Offramp, "id" | "status" | "rate_until">,
  times: StoppedTimes,
  now: Date,
): Date | null {
  if (rate_until === null) return null;
  const hold_ms = status === "bounced" ? rules.reroute_ms : rules.rate_hold_ms;
  let counted_to = rate_until.getTime() - hold_ms;
  let stopped_ms = 0;
  for (const { created_at, ended_at } of times.get(id) ?? []) {
    const from = Math.max(created_at.getTime(), counted_to);
    const to = (ended_at ?? now).getTime();
    // A proposal cannot bring back a time that was over.
    if (to <= from || from >= rate_until.getTime() + stopped_ms) continue;
    stopped_ms += to - from;
    counted_to = to;
  }
  return new Date(rate_until.getTime() + Math.min(stopped_ms, PROPOSAL_LIFE_MS));
}
