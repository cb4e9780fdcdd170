import { checkProposals } from "../approvals/check-proposals.ts";
import type { PaymentDetail, PaymentDetailStatus } from "../payment-details/model.ts";
import {
  type ChangedDetail,
  moveDetail,
  recordDetailChanges,
} from "../payment-details/record-detail-changes.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import type { HeldUser, Kyc, ScreeningStatus } from "../users/model.ts";
import type { UserKey } from "../users/store.ts";
import { enqueueUserTasks, REASSESS_USER_TASK } from "../users/task-kinds.ts";
import { type MatchFacts, statusOf } from "./model.ts";

type Settled = {
  /** Locked. */
  users: readonly { account_id: string; id: string }[];
  /** As they were. */
  kycs: AccountMap<Kyc>;
  /** The users whose payouts or onramps wait. */
  waiting: readonly UserKey[];
  details: readonly PaymentDetail[];
  keys: SubjectKeys;
  /** All matches of each record. */
  judged: ReadonlyMap<string, readonly MatchFacts[]>;
};

const DETAIL_STATUSES: Readonly<Record<ScreeningStatus, PaymentDetailStatus>> = {
  clear: "approved",
  possible_match: "pending",
  match: "pending",
  confirmed: "failed",
};

/**
 * Moves locked payment details to what their matches say, and returns what the users' matches say,
 * for the caller to write. What waits for the users is assessed again.
 */
export function settleRecords(
  tx: Transaction,
  { users, kycs, waiting, details, keys, judged }: Settled,
  now: Date,
): HeldUser[] {
  const changes = details.flatMap((detail): ChangedDetail[] => {
    const status = DETAIL_STATUSES[statusOf(judged.get(detail.id) ?? [])];
    if (status === detail.status) return [];
    return [moveDetail(detail, status, keys.get(detail.account_id, detail.user_id)!, now)];
  });
  const held = users.map(({ account_id, id }): HeldUser => {
    const screening_status = statusOf(judged.get(id) ?? []);
    const held_at = kycs.get(account_id, id)?.screening?.held_at ?? now;
    const screening_held_at = screening_status === "clear" ? null : held_at;
    return { account_id, id, screening_status, screening_held_at };
  });
  recordDetailChanges(tx, changes, now);
  const moved = held.filter(({ account_id, id, screening_status }) => {
    const before = kycs.get(account_id, id)?.screening?.status ?? "clear";
    return screening_status !== before;
  });
  checkProposals(tx, moved, now);
  enqueueUserTasks(tx, REASSESS_USER_TASK, waiting, now);
  return held;
}
