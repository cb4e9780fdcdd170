import type { Database, Session } from "../../platform/db/database.ts";
import type { BankAnswer, BankCredit, CreditReturn, Instruction } from "./port.ts";

type Answer = Omit<BankAnswer, "trace_number" | "uetr" | "reasons" | "bank_account" | "paid_from">;
type Script = {
  instruction: Instruction;
  beneficiary: Buffer;
  outcome: string;
  kinds: readonly BankAnswer["kind"][];
};

/**
 * The bank's lines are read by number: a line that is committed after a higher one was read would
 * never be seen. So each writer waits for the previous one, and numbers follow the order of
 * commits.
 */
const TURN = "(select pg_advisory_xact_lock(hashtextextended('sandbox bank', 0))) as turn";

/**
 * One transaction: the bank has an instruction and its answers, or neither. Returns how many it did
 * not have before. Two statements, because Citus needs all its servers for one that writes twice.
 */
export function insertSandboxPayouts(
  database: Database,
  scripts: readonly Script[],
): Promise<number> {
  return database.transaction(async (tx) => {
    const received = await tx.query<{ end_to_end_id: string }>(
      `insert into sandbox_bank_payouts (end_to_end_id, account_id, amount, currency, outcome,
         beneficiary)
       select script.* from ${TURN}, unnest($1::text[], $2::uuid[], $3::bigint[], $4::text[],
         $5::text[], $6::bytea[]) as script
       on conflict do nothing returning end_to_end_id`,
      [
        scripts.map(({ instruction }) => instruction.end_to_end_id),
        scripts.map(({ instruction }) => instruction.account_id),
        scripts.map(({ instruction }) => instruction.amount),
        scripts.map(({ instruction }) => instruction.currency),
        scripts.map(({ outcome }) => outcome),
        scripts.map(({ beneficiary }) => beneficiary),
      ],
    );
    const ids = new Set(received.map(({ end_to_end_id }) => end_to_end_id));
    const answers = scripts
      .filter(({ instruction }) => ids.has(instruction.end_to_end_id))
      .flatMap(({ instruction, kinds }) => kinds.map((kind) => ({ ...instruction, kind })));
    tx.write(
      `insert into sandbox_bank_answers
         (end_to_end_id, account_id, bank_reference, kind, amount, currency)
       select end_to_end_id, account_id, end_to_end_id || '-' || kind, kind, amount, currency
       from unnest($1::text[], $2::uuid[], $3::text[], $4::bigint[], $5::text[]) with ordinality
         as answer (end_to_end_id, account_id, kind, amount, currency, place) order by place`,
      [
        answers.map(({ end_to_end_id }) => end_to_end_id),
        answers.map(({ account_id }) => account_id),
        answers.map(({ kind }) => kind),
        answers.map(({ amount }) => amount),
        answers.map(({ currency }) => currency),
      ],
    );
    return ids.size;
  });
}

/** What the bank has under these ids. */
export function listSandboxPayouts(
  session: Session,
  end_to_end_ids: readonly string[],
): Promise<
  (Pick<Instruction, "end_to_end_id" | "amount" | "currency"> & { beneficiary: Buffer | null })[]
> {
  return session.query(
    `select end_to_end_id, amount, currency, beneficiary from sandbox_bank_payouts
     where end_to_end_id = any($1)`,
    [end_to_end_ids],
  );
}

export function listSandboxAnswers(
  session: Session,
  cursor: string | null,
  limit: number,
): Promise<(Answer & { number: bigint })[]> {
  return session.query(
    `select number, account_id, end_to_end_id, bank_reference, kind, amount, currency
     from sandbox_bank_answers where number > $1 order by number limit $2`,
    [cursor ?? "0", limit],
  );
}

/**
 * The same reference with the same amount is the same line; with another amount it is a new one.
 */
export async function insertSandboxCredit(
  session: Session,
  credit: BankCredit & { created_by: string },
): Promise<void> {
  await session.query(
    `insert into sandbox_bank_credits
       (bank_account, bank_reference, amount, currency, text, payer_name, booked_at, created_by)
     select $1, $2, $3, $4, $5, $6, $7, $8::uuid from ${TURN}
     on conflict do nothing`,
    [
      credit.bank_account,
      credit.bank_reference,
      credit.amount,
      credit.currency,
      credit.text,
      credit.payer_name,
      credit.booked_at,
      credit.created_by,
    ],
  );
}

/** Whether somebody other than this account created a line with the credit's reference. */
export async function existsCreditOfAnother(
  session: Session,
  account_id: string,
  { bank_account, bank_reference }: BankCredit,
): Promise<boolean> {
  const rows = await session.query(
    `select from sandbox_bank_credits where bank_account = $2 and bank_reference = $3
       and created_by is distinct from $1 limit 1`,
    [account_id, bank_account, bank_reference],
  );
  return rows.length > 0;
}

export function listSandboxCredits(
  session: Session,
  cursor: string | null,
  limit: number,
): Promise<(BankCredit & { number: bigint })[]> {
  return session.query(
    `select number, bank_account, bank_reference, amount, currency, text, payer_name, booked_at
     from sandbox_bank_credits where number > $1 order by number limit $2`,
    [cursor ?? "0", limit],
  );
}

export async function insertSandboxReturn(session: Session, request: CreditReturn): Promise<void> {
  await session.query(
    `insert into sandbox_bank_returns (key, amount, currency) values ($1, $2, $3)
     on conflict do nothing`,
    [request.key, request.amount, request.currency],
  );
}
