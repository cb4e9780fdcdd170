import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Answer, TestServer } from "../harness/server.ts";
import { startTestServer } from "../harness/server.ts";
import { deposit, findFault, good, openStory, type Story, settle } from "./story.ts";

let server: TestServer;
/** Another process on the same database, so that only the database decides who is first. */
let beside: TestServer;
beforeAll(async () => {
  const environment = { SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  beside = await startTestServer({ environment, beside: server });
});
afterAll(async () => {
  await beside.close();
  await server.close();
});

const AT_ONCE = 50;
const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

/** All at once, alternating between the processes. */
function race(count: number, call: (on: TestServer, index: number) => Promise<Answer>) {
  return Promise.all(
    Array.from({ length: count }, (_, index) => call(index % 2 === 0 ? server : beside, index)),
  );
}

function expectOneWinner(answers: readonly Answer[]): void {
  const statuses = answers.map((answer) => answer.status).sort();
  expect(statuses).toEqual([200, ...Array(answers.length - 1).fill(422)]);
}

async function register({ user_id }: Story): Promise<void> {
  const refund_address = { chain: "polygon", address: ADDRESS };
  good(await server.call("POST", `/users/${user_id}/refund_addresses`, { refund_address }));
}

describe("adding to one quote", () => {
  it("64 clients add while another executes: the total is the sum, and nothing is added afterwards", async () => {
    const story = await openStory(server);
    const path = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const add = (on: TestServer, amount: number) =>
      on.call("POST", `${path}/offramps`, {
        offramps: [
          {
            payment_detail_id: story.payment_detail_id,
            destination_amount: amount,
            destination_currency: "eur",
          },
        ],
      });
    let is_executed = false;
    const client = async (index: number) => {
      const on = index % 2 === 0 ? server : beside;
      const answers: Answer[] = [];
      for (let turn = 0; turn < 20; turn += 1) {
        const was_executed = is_executed;
        const answer = await add(on, 10 + index + turn / 100);
        if (was_executed) expect(answer.status, answer.text).toBe(422);
        answers.push(answer);
        if (answer.status !== 200) break;
      }
      return answers;
    };
    const executing = (async () => {
      while ((await story.total()) < 3_000) {}
      const executed = good(await story.execute());
      is_executed = true;
      return executed;
    })();
    const answers = (await Promise.all(Array.from({ length: 64 }, (_, i) => client(i)))).flat();
    const executed = await executing;
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.body.error_code, answer.text).toBe("quote_already_executed");
    }
    const added = answers.filter(({ status }) => status === 200).length + 1;
    const [row] = await server.db.database.query<{ count: number; sum: string }>(
      `select count(*)::int as count, sum(token_amount)::text as sum from offramps
       where quote_id = $1`,
      [story.quote_id],
    );
    expect(row!.count).toBe(added);
    expect(await story.total()).toBe(Number(row!.sum) / 1e6);
    expect(executed.quote.deposit_token_amount).toBe(Number(row!.sum) / 1e6);
    await settle(server);
    for (const id of executed.offramps.map((offramp: { id: string }) => offramp.id)) {
      await story.waitForStatus("fiat_sent", id);
    }
    expect(await findFault(server)).toBeNull();
  });

  it("5 000 items in requests of any size: the total is the sum of the items, and one more is refused", async () => {
    const story = await openStory(server, [{ amount: 1 }]);
    const sizes = cutUp(4_999);
    const items = sizes.map((size) =>
      Array.from({ length: size }, () => ({ amount: (100 + randomBelow(99_900)) / 100 })),
    );
    const made = [(await story.show()) as Made];
    // A few at a time, so that they overtake each other.
    const queue = [...items];
    const client = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        made.push(...good(await story.add(story.quote_id, next)).offramps);
      }
    };
    await Promise.all([client(), client(), client(), client()]);
    const sum = made.reduce((total, offramp) => total + tokensOf(offramp), 0n);
    expect(made.length).toBe(5_000);
    expect(await story.total()).toBe(Number(sum) / 1e6);
    const refused = await story.add(story.quote_id, [{ amount: 1 }]);
    expect(refused.body.errors).toMatchObject([{ field: "offramps", code: "record_invalid" }]);
    expect(await findFault(server)).toBeNull();
  });
});

describe("one balance", () => {
  it("of 50 refunds of the whole balance, one succeeds", async () => {
    const story = await openStory(server);
    await deposit(server, { quote_id: story.quote_id, amount: 100 });
    await register(story);
    const refund = { token: "usdc", chain: "polygon", amount: 100, address: ADDRESS };
    expectOneWinner(
      await race(AT_ONCE, (on) => on.call("POST", `/users/${story.user_id}/refunds`, { refund })),
    );
    expect(await story.owed()).toBe(0);
    await settle(server);
    expect(await findFault(server)).toBeNull();
  });

  it("of 50 quotes funded from it, or one quote funded 50 times, one call succeeds", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount: amount * 2 });
    expectOneWinner(
      await race(AT_ONCE, (on) =>
        on.call("POST", `/users/${story.user_id}/quotes/${story.quote_id}/fund`),
      ),
    );
    const quotes = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const quote_id = await story.addQuote();
        good(await story.add(quote_id, [{ amount: 1000 }]));
        return quote_id;
      }),
    );
    expectOneWinner(
      await race(AT_ONCE, (on, index) =>
        on.call("POST", `/users/${story.user_id}/quotes/${quotes[index]}/fund`),
      ),
    );
    expect(await story.owed()).toBe(0);
    await settle(server);
    expect(await findFault(server)).toBeNull();
  });

  it("refunds, fundings and an execution at once spend it only once", async () => {
    const story = await openStory(server);
    const amount = await story.total();
    await deposit(server, { quote_id: story.quote_id, amount });
    await register(story);
    const other = await story.addQuote();
    good(await story.add(other, [{ amount: 1000 }]));
    const refund = { token: "usdc", chain: "polygon", amount, address: ADDRESS };
    const execution = story.execute();
    const answers = await race(AT_ONCE, (on, index) =>
      index % 3 === 0
        ? on.call("POST", `/users/${story.user_id}/refunds`, { refund })
        : on.call("POST", `/users/${story.user_id}/quotes/${other}/fund`),
    );
    await execution;
    await settle(server);
    const won = answers.filter((answer) => answer.status === 200).length;
    expect(answers.every(({ status }) => status === 200 || status === 422)).toBe(true);
    const { status } = await story.show();
    // Either one of them succeeded and the quote waits, or it was faster than all of them.
    expect(won).toBe(["initiated", "ongoing_checks"].includes(status) ? 1 : 0);
    expect(await story.owed()).toBe(0);
    expect(await findFault(server)).toBeNull();
  });
});

describe("one bounced offramp", () => {
  it("of 50 re-routes one succeeds, and it is paid once more", async () => {
    const story = await openBounced();
    const path = `/users/${story.user_id}/offramps/${story.offramp_id}/reroute`;
    const body = { offramp: { payment_detail_id: story.payment_detail_id } };
    expectOneWinner(await race(AT_ONCE, (on) => on.call("POST", path, body)));
    await settle(server);
    const payouts = await server.db.database.query(
      "select attempt from payouts where offramp_id = $1",
      [story.offramp_id],
    );
    expect(payouts.length).toBe(2);
    expect(await findFault(server)).toBeNull();
  });

  it("of 50 re-routes and refunds one succeeds", async () => {
    const story = await openBounced();
    const path = `/users/${story.user_id}/offramps/${story.offramp_id}`;
    const body = { offramp: { payment_detail_id: story.payment_detail_id } };
    expectOneWinner(
      await race(AT_ONCE, (on, index) =>
        index % 3 === 0
          ? on.call("POST", `${path}/refund`)
          : on.call("POST", `${path}/reroute`, body),
      ),
    );
    await settle(server);
    expect(await findFault(server)).toBeNull();
  });
});

async function openBounced(): Promise<Story> {
  const story = await openStory(server);
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  const offramp = { status: "bounced" };
  good(await server.call("PATCH", `/sandbox/offramps/${story.offramp_id}`, { offramp }));
  await settle(server);
  return story;
}

type Made = { destination_amount: number; fee: number; rate: number };

/** The cost of one item by the contract: rounded up to the sixth decimal. */
function tokensOf({ destination_amount, fee, rate }: Made): bigint {
  const minor = BigInt(Math.round(destination_amount * 100)) + BigInt(Math.round(fee * 100));
  const [whole = "", decimals = ""] = String(rate).split(".");
  const rate_units = BigInt(whole + decimals);
  const numerator = minor * 10n ** BigInt(decimals.length + 4);
  return (numerator + rate_units - 1n) / rate_units;
}

/** Random parts of 1 to 500 that add up to the whole. */
function cutUp(whole: number): number[] {
  const parts: number[] = [];
  for (let rest = whole; rest > 0; rest -= parts.at(-1)!) {
    parts.push(Math.min(rest, 1 + randomBelow(500)));
  }
  return parts;
}

function randomBelow(limit: number): number {
  return Math.floor(Math.random() * limit);
}
