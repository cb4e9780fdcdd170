import type { BankAnswer } from "../../partners/bank/port.ts";
import type { Database, Session, Transaction } from "../../platform/db/database.ts";
import { accountsOf, insertRows } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";

/** An answer of the bank that could not be applied yet; `place` is its order in the account. */
type KeptRow = {
  account_id: string;
  place: bigint;
  bank_reference: string;
  /** JSON of a `StoredAnswer`. */
  answer: string;
  kept_at: Date;
};

/** Of reasons the codes: the bank's own text may name people, and nothing is decided by it. */
type StoredAnswer = Omit<BankAnswer, "amount" | "reasons"> & {
  amount: string;
  reason_codes: string[];
};

/** Whoever can only write SQL must not answer for the bank. */
export const KEPT_BANK_ANSWERS = vouchedTable(
  "kept_bank_answers",
  ["account_id", "place"],
  ["bank_reference", "answer", "kept_at"],
);

/**
 * Appends answers of one account to those that are kept, each once. The caller holds a lock of the
 * account's kept answers. Returns whether there were none before.
 */
export async function insertKeptAnswers(
  tx: Transaction,
  account_id: string,
  answers: readonly BankAnswer[],
  now: Date,
): Promise<boolean> {
  const [last] = await tx.query<{ place: bigint }>(
    "select place from kept_bank_answers where account_id = $1 order by place desc limit 1",
    [account_id],
  );
  const rows = answers.map(
    (answer, at): KeptRow => ({
      account_id,
      place: (last?.place ?? 0n) + BigInt(at + 1),
      bank_reference: answer.bank_reference,
      answer: storedText(answer),
      kept_at: now,
    }),
  );
  insertRows(
    tx,
    "kept_bank_answers",
    `account_id uuid, place bigint, bank_reference text, answer text, kept_at timestamptz,
     mac bytea`,
    KEPT_BANK_ANSWERS.withMacs(tx, rows),
    "on conflict (account_id, bank_reference) do nothing",
  );
  return last === undefined;
}

export type KeptAnswer = BankAnswer & { place: bigint };

/**
 * Those of an account after a place, in their order, up to one that somebody changed; fails if that
 * is the first.
 */
export async function listKeptAnswers(
  session: Session,
  account_id: string,
  after: bigint,
  limit: number,
): Promise<KeptAnswer[]> {
  const rows = await session.query<KeptRow & { mac: Buffer }>(
    `select * from kept_bank_answers where account_id = $1 and place > $2
     order by place limit $3`,
    [account_id, after, limit],
  );
  const changed = rows.findIndex((row) => !KEPT_BANK_ANSWERS.holds(session, row));
  const kept = changed > 0 ? rows.slice(0, changed) : rows;
  return KEPT_BANK_ANSWERS.assertVouched(session, kept).map(({ place, answer }) => ({
    ...readStored(answer),
    place,
  }));
}

/** The references too: a place is used again once none are kept. */
export function deleteKeptAnswers(
  tx: Transaction,
  account_id: string,
  answers: readonly KeptAnswer[],
): void {
  // By their places the planner never reads all that is kept of the account.
  tx.write(
    `delete from kept_bank_answers where account_id = $1 and place between $2 and $3
       and bank_reference = any($4::text[])`,
    [
      account_id,
      answers[0]!.place,
      answers.at(-1)!.place,
      answers.map((answer) => answer.bank_reference),
    ],
  );
}

/** Those of the accounts of which answers are kept. */
export async function listAccountsWithKept(
  database: Database,
  owned: readonly { account_id: string }[],
): Promise<ReadonlySet<string>> {
  const accounts = accountsOf(database, owned);
  // One look-up for each account, however many answers of one are kept.
  const text = accounts.is_one
    ? "select account_id from kept_bank_answers where account_id = $1 limit 1"
    : `select k.account_id from unnest($1::uuid[]) as wanted (account_id) cross join lateral (
         select account_id from kept_bank_answers
         where account_id = wanted.account_id limit 1) as k`;
  const rows = await database.query<{ account_id: string }>(text, [accounts.value]);
  return new Set(rows.map(({ account_id }) => account_id));
}

function storedText({ amount, reasons, ...rest }: BankAnswer): string {
  const reason_codes = reasons.flatMap(({ code }) => code ?? []);
  return JSON.stringify({ ...rest, amount: String(amount), reason_codes } satisfies StoredAnswer);
}

function readStored(text: string): BankAnswer {
  const { amount, reason_codes, ...rest } = JSON.parse(text) as StoredAnswer;
  const reasons = reason_codes.map((code) => ({ code, text: null }));
  return { ...rest, amount: BigInt(amount), reasons };
}
