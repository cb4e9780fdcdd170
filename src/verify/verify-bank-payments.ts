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
     left join payouts p on p.account_id = b.account_id and p.end_to_end_id = b.end_to_end_id
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
  );
}
