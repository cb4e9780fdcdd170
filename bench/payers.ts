import { createAccount } from "../src/accounts/create-account.ts";
import { createApiKey } from "../src/accounts/create-api-key.ts";
import { makeApiKey } from "../src/accounts/model.ts";
import type { Core } from "../src/app/open-app.ts";
import type { Shot } from "./load.ts";

export type Account = { account_id: string; api_key: string; api_key_id: string };

/** A user with a bank account to pay to. */
export type Payer = Account & { user_id: string; payment_detail_id: string };

/** A payer with a quote that takes offramps. */
export type Target = Payer & { quote_id: string };

const AT_ONCE = 16;
const BY = { actor: "command line", reason: "benchmark" } as const;

export async function addAccount({ database, keyring, index_key, clock, config }: Core) {
  const name = `bench ${crypto.randomUUID()}`;
  const { id: account_id } = await database.transaction((tx) =>
    createAccount(tx, keyring, { name, is_operator: false, ...BY }, clock.now()),
  );
  const api_key = makeApiKey(index_key, config.mode, account_id);
  const { id: api_key_id } = await database.transaction(async (tx) =>
    createApiKey(tx, index_key, { account_id, name, key: api_key, ...BY }, clock.now()),
  );
  return { account_id, api_key, api_key_id };
}

/** One payer per connection, so that no two requests in flight wait for one quote. */
export function addPayers(url: string, accounts: Account[], count: number): Promise<Payer[]> {
  return inParallel(count, async (at) => {
    const account = accounts[at % accounts.length]!;
    const { user } = await post(url, account, "/users", {
      user: {
        beneficiary_type: "business",
        email: `payer-${crypto.randomUUID()}@example.com`,
        company_name: "Invented Payroll Ltd",
      },
    });
    const { payment_detail } = await post(url, account, `/users/${user.id}/payment_details`, {
      payment_detail: {
        account_name: "Maria Invented",
        currency: "eur",
        iban: "DE89370400440532013000",
        bank_name: "Invented Bank",
        beneficiary_type: "individual",
        date_of_birth: "21/04/1988",
        address_line1: "12 Invented Street",
        city: "Lisbon",
        postal_code: "1100-148",
        country: "PT",
      },
    });
    return { ...account, user_id: user.id, payment_detail_id: payment_detail.id };
  });
}

/** New quotes for every sample, because a quote has at most 5 000 offramps. */
export function addTargets(url: string, payers: readonly Payer[]): Promise<Target[]> {
  return inParallel(payers.length, async (at) => {
    const payer = payers[at]!;
    const { quote } = await post(url, payer, `/users/${payer.user_id}/quotes`, {
      quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
    });
    return { ...payer, quote_id: quote.id };
  });
}

/** The request that creates this many offramps at once. */
export function creation(target: Target, items: number): Shot {
  const offramp = {
    payment_detail_id: target.payment_detail_id,
    destination_amount: "125.50",
    destination_currency: "eur",
    rails: "local",
    reference: "Invoice 2026-0042",
    metadata: { order: "A-1042", team: "payroll" },
  };
  return {
    method: "POST",
    path: `/users/${target.user_id}/quotes/${target.quote_id}/offramps`,
    api_key: target.api_key,
    body: JSON.stringify({ offramps: Array(items).fill(offramp) }),
  };
}

export async function post(
  url: string,
  account: Account,
  path: string,
  body: unknown,
  method = "POST",
  // biome-ignore lint/suspicious/noExplicitAny: the shape of a response depends on the route.
): Promise<any> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return answer.json();
}

async function inParallel<Result>(
  count: number,
  work: (at: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const at = next++;
      results[at] = await work(at);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
