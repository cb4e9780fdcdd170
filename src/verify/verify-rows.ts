import { API_KEY_HASHES, API_KEYS } from "../accounts/api-key-store.ts";
import { MEMBERS, PEOPLE } from "../accounts/store.ts";
import { DEPOSITS } from "../balances/deposit-store.ts";
import { REFUND_ADDRESSES, REFUNDS } from "../balances/refund-store.ts";
import { PAYOUTS } from "../offramps/payouts/store.ts";
import { QUOTES } from "../offramps/quotes/store.ts";
import { PAYMENT_DETAILS } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import { NOT_WRITTEN_HERE, type VouchedTable } from "../platform/sealing/vouched-rows.ts";
import { PRICE_VERSIONS } from "../prices/store.ts";

/** The tables whose rows carry a MAC and belong to an account. */
const OF_ACCOUNTS: readonly VouchedTable[] = [
  ...[PAYOUTS, QUOTES, DEPOSITS, REFUND_ADDRESSES, REFUNDS, PAYMENT_DETAILS, API_KEYS, MEMBERS],
];
const SHARED: readonly VouchedTable[] = [PRICE_VERSIONS, API_KEY_HASHES, PEOPLE];

const PAGE_ROWS = 500;

/** The first row of an account that this service did not write as it is. */
export async function verifyAccountRows(
  session: Session,
  account_id: string,
): Promise<string | null> {
  for (const table of OF_ACCOUNTS) {
    const fault = await verifyRows(session, table, account_id);
    if (fault) return fault;
  }
  return null;
}

/** The same of the tables that belong to the installation. */
export async function verifySharedRows(session: Session): Promise<string | null> {
  for (const table of SHARED) {
    const fault = await verifyRows(session, table, null);
    if (fault) return fault;
  }
  return null;
}

async function verifyRows(
  session: Session,
  vouched: VouchedTable,
  account_id: string | null,
): Promise<string | null> {
  // Without the keys nobody can tell whether a MAC is right.
  if (!session.bound?.macs) return null;
  const keys = vouched.key.filter((name) => name !== "account_id");
  let last: unknown[] = [];
  for (;;) {
    const rows = await session.query<Record<string, unknown>>(
      pageQuery(vouched.table, keys, account_id !== null, last.length > 0),
      [...(account_id === null ? [] : [account_id]), ...last],
    );
    const wrong = rows.find((row) => !vouched.holds(session, row));
    if (wrong) return `${vouched.nameOf(wrong)} ${NOT_WRITTEN_HERE}`;
    if (rows.length < PAGE_ROWS) return null;
    last = keys.map((name) => rows.at(-1)![name]);
  }
}

function pageQuery(
  table: string,
  keys: readonly string[],
  is_of_account: boolean,
  is_next: boolean,
): string {
  const first = is_of_account ? 2 : 1;
  const places = keys.map((_, at) => `$${first + at}`).join(", ");
  const conditions = [
    ...(is_of_account ? ["account_id = $1"] : []),
    ...(is_next ? [`(${keys.join(", ")}) > (${places})`] : []),
  ];
  const where = conditions.length > 0 ? `where ${conditions.join(" and ")}` : "";
  return `select * from ${table} ${where} order by ${keys.join(", ")} limit ${PAGE_ROWS}`;
}
