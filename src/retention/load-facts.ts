import { existsOpenRefund } from "../balances/refund-store.ts";
import { existsApplicationData } from "../kyc/application-store.ts";
import { listBalances } from "../ledger/store.ts";
import { existsOpenOfframp } from "../offramps/store.ts";
import { findOpenOnramp } from "../onramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { MatchFacts } from "../screening/model.ts";
import { listMatchFacts } from "../screening/store.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { findUser, type UserKey, type UserRow } from "../users/store.ts";
import { type Retention, type RetentionFacts, retentionOf } from "./model.ts";
import { findLastPayment } from "./store.ts";

/** What must be kept of a user now; undefined if there is no such user. */
export async function findRetention(
  session: Session,
  key: UserKey,
  years: number,
  now: Date,
): Promise<Retention | undefined> {
  const user = await findUser(session, key);
  return user && retentionOf(user.id, await loadFacts(session, user), years, now);
}

/**
 * While somebody may still have to look at the person or one of their payees, nothing about them is
 * deleted.
 */
function isHeld({ is_frozen, general }: Kyc, matches: readonly MatchFacts[]): boolean {
  const is_listed = matches.some(({ status }) => status === "open" || status === "confirmed");
  return is_frozen === true || general.status === "suspended" || is_listed;
}

/** Of a user whose row was locked if something is decided from it. */
export async function loadFacts(session: Session, user: UserRow): Promise<RetentionFacts> {
  const { account_id, id: user_id, deactivated_at } = user;
  const key: UserKey = { account_id, user_id };
  const [last_payment_at, balances, open, kycs, matches, has_identity_documents] =
    await Promise.all([
      findLastPayment(session, key),
      listBalances(session, key),
      Promise.all([
        existsOpenOfframp(session, key),
        existsOpenRefund(session, key),
        findOpenOnramp(session, key),
      ]),
      findKycs(session, [key]),
      listMatchFacts(session, [key]),
      existsApplicationData(session, key),
    ]);
  const kyc = kycs.get(account_id, user_id);
  return {
    deactivated_at,
    last_payment_at,
    has_open_payments: open.includes(true),
    has_balance: balances.some(({ balance }) => balance > 0n),
    is_held: kyc !== undefined && isHeld(kyc, matches),
    has_identity_documents,
  };
}
