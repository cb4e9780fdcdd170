import type { BankAnswer } from "../../partners/bank/port.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Page } from "../../platform/http/list.ts";
import { COUNT_MAX } from "../../platform/metrics/model.ts";
import type { AnswerOutcome } from "./store.ts";

/** An answer of the bank that could not be applied to a payout. */
export type BankException = Pick<
  BankAnswer,
  "account_id" | "end_to_end_id" | "bank_reference" | "amount" | "currency"
> & {
  id: string;
  answer: BankAnswer["kind"];
  kind: Exclude<AnswerOutcome, "applied">;
  /** Null when no payout has this end-to-end id. */
  offramp_id: string | null;
  created_at: Date;
};

/** The exceptions of all accounts, newest first: they are the operator's to settle. */
export function listBankExceptions(session: Session, page: Page): Promise<BankException[]> {
  return session.query<BankException>(
    `select b.account_id, b.id, b.end_to_end_id, b.bank_reference, b.amount, b.currency,
       b.kind as answer, b.outcome as kind, p.offramp_id, b.created_at
     from bank_answers b
     left join payouts p on p.account_id = b.account_id and p.end_to_end_id = b.end_to_end_id
     where b.outcome <> 'applied' and b.id < $1 and b.id >= $2 order by b.id desc limit $3`,
    [page.below_id, page.from_id, page.limit + 1],
  );
}

/** How many there are, counted up to COUNT_MAX, and since when. */
export async function findOpenExceptions(
  session: Session,
): Promise<{ exceptions: number; oldest_at: Date | null }> {
  const [row] = await session.query<{ exceptions: number; oldest_at: Date | null }>(
    `select count(*)::integer as exceptions, min(first.created_at) as oldest_at from (
       select created_at from bank_answers where outcome <> 'applied'
       order by id limit ${COUNT_MAX}) as first`,
  );
  return row!;
}
