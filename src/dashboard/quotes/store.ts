import { TOKENS, type Token } from "../../catalogue/chains.ts";
import { QUOTE_STATUSES, type Quote, type QuoteStatus } from "../../offramps/quotes/model.ts";
import type { Session } from "../../platform/db/database.ts";
import { listRows } from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";

type QuoteFilter = {
  account_id: string;
  user_id: string | undefined;
  status: QuoteStatus | undefined;
  token: Token | undefined;
};

/** As in the indexes `quotes_by_stage` and `quotes_of_user_by_stage`. */
const STAGE = `(case
  when executed_at is not null and closed_at is not null then 'failed'
  when executed_at is not null then 'executed'
  when closed_at is not null then 'expired'
  else 'open' end)`;

/** The stages in which quotes have a status; an open quote has expired before it is closed. */
const STAGES_OF: Readonly<Record<QuoteStatus, readonly QuoteStatus[]>> = {
  open: ["open"],
  executed: ["executed"],
  expired: ["expired", "open"],
  failed: ["failed"],
};

/**
 * The quotes of all users or of one; the API lists them by user. All with one stage and token lie
 * together in an index, in order of id: the first of each are taken, and the first of these.
 */
export async function listAccountQuotes(
  session: Session,
  { account_id, user_id, status, token }: QuoteFilter,
  page: Page,
  now: Date,
): Promise<Quote[]> {
  if (!status && !token) return listRows(session, "quotes", { account_id, user_id }, page);
  const stages = status ? STAGES_OF[status] : QUOTE_STATUSES;
  const ranges = stages.flatMap((stage) => (token ? [token] : TOKENS).map((one) => [stage, one]));
  return session.query<Quote>(
    `select quotes.* from (
       select newest.id from unnest($5::text[], $6::text[]) as range (stage, token)
       cross join lateral (select id from quotes
         where account_id = $1 ${user_id ? "and user_id = $9" : ""} and id < $2 and id >= $3
           and ${STAGE} = range.stage and deposit_token = range.token
           and (range.stage <> 'open' or $7::boolean is null or (expires_at > $8) = $7)
         order by id desc limit $4) as newest
       order by newest.id desc limit $4) as ids
     join quotes on quotes.account_id = $1 and quotes.id = ids.id
     order by quotes.id desc`,
    [
      ...[account_id, page.below_id, page.from_id, page.limit + 1],
      ...[ranges.map(([stage]) => stage), ranges.map(([, one]) => one)],
      ...[status ? status === "open" : null, now],
      ...(user_id ? [user_id] : []),
    ],
  );
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
