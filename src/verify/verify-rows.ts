import { API_KEY_HASHES, API_KEYS } from "../accounts/api-key-store.ts";
import { ACCOUNT_CONTROLS } from "../accounts/controls-store.ts";
import { OPERATOR_ACTS } from "../accounts/operator-acts.ts";
import { PASSKEYS } from "../accounts/passkeys/store.ts";
import { RECOVERY_CODES, TOTP_FACTORS } from "../accounts/second-factor/store.ts";
import { PASSWORD_LINKS } from "../accounts/sign-in/password-store.ts";
import { SESSIONS } from "../accounts/sign-in/session-store.ts";
import { ACCOUNTS, MEMBERS, PEOPLE } from "../accounts/store.ts";
import { UNAPPROVED_AMOUNTS } from "../approvals/amount-store.ts";
import { PROPOSALS } from "../approvals/store.ts";
import { DEPOSITS } from "../balances/deposit-store.ts";
import { REFUND_ADDRESSES, REFUNDS } from "../balances/refund-store.ts";
import { KYC_FILES } from "../kyc/application-store.ts";
import { LIMIT_RULES } from "../limits/store.ts";
import { EXCEPTION_DECISIONS, EXCEPTION_OUTCOMES } from "../offramps/exceptions/decision-store.ts";
import { BANK_ANSWERS, PAYOUTS } from "../offramps/payouts/store.ts";
import { QUOTES } from "../offramps/quotes/store.ts";
import { FIAT_DEPOSITS } from "../onramps/deposits/store.ts";
import { ONRAMPS } from "../onramps/store.ts";
import { ENDED_SENDS } from "../partners/chain/evm/send/ended-sends.ts";
import { PARTNER_CURSORS } from "../partners/cursor-store.ts";
import { KEPT_MESSAGES } from "../partners/kept-messages/kept-store.ts";
import { PAYMENT_DETAILS } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import { NOT_WRITTEN_HERE, type VouchedTable } from "../platform/sealing/vouched-rows.ts";
import { PRICE_VERSIONS, RATE_CHECKS } from "../prices/store.ts";
import { ARCHIVES } from "../retention/archives/store.ts";
import { USERS } from "../users/vouched-users.ts";

/** The tables whose rows carry a MAC; logs, votes and balances have checks of their own. */
export const VOUCHED_TABLES: readonly VouchedTable[] = [
  ...[ACCOUNTS, USERS, PAYMENT_DETAILS, QUOTES, DEPOSITS, PAYOUTS, BANK_ANSWERS, REFUND_ADDRESSES],
  ...[REFUNDS, ONRAMPS, FIAT_DEPOSITS, PROPOSALS, UNAPPROVED_AMOUNTS, ACCOUNT_CONTROLS],
  ...[LIMIT_RULES, PRICE_VERSIONS, RATE_CHECKS, PARTNER_CURSORS, KYC_FILES, API_KEYS],
  ...[API_KEY_HASHES, MEMBERS, PEOPLE, SESSIONS, PASSWORD_LINKS, PASSKEYS, TOTP_FACTORS],
  ...[RECOVERY_CODES, ENDED_SENDS, OPERATOR_ACTS, EXCEPTION_DECISIONS, EXCEPTION_OUTCOMES],
  ...[ARCHIVES, KEPT_MESSAGES],
];

const PAGE_ROWS = 500;

/** The first row, of any account, that this service did not write as it is. */
export async function verifyVouchedRows(session: Session): Promise<string | null> {
  for (const table of VOUCHED_TABLES) {
    const fault = await verifyRows(session, table);
    if (fault) return fault;
  }
  return null;
}

export async function verifyRows(session: Session, vouched: VouchedTable): Promise<string | null> {
  let last: unknown[] = [];
  for (;;) {
    const rows = await session.query<Record<string, unknown>>(
      pageQuery(vouched, last.length > 0),
      last,
    );
    const wrong = rows.find((row) => !vouched.holds(session, row));
    if (wrong) return `${vouched.nameOf(wrong)} ${NOT_WRITTEN_HERE}`;
    if (rows.length < PAGE_ROWS) return null;
    last = vouched.key.map((name) => rows.at(-1)![name]);
  }
}

function pageQuery({ table, key, columns, only }: VouchedTable, is_next: boolean): string {
  const keys = key.join(", ");
  const above = `(${keys}) > (${key.map((_, at) => `$${at + 1}`).join(", ")})`;
  const conditions = [only ?? "true", is_next ? above : "true"];
  return `select ${[...key, ...columns, "mac"].join(", ")} from ${table}
    where ${conditions.join(" and ")} order by ${keys} limit ${PAGE_ROWS}`;
}
