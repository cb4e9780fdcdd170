import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openDatabase } from "../../src/platform/db/database.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import type { TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good } from "../offramps/story.ts";
import { createRandom } from "../simulation/random.ts";
import { type MortalService, PARTS, startMortalService } from "./mortal-service.ts";

/** `npm run kills` plays a thousand. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 6);
const SEED = Number(process.env.KILL_SEED ?? 1);
const CALLERS = 3;
const ROUND_MAX_MS = 1_500;
const SETTLED_MAX_MS = 120_000;
const REFUND_ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const DOCUMENT = Buffer.concat([Buffer.from("%PDF-1.7 invented\n"), Buffer.alloc(300_000, 32)]);

/** What must have happened in the end, whatever was killed. */
type Expected = { user_id: string; paid: string[]; bounced: string; refunded: number };

let service: MortalService;
let server: TestServer;
beforeAll(async () => {
  service = await startMortalService({ SLIPROAD_DOCUMENTS: "never" });
  server = service as unknown as TestServer;
}, 120_000);
afterAll(() => service.close());

it(
  `loses and doubles nothing in ${ROUNDS} kills of the API, the worker and PostgreSQL`,
  async () => {
    const random = createRandom(SEED);
    const expected: Expected[] = [];
    let is_over = false;
    const callers = Array.from({ length: CALLERS }, async () => {
      while (!is_over) expected.push(await playStory());
    });
    const killed: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await service.untilReady();
      await sleep(random.below(ROUND_MAX_MS));
      const part = random.pick(PARTS);
      service.kill(part);
      killed.push(part);
    }
    is_over = true;
    await Promise.all(callers);
    for (const story of expected) await expectStory(story);
    await expectNothingTwice(expected);
    const verified = await service.run("verify");
    expect(verified.stderr + verified.stdout).toContain("no problems found");
    console.log(`${killed.length} kills, ${expected.length} stories of 4 payouts, seed ${SEED}`);
  },
  ROUNDS * 20_000 + 2 * SETTLED_MAX_MS,
);

/** Three payouts, and one that comes back and whose coins are returned; a document each. */
async function playStory(): Promise<Expected> {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const item = { payment_detail_id, destination_amount: 100, destination_currency: "eur" };
  const returned = { ...item, metadata: { sandbox_outcome: "bounced" } };
  const path = `/users/${user_id}`;
  const offramps = [item, item, item, returned];
  const made = good(await server.call("POST", `${path}/quotes/${quote_id}/offramps`, { offramps }));
  const ids: string[] = made.offramps.map(({ id }: { id: string }) => id);
  for (const id of ids) await upload(id);
  expect((await execute(server, user_id, quote_id)).status).toBe(200);
  const bounced = ids.pop()!;
  await waitFor(async () => (await statusOf(user_id, bounced)) === "bounced", SETTLED_MAX_MS);
  good(await server.call("POST", `${path}/offramps/${bounced}/refund`));
  const refund_address = { chain: "polygon", address: REFUND_ADDRESS };
  good(await server.call("POST", `${path}/refund_addresses`, { refund_address }));
  const { balances } = good(await server.call("GET", `${path}/balances`));
  const { amount } = balances.find(({ currency }: { currency: string }) => currency === "usdc");
  const refund = { token: "usdc", chain: "polygon", amount, address: REFUND_ADDRESS };
  good(await server.call("POST", `${path}/refunds`, { refund }));
  return { user_id, paid: ids, bounced, refunded: amount };
}

async function upload(offramp_id: string): Promise<void> {
  const boundary = "invented";
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n`;
  const raw = Buffer.concat([
    Buffer.from(`${head}content-type: application/pdf\r\n\r\n`),
    DOCUMENT,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
  const path = `/offramps/${offramp_id}/supporting-documents`;
  good(await server.call("POST", path, undefined, { raw, headers }));
}

async function statusOf(user_id: string, id: string): Promise<string> {
  return (await show(user_id, id)).status;
}

async function show(user_id: string, id: string) {
  return good(await server.call("GET", `/users/${user_id}/offramps/${id}`)).offramp;
}

async function expectStory({ user_id, paid, bounced, refunded }: Expected): Promise<void> {
  for (const id of paid) {
    await waitFor(async () => (await statusOf(user_id, id)) === "fiat_sent", SETTLED_MAX_MS);
  }
  expect(await statusOf(user_id, bounced)).toBe("failed");
  for (const id of [...paid, bounced]) {
    const { supporting_document } = await show(user_id, id);
    expect(supporting_document.submitted_url).toContain(id);
  }
  const refunds = await waitFor(async () => {
    const all = good(await server.call("GET", `/users/${user_id}/refunds`)).refunds;
    return all.every(({ status }: { status: string }) => status === "sent") && all;
  }, SETTLED_MAX_MS);
  expect(refunds).toMatchObject([{ amount: refunded }]);
}

/** Neither at the bank and the chain, nor among the records. */
async function expectNothingTwice(expected: readonly Expected[]): Promise<void> {
  const database = openDatabase({ url: service.database_url, connections_max: 1 });
  const count = async (what: string) => {
    const [row] = await database.query<{ count: bigint }>(`select count(*) from ${what}`);
    return Number(row!.count);
  };
  try {
    const stories = expected.length;
    expect(await count("users")).toBe(stories);
    expect(await count("offramps")).toBe(4 * stories);
    expect(await count("refunds")).toBe(stories);
    const booked = await database.query<{ id: string }>(
      "select left(end_to_end_id, 32) as id from sandbox_bank_answers where kind = 'booked'",
    );
    const paid = expected.flatMap((story) => [...story.paid, story.bounced]);
    const ids = paid.map((id) => id.replaceAll("-", ""));
    expect(booked.map(({ id }) => id).sort()).toEqual(ids.sort());
  } finally {
    await database.close();
  }
}
