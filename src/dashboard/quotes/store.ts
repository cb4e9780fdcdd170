import type { Quote } from "../../offramps/quotes/model.ts";
import type { Session } from "../../platform/db/database.ts";
import { listRows } from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";

/** The quotes of all users; the API lists them by user. */
export function listAccountQuotes(
  session: Session,
  account_id: string,
  { user_id, ...page }: Page & { user_id?: string },
): Promise<Quote[]> {
  return listRows(session, "quotes", { account_id, ...(user_id ? { user_id } : {}) }, page);
}

/** Payouts of one quote with one state and currency. */
export type QuoteProgress = {
  status: string;
  currency: string;
  payouts: number;
  /** In minor units. */
  amount: string;
};

export function listQuoteProgress(
  session: Session,
  account_id: string,
  quote_id: string,
): Promise<QuoteProgress[]> {
  return session.query<QuoteProgress>(
    `select status, destination_currency as currency, count(*)::integer as payouts,
       sum(destination_amount)::text as amount
     from offramps where account_id = $1 and quote_id = $2 group by 1, 2 order by 2, 1`,
    [account_id, quote_id],
  );
}
