import type { Deposit } from "../../balances/deposit-store.ts";
import type { OnrampRow } from "../../onramps/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { listRows } from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";

/** The coin deposits of all users or of one; the API lists them by user. */
export function listAccountDeposits(
  session: Session,
  filter: { account_id: string; user_id: string | undefined },
  page: Page,
): Promise<Deposit[]> {
  return listRows(session, "deposits", filter, page);
}

/** The newest coin deposits for one quote. */
export function listDepositsOfQuote(
  session: Session,
  account_id: string,
  quote_id: string,
  limit: number,
): Promise<Deposit[]> {
  return session.query<Deposit>(
    `select * from deposits where account_id = $1 and quote_id = $2 order by id desc limit $3`,
    [account_id, quote_id, limit],
  );
}

/** Of all accounts: unpaid onramps that cost about this, the nearest below and above it. */
export function listUnpaidOnramps(
  session: Session,
  { currency, amount }: { currency: string; amount: bigint },
  each_max: number,
): Promise<OnrampRow[]> {
  return session.query<OnrampRow>(
    `(select * from onramps where status = 'initiated' and fiat_currency = $1
        and deposit_amount >= $2 order by deposit_amount limit $3)
     union all
     (select * from onramps where status = 'initiated' and fiat_currency = $1
        and deposit_amount < $2 order by deposit_amount desc limit $3)`,
    [currency, amount, each_max],
  );
}
