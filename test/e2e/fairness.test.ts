import { afterAll, beforeAll, expect, it } from "vitest";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { newInvoice, newUser } from "../harness/records.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, emit } from "../webhooks/webhook-fixture.ts";

const [GREEDY, OTHERS] = [10, 90];
/** How many of the other accounts are at work at a time. */
const AT_ONCE = 9;
/** How much longer everything of the others may take: where accounts take turns, they wait for ten. */
const RATIO_MAX = 8;
const APPS = 10;
const PDFS = 4;

type Account = { account_id: string; key: string };

let server: TestServer;
let receiver: Receiver;
let greedy: Account[];
let others: Account[];
beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
  receiver.answer(({ path }) => (path.startsWith("/hook/hang") ? "hang" : 200));
  const add = async (name: string): Promise<Account> => {
    const account = await server.addAccount(name);
    const { database, clock } = server.core;
    await database.transaction(async (tx) =>
      updateAccountEnabled(tx, account.account_id, clock.now()),
    );
    return account;
  };
  greedy = await each(GREEDY, (at) => add(`Greedy ${at}`));
  others = await each(OTHERS, (at) => add(`Other ${at}`));
  for (const [at, { key }] of others.entries()) {
    await addApp(server, { webhook_url: `${receiver.url}/well/${at}` }, key);
  }
  for (const { key } of greedy) {
    for (let app = 0; app < APPS; app += 1) {
      await addApp(server, { webhook_url: `${receiver.url}/hang/${app}` }, key);
    }
  }
}, 180_000);
afterAll(async () => {
  await server.close();
  await receiver.close();
});

async function each<Value>(count: number, make: (at: number) => Promise<Value>): Promise<Value[]> {
  const made: Value[] = [];
  for (let at = 0; at < count; at += 1) made.push(await make(at));
  return made;
}

const received = () => receiver.received.filter(({ path }) => path.startsWith("/hook/well")).length;

/** What each of the other accounts does: a write, a read, a PDF and a webhook. */
async function useAll(): Promise<{ took_ms: number; refused: string[] }> {
  const refused: string[] = [];
  const call = async (account: Account, method: string, path: string, body?: unknown) => {
    const answer = await server.call(method, path, body, { key: account.key });
    if (answer.status !== 200) refused.push(`${method} ${path}: ${answer.text}`);
    return answer;
  };
  const before = received();
  const begun_ms = performance.now();
  const left = [...others];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let account = left.pop(); account; account = left.pop()) {
        const [invoice] = await Promise.all([
          call(account, "POST", "/invoices", newInvoice()),
          call(account, "POST", "/users", newUser()),
          call(account, "GET", "/users?limit=10"),
          emit(server, { account_id: account.account_id }),
        ]);
        await call(account, "GET", `/invoices/${invoice.body.id}/pdf`);
      }
    }),
  );
  await waitFor(() => received() >= before + others.length, 60_000);
  return { took_ms: performance.now() - begun_ms, refused };
}

/** What the greedy accounts do without end; returns a function that ends it. */
async function misbehave(): Promise<() => Promise<void>> {
  const nobody = "00000000-0000-7000-8000-000000000000";
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, LONG]));
  const offramps = Array.from({ length: 100 }, () => ({ payment_detail_id: nobody, metadata }));
  const large = JSON.stringify({ offramps });
  const path = `/users/${nobody}/quotes/${nobody}/offramps`;
  let is_over = false;
  const repeat = async (act: () => Promise<unknown>) => {
    while (!is_over) await act();
  };
  const running = greedy.flatMap((account) => {
    const call = (method: string, url: string, body?: unknown) =>
      server.call(method, url, body, { key: account.key });
    const pdf = async () => {
      const { body } = await call("POST", "/invoices", newInvoice());
      await call("GET", `/invoices/${body.id}/pdf`);
    };
    return [
      repeat(() => server.call("POST", path, undefined, { key: account.key, raw: large })),
      ...Array.from({ length: PDFS }, () => repeat(pdf)),
      repeat(() => call("GET", "/users?limit=100")),
    ];
  });
  for (let event = 0; event < 10; event += 1) {
    await emit(server, ...greedy.map(({ account_id }) => ({ account_id })));
  }
  return async () => {
    is_over = true;
    await Promise.all(running);
  };
}

const LONG = "v".repeat(480);

it("ten of a hundred accounts misbehave: the others are served, and wait for their turns only", async () => {
  const alone = await useAll();
  const stop = await misbehave();
  const beside = await useAll();
  await stop();
  expect([...alone.refused, ...beside.refused]).toEqual([]);
  const ratio = beside.took_ms / alone.took_ms;
  expect(ratio).toBeLessThan(RATIO_MAX);
}, 300_000);
