import { createHash } from "node:crypto";
import type { Answer, TestServer } from "./server.ts";

/** A user whose KYC has not started. */
export async function addUser(server: TestServer, key?: string): Promise<string> {
  const created = await server.call(
    "POST",
    "/users",
    {
      user: {
        beneficiary_type: "business",
        email: `payer-${crypto.randomUUID()}@example.com`,
        company_name: "Invented Payroll Ltd",
      },
    },
    key ? { key } : {},
  );
  if (created.status !== 200) throw new Error(created.text);
  return created.body.user.id;
}

/** A user who has passed KYC and may use every rail. */
export async function addApprovedUser(server: TestServer, key?: string): Promise<string> {
  const user_id = await addUser(server, key);
  const approved = await setKyc(server, user_id, { status: "approved" }, key);
  if (approved.status !== 200) throw new Error(approved.text);
  return user_id;
}

export function setKyc(
  server: TestServer,
  user_id: string,
  kyc: { status: string; swift_status?: string },
  key?: string,
): Promise<Answer> {
  return server.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc }, key ? { key } : {});
}

export const HOLDER = {
  account_name: "Maria Invented",
  bank_name: "Invented Bank",
  beneficiary_type: "individual",
  date_of_birth: "21/04/1988",
  address_line1: "12 Invented Street",
  city: "Lisbon",
  postal_code: "1100-148",
  country: "PT",
};

export const ACCOUNTS = {
  eur: { currency: "eur", iban: "DE89370400440532013000" },
  eur_swift: {
    currency: "eur",
    rails: "swift",
    iban: "DE89370400440532013000",
    swift_bic: "DEUTDEFF",
  },
  mxn: { currency: "mxn", account_number: "032180000118359719" },
  jpy: { currency: "jpy", rails: "swift", account_number: "1234567", swift_bic: "BOTKJPJT" },
  tnd: { currency: "tnd", rib_number: "10006035183598478831" },
  usd: { currency: "usd", account_number: "000123456789", routing_number: "021000021" },
  usd_swift: {
    currency: "usd",
    rails: "swift",
    account_number: "000123456789",
    swift_bic: "DEUTDEFF",
  },
} as const;

export async function addPaymentDetail(
  server: TestServer,
  user_id: string,
  account: keyof typeof ACCOUNTS,
  more: Record<string, string> = {},
): Promise<string> {
  const created = await server.call("POST", `/users/${user_id}/payment_details`, {
    payment_detail: { ...HOLDER, ...ACCOUNTS[account], ...more },
  });
  if (created.status !== 200) throw new Error(created.text);
  return created.body.payment_detail.id;
}

export async function addQuote(
  server: TestServer,
  user_id: string,
  terms: { deposit_token?: string; deposit_token_chain?: string } = {},
): Promise<string> {
  const created = await server.call("POST", `/users/${user_id}/quotes`, {
    quote: { deposit_token: "usdc", deposit_token_chain: "polygon", ...terms },
  });
  if (created.status !== 200) throw new Error(created.text);
  return created.body.quote.id;
}

/** The hash of an invented transaction, the same for the same name. */
export function txId(name: string): string {
  return `0x${createHash("sha256").update(name).digest("hex")}`;
}

export function execute(
  server: TestServer,
  user_id: string,
  quote_id: string,
  tx_id = txId(crypto.randomUUID()),
): Promise<Answer> {
  return server.call("POST", `/users/${user_id}/quotes/${quote_id}/execute`, {
    quote: { crypto_transfer: { tx_id, blockchain: "polygon", network: "amoy" } },
  });
}
