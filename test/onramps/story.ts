import type { BankCredit } from "../../src/partners/bank/port.ts";
import { addApprovedUser } from "../harness/ramp.ts";
import type { TestServer } from "../harness/server.ts";
import { good, settle } from "../offramps/story.ts";

export const ADDRESS = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

export type OnrampRequest = Partial<{
  destination_amount: number | string;
  crypto_currency: string;
  crypto_rails: string;
  destination_address: string;
  fiat_currency: string;
  fiat_rails: string;
}>;

export const REQUEST = {
  destination_amount: 1000,
  crypto_currency: "usdc",
  crypto_rails: "polygon",
  destination_address: ADDRESS,
  fiat_currency: "usd",
  fiat_rails: "ach_push",
};

export type OnrampStory = Awaited<ReturnType<typeof openOnramp>>;

/** A user who has passed KYC, and an onramp that waits for its deposit. */
export async function openOnramp(server: TestServer, request: OnrampRequest = {}, key?: string) {
  const options = key ? { key } : {};
  const user_id = await addApprovedUser(server, key);
  const path = `/users/${user_id}/onramps`;
  const created = good(
    await server.call("POST", path, { onramp: { ...REQUEST, ...request } }, options),
  ).onramp;
  return {
    user_id,
    id: created.id as string,
    created,
    code: created.deposit_instructions.deposit_message as string,
    amount: created.deposit_amount as number,
    show: async () =>
      good(await server.call("GET", `${path}/${created.id}`, undefined, options)).onramp,
  };
}

export type Deposit = {
  amount: number | string;
  currency?: string;
  deposit_message?: string;
  bank_reference?: string;
};

/** Simulates a fiat deposit, waits for everything it triggers, and returns the deposit. */
export async function receive(server: TestServer, deposit: Deposit) {
  const body = { deposit: { currency: "usd", ...deposit } };
  const { id } = good(await server.call("POST", "/sandbox/deposits", body)).deposit;
  await settle(server);
  return showDeposit(server, id);
}

export async function showDeposit(server: TestServer, id: string) {
  return good(await server.call("GET", `/deposits/${id}`)).deposit;
}

/** The deposits that wait for the operator. */
export async function listUnmatched(server: TestServer) {
  return good(await server.call("GET", "/deposits?status=unmatched&limit=100")).deposits;
}

export function act(server: TestServer, id: string, action: string, deposit?: object) {
  return server.call("POST", `/deposits/${id}/${action}`, deposit ? { deposit } : undefined);
}

let references = 0;

/** A line of a scripted bank's statement. */
export function credit(server: TestServer, more: Partial<BankCredit> = {}): BankCredit {
  references += 1;
  return {
    bank_account: "main-usd",
    bank_reference: `line-${references}`,
    amount: 100_400n,
    currency: "usd",
    text: "",
    payer_name: "Invented Payer",
    booked_at: server.core.clock.now(),
    ...more,
  };
}
