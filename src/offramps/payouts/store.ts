import type { BankAnswer } from "../../partners/bank/port.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import {
  accountsOf,
  columnsOf,
  distinctSetOf,
  insertRows,
  type RecordKey,
  setOf,
  updateRows,
} from "../../platform/db/rows.ts";
import { newId } from "../../platform/ids.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import type { Offramp } from "../model.ts";
import { type Payout, readEndToEndId } from "./model.ts";

const PAYOUT_KEY = "account_id uuid, offramp_id uuid, attempt int";

/** Of the other columns `flagged_at` only says that somebody was told. */
export const PAYOUTS = vouchedTable(
  "payouts",
  ["account_id", "offramp_id", "attempt"],
  [
    ...["payment_detail_id", "end_to_end_id", "status", "returned_amount", "bank_account"],
    ...["returned_to", "is_booking_implied", "created_at", "updated_at"],
  ],
);

export const BANK_ANSWERS = vouchedTable(
  "bank_answers",
  ["account_id", "bank_reference"],
  [
    ...["id", "end_to_end_id", "kind", "bank_account", "amount", "currency", "outcome", "held"],
    ...["status", "resolution", "reason", "assigned_offramp_id", "assigned_attempt", "returns"],
    ...["given_back", "refund_rate", "created_at", "updated_at"],
  ],
);

const UNRESOLVED = {
  ...{ resolution: null, reason: null, assigned_offramp_id: null, assigned_attempt: null },
  ...{ returns: 0, given_back: null, refund_rate: null },
};

export function insertPayouts(tx: Transaction, payouts: readonly Payout[]): void {
  insertRows(
    tx,
    "payouts",
    `account_id uuid, offramp_id uuid, attempt int, payment_detail_id uuid, end_to_end_id text,
     status text, created_at timestamptz, updated_at timestamptz, mac bytea`,
    PAYOUTS.withMacs(tx, payouts),
  );
}

/**
 * Locks the payouts with these end-to-end ids. Unknown ones are absent, and those that somebody
 * changed: what a bank says about one becomes an exception, which the operator resolves.
 */
export async function lockPayouts(
  tx: Session,
  payouts: readonly Pick<Payout, "account_id" | "end_to_end_id">[],
): Promise<Payout[]> {
  const keys = payouts.flatMap(({ account_id, end_to_end_id }) => {
    const key = readEndToEndId(end_to_end_id);
    return key ? [{ account_id, id: key.offramp_id, attempt: key.attempt }] : [];
  });
  return PAYOUTS.vouchedOnly(tx, await lockPayoutRows(tx, keys));
}

/** All attempts of these offramps, first to last. */
export function listPayouts(session: Session, keys: readonly RecordKey[]): Promise<Payout[]> {
  const accounts = accountsOf(session, keys);
  return session.query<Payout>(
    `select * from payouts where account_id ${accounts.equal} and offramp_id = any($2::uuid[])
     order by account_id, offramp_id, attempt`,
    [accounts.value, ...columnsOf(keys, "id")],
  );
}

type AttemptKey = Pick<Offramp, "account_id" | "id" | "attempt">;

/** Locks the current attempt of each offramp; fails if somebody changed one. */
export async function lockCurrentPayouts(
  tx: Session,
  offramps: readonly AttemptKey[],
): Promise<Payout[]> {
  return PAYOUTS.assertVouched(tx, await lockPayoutRows(tx, offramps));
}

function lockPayoutRows(tx: Session, attempts: readonly AttemptKey[]): Promise<Payout[]> {
  const keys = attempts.map(({ account_id, id, attempt }) => {
    return { account_id, offramp_id: id, attempt };
  });
  const wanted = distinctSetOf(tx, "wanted", PAYOUT_KEY, keys);
  return tx.query<Payout>(
    `select payouts.* from payouts join ${wanted.from} using (account_id, offramp_id, attempt)
     order by account_id, offramp_id, attempt for no key update of payouts`,
    wanted.values,
  );
}

/** Writes the state of locked payouts. */
export function updatePayouts(tx: Transaction, payouts: readonly Payout[]): void {
  const changes = `status text, returned_amount bigint, bank_account text, returned_to text,
    is_booking_implied boolean, updated_at timestamptz, mac bytea`;
  updateRows(tx, "payouts", PAYOUT_KEY, changes, PAYOUTS.withMacs(tx, payouts));
}

/**
 * The bank has accepted these payouts, which this process has marked as `submitting`; those that it
 * has answered meanwhile stay as they are. They are not read again: the MAC is of what was checked
 * and written before, so a row that somebody changed since has a wrong one.
 */
export function updateSent(tx: Transaction, submitted: readonly Payout[], now: Date): void {
  if (submitted.length === 0) return;
  const sent = submitted.map((payout): Payout => ({ ...payout, status: "sent", updated_at: now }));
  const rows = PAYOUTS.withMacs(tx, sent).map(
    ({ account_id, offramp_id, attempt, mac: sent_mac }) => {
      return { account_id, offramp_id, attempt, sent_mac };
    },
  );
  const set = setOf(tx, "t", `${PAYOUT_KEY}, sent_mac bytea`, rows);
  tx.write(
    `update payouts set status = 'sent', updated_at = $5, mac = locked.sent_mac from (
       select p.account_id, p.offramp_id, p.attempt, t.sent_mac
       from ${set.from} join payouts p using (account_id, offramp_id, attempt)
       where p.status = 'submitting'
       order by p.account_id, p.offramp_id, p.attempt for no key update of p
     ) as locked
     where payouts.account_id = ${set.accountIn("locked")}
       and payouts.offramp_id = locked.offramp_id and payouts.attempt = locked.attempt`,
    [...set.values, now],
  );
}

export type Unanswered = { account_id: string; offramp_id: string; attempt: number };

/** Payouts created before this time that the bank has not answered and that are not flagged yet. */
export function listUnanswered(
  session: Session,
  before: Date,
  limit: number,
): Promise<Unanswered[]> {
  return session.query(
    `select account_id, offramp_id, attempt from payouts
     where status in ('submitting', 'sent') and flagged_at is null and created_at < $1
     order by created_at limit $2`,
    [before, limit],
  );
}

export function updateFlagged(tx: Transaction, payouts: readonly Unanswered[], now: Date): void {
  const rows = payouts.map((payout) => ({ ...payout, flagged_at: now }));
  updateRows(tx, "payouts", PAYOUT_KEY, "flagged_at timestamptz", rows);
}

/**
 * The condition that `payouts p` has the end-to-end id of this table. Found by the parts of the id,
 * which are the payout's key; an id of another form belongs to none.
 */
export const isPayoutOf = (table: string) =>
  `p.account_id = ${table}.account_id and p.end_to_end_id = ${table}.end_to_end_id
   and p.offramp_id = case when ${table}.end_to_end_id ~ '^[0-9a-f]{32}[0-9]{3}'
     then left(${table}.end_to_end_id, 32)::uuid end`;

type AnswerKey = Pick<BankAnswer, "account_id" | "bank_reference">;

/** Which of these answers were applied before, by reference. */
export async function findBankAnswers(
  tx: Session,
  answers: readonly AnswerKey[],
): Promise<AccountMap<true>> {
  const wanted = setOf(tx, "wanted", "account_id uuid, bank_reference text", answers);
  // One after the other: the planner would compare all answers of the account with all of these.
  const rows = await tx.query<AnswerKey>(
    `select b.account_id, b.bank_reference from ${wanted.from} cross join lateral (
       select account_id, bank_reference from bank_answers
       where account_id = ${wanted.accountIn("wanted")}
         and bank_reference = wanted.bank_reference limit 1) as b`,
    wanted.values,
  );
  const known = new AccountMap<true>();
  for (const { account_id, bank_reference } of rows) known.set(account_id, bank_reference, true);
  return known;
}

/** `conflict`: the bank reports another amount or currency than was requested; no money moves. */
export type AnswerOutcome =
  | "applied"
  | "suspense"
  | "no_such_payment"
  | "out_of_order"
  | "conflict";

/** `held` is what is posted to suspense because of the answer. */
export type HandledAnswer = { answer: BankAnswer; outcome: AnswerOutcome; held: bigint };

/** An answer that was not applied is an open exception. */
export function insertBankAnswers(
  tx: Transaction,
  answers: readonly HandledAnswer[],
  now: Date,
): void {
  insertRows(
    tx,
    "bank_answers",
    `account_id uuid, bank_reference text, end_to_end_id text, kind text, bank_account text,
     amount bigint, currency text, outcome text, id uuid, held bigint, status text,
     created_at timestamptz, updated_at timestamptz, mac bytea`,
    BANK_ANSWERS.withMacs(
      tx,
      answers.map(({ answer, outcome, held }) => ({
        ...{ ...UNRESOLVED, ...answer, outcome, held, id: newId(now) },
        ...{ status: outcome === "applied" ? null : "open", created_at: now, updated_at: now },
      })),
    ),
  );
}
