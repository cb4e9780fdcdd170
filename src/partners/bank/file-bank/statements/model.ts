import { keyedHash } from "../../../../platform/encryption/cipher.ts";

/** A line of a statement. Signed: a debit is negative. */
export type StatementEntry = { entry_key: string; amount: bigint; booked_on: string | null };

/** A page of a statement, in one currency. Balances are signed. */
export type StatementPage = {
  bank_account: string;
  statement_id: string | null;
  sequence: string | null;
  page: string | null;
  is_last_page: boolean | null;
  currency: string;
  opening: bigint | null;
  /** YYYY-MM-DD */
  opened_on: string | null;
  closing: bigint | null;
  closed_on: string | null;
  entries: readonly StatementEntry[];
};

/** Whoever can write to the database cannot change a balance or a line without being noticed. */
export function statementMac(key: Buffer, report_digest: Buffer, page: StatementPage): Buffer {
  const { entries, ...head } = page;
  const facts = [
    ...[head.bank_account, head.statement_id, head.sequence, head.page, head.is_last_page],
    ...[head.currency, head.opening, head.opened_on, head.closing, head.closed_on],
    ...entries.flatMap(({ entry_key, amount, booked_on }) => [entry_key, amount, booked_on]),
  ];
  return keyedHash(key, "bank statement", report_digest, JSON.stringify(facts.map(textOf)));
}

function textOf(fact: string | bigint | boolean | null): string | null {
  return fact === null ? null : String(fact);
}
