import { listFrozenAccounts } from "../../accounts/audited/frozen-accounts.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Problem } from "../../platform/errors.ts";
import { frozenProblem, giveBackProblems } from "../../users/clearance.ts";
import { findKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import { findOfframpLinks } from "../store.ts";
import type { BankException } from "./model.ts";

/** Whose money an exception is about: the user's whose payout the bank named, or the account's. */
export type Holder = {
  /** Undefined when the bank named no payout, or the user was erased. */
  kyc: Kyc | undefined;
  is_frozen: boolean;
};

/** By exception. */
export async function loadHolders(
  session: Session,
  exceptions: readonly BankException[],
): Promise<Map<string, Holder>> {
  const named = exceptions.flatMap(({ account_id, offramp_id: id }) =>
    id === null ? [] : [{ account_id, id }],
  );
  const offramps = await findOfframpLinks(session, named);
  const user_of = new Map(offramps.map(({ id, user_id }) => [id, user_id]));
  const account_ids = exceptions.map(({ account_id }) => account_id);
  const [kycs, frozen_ids] = await Promise.all([
    findKycs(session, offramps),
    listFrozenAccounts(session, account_ids),
  ]);
  return new Map(
    exceptions.map(({ account_id, id, offramp_id }) => {
      const user_id = user_of.get(offramp_id ?? "");
      const kyc = user_id === undefined ? undefined : kycs.get(account_id, user_id);
      return [id, { kyc, is_frozen: kyc?.is_frozen ?? frozen_ids.has(account_id) }];
    }),
  );
}

/** Nothing of a user or account that is held goes back to a bank; it can still be assigned. */
export function returnHolds(
  { kyc, is_frozen }: Holder,
  decided: { operator_approval?: boolean; approval?: string },
): Problem[] {
  if (kyc) return giveBackProblems(kyc, decided, "exception_id");
  return is_frozen ? [frozenProblem("exception_id")] : [];
}
