import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { findOperator } from "../accounts/store.ts";
import type { Database } from "../platform/db/database.ts";
import type { RateCheck } from "./rate-checks.ts";
import { recordPriceVersion } from "./refresh-rates.ts";
import {
  findLastPriceVersion,
  listRateChecks,
  lockPriceVersions,
  updateRateChecks,
} from "./store.ts";

export type HeldRate = {
  token: string;
  currency: string;
  /** The rate that the operator saw: the source may have changed since. */
  rate: string;
};

/**
 * The operator confirms a held rate: it is quoted at once, and later rates are compared with it.
 * Undefined when this exact rate is not held (any more).
 */
export function confirmHeldRate(
  database: Database,
  { token, currency, rate }: HeldRate,
  by: { actor: Actor; reason: string },
  now: Date,
): Promise<RateCheck | undefined> {
  return database.transaction(async (tx) => {
    await lockPriceVersions(tx);
    const [checks, last, operator] = await Promise.all([
      listRateChecks(tx),
      findLastPriceVersion(tx),
      findOperator(tx),
    ]);
    const held = checks.find((check) => check.token === token && check.currency === currency);
    if (held?.held_rate !== rate || !last) return undefined;
    const check = { ...held, accepted_rate: rate, accepted_at: now };
    const confirmed: RateCheck = { ...check, held_rate: null, held_at: null };
    updateRateChecks(tx, [confirmed]);
    // The held rate is from the same reading as the last version.
    const rates = { ...last.rates, [token]: { ...last.rates[token], [currency]: rate } };
    recordPriceVersion(tx, last, { ...last, rates }, now);
    const { actor, reason } = by;
    const detail = { accepted_rate: held.accepted_rate, confirmed_rate: rate };
    const record = `rate:${token}/${currency}`;
    const account_id = operator!.id;
    recordAudit(tx, { account_id, actor, action: "rate.confirm", record, reason, detail }, now);
    return confirmed;
  });
}
