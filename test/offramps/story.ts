import { expect } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { verify } from "../../src/verify/verify.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

/** A quote's lifetime, and how long after it a transfer may still be named. */
export const EXPIRY_MS = 30 * MINUTE_MS;
export const GRACE_MS = HOUR_MS;
const IDLE_MAX_MS = 20_000;
const REFUND_ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

export type Item = { amount: number | string; metadata?: Record<string, string> };

export type Story = Awaited<ReturnType<typeof openStory>>;

/** A user with a bank account in eur, and a quote with the given offramps. */
export async function openStory(server: TestServer, items: readonly Item[] = [{ amount: 1000 }]) {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const path = `/users/${user_id}`;
  const add = (to_quote: string, wanted: readonly Item[]) =>
    server.call("POST", `${path}/quotes/${to_quote}/offramps`, {
      offramps: wanted.map(({ amount, metadata }) => ({
        payment_detail_id,
        destination_amount: amount,
        destination_currency: "eur",
        ...(metadata ? { metadata } : {}),
      })),
    });
  const made = good(await add(quote_id, items));
  const offramp_ids: string[] = made.offramps.map((offramp: { id: string }) => offramp.id);
  const offramp_id = offramp_ids[0]!;
  const show = async (id = offramp_id) =>
    good(await server.call("GET", `${path}/offramps/${id}`)).offramp;
  const total = async (of_quote = quote_id): Promise<number> =>
    good(await server.call("GET", `${path}/quotes/${of_quote}`)).quote.deposit_token_amount;

  return {
    user_id,
    payment_detail_id,
    quote_id,
    offramp_id,
    offramp_ids,
    add,
    show,
    total,
    addQuote: () => addQuote(server, user_id),
    execute: (tx_id?: string, of_quote = quote_id) => execute(server, user_id, of_quote, tx_id),
    fund: (of_quote: string) => server.call("POST", `${path}/quotes/${of_quote}/fund`),
    giveUp: (id = offramp_id) => server.call("POST", `${path}/offramps/${id}/refund`),
    reroute: (detail_id = payment_detail_id, id = offramp_id) =>
      server.call("POST", `${path}/offramps/${id}/reroute`, {
        offramp: { payment_detail_id: detail_id },
      }),
    /** Uploads the supporting document, and waits for everything it triggers. */
    upload: async (id = offramp_id) => {
      const body = new FormData();
      const document = new Blob(["%PDF-1.7 an invented invoice"], { type: "application/pdf" });
      body.set("file", document, "invoice.pdf");
      const url = `${server.url}/offramps/${id}/supporting-documents`;
      const headers = { authorization: `Bearer ${server.key}` };
      const answer = await fetch(url, { method: "POST", headers, body });
      expect(answer.status, await answer.text()).toBe(200);
      await settle(server);
    },
    waitForStatus: (status: string, id = offramp_id) =>
      waitFor(async () => {
        const offramp = await show(id);
        return offramp.status === status && offramp;
      }),
    /** The user's balance. */
    owed: async (token = "usdc"): Promise<number> => {
      const { balances } = good(await server.call("GET", `${path}/balances`));
      const own = balances.find((entry: { currency: string }) => entry.currency === token);
      return own?.amount ?? 0;
    },
    /** Refunds the amount to an address that the user has registered. */
    takeOut: async (amount: number, token = "usdc") => {
      await server.call("POST", `${path}/refund_addresses`, {
        refund_address: { chain: "polygon", address: REFUND_ADDRESS },
      });
      const refund = { token, chain: "polygon", amount, address: REFUND_ADDRESS };
      good(await server.call("POST", `${path}/refunds`, { refund }));
      return waitFor(async () => {
        const { refunds } = good(await server.call("GET", `${path}/refunds`));
        return refunds[0].status === "sent" && refunds[0];
      });
    },
  };
}

/** The body of an answer that must be a success. */
// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
export function good(answer: Answer): any {
  expect(answer.status, answer.text).toBe(200);
  return answer.body;
}

export function expectRefusal(answer: Answer, code: string): void {
  expect(answer.body.error_code, answer.text).toBe(code);
}

export type Transfer = {
  quote_id: string;
  amount: number;
  tx_id?: string;
  token?: string;
  mined_at?: string;
  from?: string;
};

/** Simulates a transfer and waits for everything it triggers. */
export async function deposit(server: TestServer, crypto_deposit: Transfer): Promise<void> {
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await settle(server);
}

export async function advance(server: TestServer, advance_ms: number): Promise<void> {
  const { clock } = good(await server.call("POST", "/sandbox/clock", { advance_ms }));
  expect(clock.idle).toBe(true);
}

/** Waits until nothing is due. */
export async function settle(server: TestServer): Promise<void> {
  expect(await server.app.worker.runUntilIdle(IDLE_MAX_MS)).toBe(true);
}

/** What `sliproad verify` reports once everything is sealed; null when there is no problem. */
export async function findFault(server: TestServer): Promise<string | null> {
  const { config, database, clock, index_key } = server.core;
  const key = signingKey(signingSeed(config));
  await sealAll(database, key, clock.now());
  const time = { now: clock.now(), real_now: realTime(clock) };
  return (await verify(database, key, { ...time, index_key })).fault;
}

/** The balance of one of the installation's own ledger accounts, on its natural side. */
export async function ledgerBalance(
  server: TestServer,
  ledger_account: string,
  currency: string,
): Promise<bigint> {
  const [row] = await server.db.database.query<{ sum: string }>(
    `select coalesce(sum(amount), 0)::text as sum from ledger_lines
     where ledger_account = $1 and currency = $2`,
    [ledger_account, currency],
  );
  return BigInt(row!.sum);
}
