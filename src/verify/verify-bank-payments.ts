import { findBankAnswers, isPayoutOf } from "../offramps/payouts/store.ts";
import { hasAnswerMac } from "../partners/bank/file-bank/answer-mac.ts";
import type { StoredAnswer } from "../partners/bank/file-bank/store.ts";
import type { Session } from "../platform/db/database.ts";
import { eachPage } from "./checks.ts";

type Payment = {
  id: string;
  is_asked_for: boolean;
  is_as_asked: boolean;
};

/**
 * Compares the payments of bank files with what was to be paid: every one is an attempt that was
 * sent, or the return of a deposit, with its amount and currency.
 */
export function verifyBankPayments(session: Session, account_id: string): Promise<string | null> {
  return eachPage<Payment>(
    session,
    account_id,
    `select b.end_to_end_id as id,
       coalesce(p.status <> 'recorded', r.key is not null) as is_asked_for,
       coalesce((b.amount, b.currency) = (o.destination_amount, o.destination_currency),
         (b.amount, b.currency) = (r.amount, r.currency), false) as is_as_asked
     from bank_payments b
     left join payouts p on ${isPayoutOf("b")}
     left join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
     left join bank_returns r on r.end_to_end_id = b.end_to_end_id
     where b.account_id = $1 and b.end_to_end_id > $2 order by b.end_to_end_id limit $3`,
    async (payments) => {
      for (const { id, is_asked_for, is_as_asked } of payments) {
        const name = `payment ${id} of account ${account_id}, in a bank file,`;
        if (!is_asked_for) return `${name} was never sent`;
        if (!is_as_asked) return `${name} has another amount or currency`;
      }
      return null;
    },
    "",
  );
}

type Answer = Omit<StoredAnswer, "number"> & { id: string };

/**
 * Each answer that was read from a bank's file has its MAC. Those that an earlier version wrote
 * have none, and were applied then.
 */
export function verifyBankAnswers(
  session: Session,
  index_key: Buffer,
  account_id: string,
): Promise<string | null> {
  return eachPage<Answer>(
    session,
    account_id,
    `select bank_reference as id, account_id, bank_reference, end_to_end_id, kind, amount, currency,
       trace_number, uetr, reason_codes, bank_account, paid_from, mac
     from bank_file_answers
     where account_id = $1 and bank_reference > $2 order by bank_reference limit $3`,
    async (answers) => {
      const without = answers.filter(({ mac }) => mac === null);
      const applied = without.length > 0 ? await findBankAnswers(session, without) : null;
      for (const { id, ...answer } of answers) {
        if (answer.mac === null && applied?.has(account_id, id)) continue;
        if (hasAnswerMac(index_key, answer)) continue;
        const name = `answer ${id} to payment ${answer.end_to_end_id} of account ${account_id}`;
        return `${name} was not written by Sliproad`;
      }
      return null;
    },
    "",
  );
}
