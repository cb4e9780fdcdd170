import type { Session } from "../../platform/db/database.ts";
import { documentsIn } from "../documents/store.ts";

/** One more than is shown as a number. */
const COUNTED_MAX = 1_001;

/** What somebody must look at. */
type WaitingName =
  | "held_payouts"
  | "returned_payouts"
  | "failing_apps"
  | "proposals"
  | "kyc_reviews"
  | "documents_to_check"
  | "rejected_documents"
  | "silent_payouts"
  | "stuck_sends"
  | "unmatched_deposits"
  | "bank_exceptions";

/** How many wait, counted up to COUNTED_MAX, and since when the oldest of these. */
type Waiting = { name: WaitingName; count: number; oldest_at: Date | null };

/** Each reads an index of what waits, oldest first where it has that order, and stops early. */
const QUEUES: Record<WaitingName, string> = {
  held_payouts: `select created_at from offramps
    where account_id = $1 and status = 'ongoing_checks' order by id`,
  returned_payouts: `select created_at from offramps
    where account_id = $1 and status = 'bounced' order by id`,
  failing_apps: `select coalesce(failing_since, updated_at) as created_at from apps
    where account_id = $1 and deleted_at is null and webhook_url is not null
      and (failing_since is not null or webhook_state <> 'active')`,
  proposals: `(select created_at from proposals
      where account_id = $1 and status = 'pending' and voters <> 'reviewers'
      order by id limit ${COUNTED_MAX})
    union all
    (select created_at from proposals
      where $2 and voters = 'with_operator' and status = 'pending' and account_id <> $1
      order by id limit ${COUNTED_MAX})`,
  kyc_reviews: `select users.updated_at as created_at from accounts
    join users on users.account_id = accounts.id
    where ($2 or (accounts.id = $1 and accounts.kyc_review_by_account))
      and users.kyc_status = 'awaiting_manual_review' and users.erased_at is null`,
  documents_to_check: `select offramps.created_at ${documentsIn("to_check")}`,
  rejected_documents: `select offramps.created_at ${documentsIn("rejected")}`,
  silent_payouts: `select created_at from payouts
    where account_id = $1 and flagged_at is not null and status in ('submitting', 'sent')`,
  stuck_sends: `select created_at from evm_sends
    where $2 and state not in ('final', 'refused') and state <> 'mined' and state_since < $4`,
  unmatched_deposits: `select created_at from fiat_deposits
    where $2 and account_id = $1 and status = 'unmatched' order by id`,
  bank_exceptions: `select created_at from bank_answers
    where $2 and status = 'open' order by id`,
};

const WAITING = Object.entries(QUEUES)
  .map(
    ([name, queue]) => `select '${name}' as name, count(*)::integer, min(created_at) as oldest_at
      from (select * from (${queue}) as queue limit ${COUNTED_MAX}) as first`,
  )
  .join("\nunion all\n");

/** What waits for the members of this account; the operator's also decide for the others. */
export function listWaiting(
  session: Session,
  { account_id, is_operator }: { account_id: string; is_operator: boolean },
  { stuck_before, is_every_checked }: { stuck_before: Date; is_every_checked: boolean },
): Promise<Waiting[]> {
  return session.query<Waiting>(WAITING, [account_id, is_operator, is_every_checked, stuck_before]);
}

/** Payouts of one day in UTC with one state and currency. */
export type Volume = {
  day: string;
  currency: string;
  status: string;
  payouts: number;
  /** In minor units. */
  amount: string;
};

/**
 * The executed ones among the newest `limit` payouts from this id on. An account may have any
 * number of payouts in a month; this reads no more of them.
 */
export function listVolumes(
  session: Session,
  { account_id, from_id, limit }: { account_id: string; from_id: string; limit: number },
): Promise<Volume[]> {
  return session.query<Volume>(
    `select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') as day,
       destination_currency as currency, status, count(*)::integer as payouts,
       sum(destination_amount)::text as amount
     from (select created_at, destination_currency, destination_amount, status from offramps
       where account_id = $1 and id >= $2 order by id desc limit $3) as newest
     where status <> 'initiated' group by 1, 2, 3 order by 1, 2, 3`,
    [account_id, from_id, limit],
  );
}

/** When the payout was created that comes after the newest `limit`, from this id on. */
export async function findNextPayout(
  session: Session,
  { account_id, from_id, limit }: { account_id: string; from_id: string; limit: number },
): Promise<Date | null> {
  const [row] = await session.query<{ created_at: Date }>(
    `select created_at from offramps where account_id = $1 and id >= $2
     order by id desc offset $3 limit 1`,
    [account_id, from_id, limit],
  );
  return row?.created_at ?? null;
}
