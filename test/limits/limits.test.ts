import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REFUNDS } from "../../src/balances/refund-store.ts";
import { EVERY, type LimitRule } from "../../src/limits/model.ts";
import { setLimit } from "../../src/limits/set-limit.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { firstIdAt } from "../../src/platform/ids.ts";
import { addOwedUser } from "../approvals/proposal-fixture.ts";
import { startCuttingProxy } from "../harness/cutting-proxy.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, openStory, settle } from "../offramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

type Wanted = Pick<LimitRule, "scope" | "time_window"> & Partial<LimitRule>;

/** Sets a limit of the first account for the length of a test. */
async function withLimit(wanted: Wanted, work: () => Promise<void>): Promise<void> {
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason: "test" } as const;
  const rule: LimitRule = {
    account_id: server.account_id,
    user_id: EVERY,
    amount_max: null,
    count_max: null,
    ...wanted,
  };
  await database.transaction(async (tx) => setLimit(tx, rule, by, clock.now()));
  try {
    await work();
  } finally {
    const removed = { ...rule, amount_max: null, count_max: null };
    await database.transaction(async (tx) => setLimit(tx, removed, by, clock.now()));
    await server.call("POST", "/sandbox/clock", { advance_ms: 31 * DAY_MS });
  }
}

const problemIn = (answer: Answer): string => {
  expect(answer.status, answer.text).toBe(422);
  expect(answer.body.error_code).toBe("limit_exceeded");
  return answer.body.errors[0].message;
};

/** A user with a bank account in usd, and a quote that pays the amount to it. */
async function addPayout(amount: number, metadata: Record<string, string> = {}) {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd");
  const quote = await addUsdQuote(user_id, payment_detail_id, amount, metadata);
  return { user_id, payment_detail_id, ...quote };
}

async function addUsdQuote(
  user_id: string,
  payment_detail_id: string,
  destination_amount: number,
  metadata: Record<string, string> = {},
) {
  const quote_id = await addQuote(server, user_id);
  const money = { destination_amount, destination_currency: "usd" };
  const offramp = { payment_detail_id, ...money, metadata };
  const added = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [offramp],
  });
  expect(added.status, added.text).toBe(200);
  const offramp_id: string = added.body.offramps[0].id;
  return { quote_id, offramp_id, execute: () => execute(server, user_id, quote_id) };
}

const listLimits = async (query = "") => (await server.call("GET", `/limits${query}`)).body.limits;

it("without a limit everything goes and the list is empty", async () => {
  expect(await listLimits()).toEqual([]);
  expect((await (await addPayout(9000)).execute()).status).toBe(200);
});

it("of fifty callers at the edge exactly those that fit go through", async () => {
  const payouts = await Promise.all(Array.from({ length: 50 }, () => addPayout(100)));
  await withLimit({ scope: "account", time_window: "30_days", amount_max: 2_000_00n }, async () => {
    for (const user_id of ["", "x", crypto.randomUUID()]) {
      expect((await server.call("GET", `/limits?user_id=${user_id}`)).status).toBe(404);
    }
    const { limits } = (await server.call("GET", "/limits")).body;
    const left = limits[0].left as number;
    const answers = await Promise.all(payouts.map((payout) => payout.execute()));
    const gone = answers.filter(({ status }) => status === 200).length;
    expect(gone).toBe(Math.floor(left / 100));
    const refused = answers.find(({ status }) => status === 422)!;
    expect(problemIn(refused)).toContain("The limit of the account in 30 days is 2000 usd");
    expect((await listLimits())[0]).toMatchObject({
      scope: "account",
      window: "30_days",
      amount_max: 2000,
      left: left - 100 * gone,
    });
  });
});

it("a single payment above the limit is refused, at it it passes", async () => {
  await withLimit({ scope: "payout", time_window: "single", amount_max: 500_00n }, async () => {
    expect((await (await addPayout(500)).execute()).status).toBe(200);
    const message = problemIn(await (await addPayout(500.01)).execute());
    expect(message).toContain("at most 500 usd");
  });
});

it("a user's sum counts payouts, refunds and onramps, and frees by itself", async () => {
  await withLimit({ scope: "user", time_window: "day", amount_max: 300_00n }, async () => {
    const { user_id, ...user } = await addOwedUser(server, 1000);
    expect((await user.refund(200)).status).toBe(200);
    const onramp = {
      destination_amount: 101,
      crypto_currency: "usdc",
      crypto_rails: "polygon",
      destination_address: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      fiat_currency: "usd",
      fiat_rails: "ach_push",
    };
    const refused = await server.call("POST", `/users/${user_id}/onramps`, { onramp });
    const message = problemIn(refused);
    expect(message).toContain("100 usd are left");
    const [frees_at = ""] = /\d{4}-\S+Z/.exec(message) ?? [];
    const wait_ms = Date.parse(frees_at) - server.core.clock.now().getTime();
    expect(await listLimits(`?user_id=${user_id}`)).toMatchObject([{ used: 200, left: 100 }]);
    await server.call("POST", "/sandbox/clock", { advance_ms: wait_ms - MINUTE_MS });
    expect((await user.refund(101)).status).toBe(422);
    await server.call("POST", "/sandbox/clock", { advance_ms: MINUTE_MS });
    expect((await user.refund(101)).status).toBe(200);
  });
});

it("a payee is the bank account, whichever users and payment details name it", async () => {
  await withLimit({ scope: "payee", time_window: "day", amount_max: 250_00n }, async () => {
    expect((await (await addPayout(200)).execute()).status).toBe(200);
    expect(problemIn(await (await addPayout(51)).execute())).toContain("payee");
    expect((await (await addPayout(50)).execute()).status).toBe(200);
  });
});

describe("a payee's limit is not evaded", () => {
  const DE_IBAN = "DE89370400440532013000";
  const payOther = async (user_id: string, more: Record<string, string>) => {
    const payment_detail_id = await addPaymentDetail(server, user_id, "usd", more);
    return addUsdQuote(user_id, payment_detail_id, 51);
  };

  it("by another spelling of the account, another routing number, or details from before", async () => {
    const first = await addPayout(200);
    await server.db.database.query(
      "update payment_details set payee_index = null where account_id = $1",
      [server.account_id],
    );
    // The task that fills it in runs every hour.
    await server.call("POST", "/sandbox/clock", { advance_ms: HOUR_MS });
    const { user_id, payment_detail_id } = first;
    await withLimit({ scope: "payee", time_window: "day", amount_max: 250_00n }, async () => {
      const again = await addUsdQuote(user_id, payment_detail_id, 200);
      expect((await again.execute()).status).toBe(200);
      const others: Record<string, string>[] = [
        { account_number: "123456789" },
        { account_number: "000-123 456 789" },
        { routing_number: "026009593" },
        { account_number: "00123456789", swift_bic: "CITIUS33" },
      ];
      const refused = await Promise.all(
        others.map(async (more) => (await payOther(user_id, more)).execute()),
      );
      for (const answer of refused) expect(problemIn(answer)).toContain("payee");
      const free = await payOther(user_id, { account_number: "987654321" });
      expect((await free.execute()).status).toBe(200);
    });
  });

  it("by paying the IBAN in one currency and the account number in another", async () => {
    const user_id = await addApprovedUser(server);
    const eur = await addPaymentDetail(server, user_id, "eur");
    await withLimit({ scope: "payee", time_window: "day", amount_max: 250_00n }, async () => {
      const quote_id = await addQuote(server, user_id);
      const offramp = {
        payment_detail_id: eur,
        destination_amount: 200,
        destination_currency: "eur",
      };
      const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
      expect((await server.call("POST", path, { offramps: [offramp] })).status).toBe(200);
      expect((await execute(server, user_id, quote_id)).status).toBe(200);
      for (const account_number of [DE_IBAN, "0532013000"]) {
        const swift = { rails: "swift", swift_bic: "DEUTDEFF", account_number };
        const payment_detail_id = await addPaymentDetail(server, user_id, "usd", swift);
        const other = await addQuote(server, user_id);
        const money = { destination_amount: 60, destination_currency: "usd" };
        const supporting_document_attributes = { submitted_url: "https://files.test/invoice.pdf" };
        const added = await server.call("POST", `/users/${user_id}/quotes/${other}/offramps`, {
          offramps: [{ payment_detail_id, ...money, supporting_document_attributes }],
        });
        expect(added.status, added.text).toBe(200);
        expect(problemIn(await execute(server, user_id, other))).toContain("payee");
      }
    });
  });
});

describe("one cent that comes back", () => {
  const giveBack = (offramp_id: string, cents: bigint) =>
    server.db.database.query(
      `insert into sandbox_bank_answers
         (account_id, end_to_end_id, bank_reference, kind, amount, currency)
       values ($1, $2, $3, 'returned', $4, 'usd')`,
      [
        ...[server.account_id, `${offramp_id.replaceAll("-", "")}001`],
        ...[`cents-${offramp_id}`, cents],
      ],
    );

  it.each(["user", "account", "payee"] as const)("frees one cent of a limit: %s", async (scope) => {
    const rule = { scope, time_window: "day", amount_max: 1000_00n, count_max: 2 } as const;
    await withLimit(rule, async () => {
      const payout = await addPayout(900);
      expect((await payout.execute()).status).toBe(200);
      const path = `/users/${payout.user_id}/offramps/${payout.offramp_id}`;
      const reach = (status: string) =>
        waitFor(async () => (await server.call("GET", path)).body.offramp.status === status);
      await reach("fiat_sent");
      await giveBack(payout.offramp_id, 1n);
      await server.call("POST", "/sandbox/clock", { advance_ms: 2_000 });
      await reach("bounced");
      const ask = async (amount: number) => {
        const { user_id, payment_detail_id } = payout;
        return (await addUsdQuote(user_id, payment_detail_id, amount)).execute();
      };
      expect(problemIn(await ask(100.02))).toContain("are left");
      expect((await server.call("POST", `${path}/refund`)).status).toBe(200);
      const message = problemIn(await ask(100.02));
      expect(message).toContain("100.01 usd are left. This request fits from");
      expect((await ask(100.01)).status).toBe(200);
    });
  });
});

it("a number of payments can be limited, and a failed payout frees its share", async () => {
  await withLimit({ scope: "account", time_window: "day", count_max: 1 }, async () => {
    const story = await openStory(server, [
      { amount: 50, metadata: { sandbox_outcome: "failed" } },
    ]);
    expect((await story.execute()).status).toBe(200);
    expect(problemIn(await (await addPayout(20)).execute())).toContain("0 are left");
    await story.waitForStatus("failed");
    expect((await (await addPayout(20)).execute()).status).toBe(200);
  });
});

it("a rule of a user goes before one of the account", async () => {
  const payout = await addPayout(80);
  await withLimit({ scope: "user", time_window: "day", amount_max: 1_00n }, async () => {
    problemIn(await payout.execute());
    const { user_id } = payout;
    const own = { scope: "user", time_window: "day", amount_max: 100_00n, user_id } as const;
    await withLimit(own, async () => {
      const again = await addUsdQuote(user_id, payout.payment_detail_id, 80);
      expect((await again.execute()).status).toBe(200);
    });
  });
});

describe("open quotes", () => {
  it("their sum stops new quotes and executions, not the adding of offramps", async () => {
    const first = await addPayout(300);
    await withLimit(
      { scope: "open_quotes", time_window: "single", amount_max: 400_00n },
      async () => {
        const second = await addPayout(90);
        const other = await addUsdQuote(second.user_id, second.payment_detail_id, 200);
        const refused = await server.call("POST", `/users/${first.user_id}/quotes`, {
          quote: { deposit_token: "usdc", deposit_token_chain: "polygon" },
        });
        expect(problemIn(refused)).toContain("open quotes");
        problemIn(await other.execute());
      },
    );
  });
});

it("re-routes of old payouts count for the payee when they happen, also at the same time", async () => {
  const bounced = await Promise.all(
    [100, 100, 100].map(async (amount) => {
      const payout = await addPayout(amount, { sandbox_outcome: "bounced" });
      expect((await payout.execute()).status).toBe(200);
      const { user_id } = payout;
      const other = { account_number: "000987654321" };
      const payment_detail_id = await addPaymentDetail(server, user_id, "usd", other);
      const path = `/users/${user_id}/offramps/${payout.offramp_id}`;
      await waitFor(async () => {
        const { offramp } = (await server.call("GET", path)).body;
        return offramp.status === "bounced";
      });
      return { path, payment_detail_id };
    }),
  );
  await server.call("POST", "/sandbox/clock", { advance_ms: 2 * DAY_MS });
  await withLimit({ scope: "payee", time_window: "day", amount_max: 250_00n }, async () => {
    const reroute = ({ path, payment_detail_id }: (typeof bounced)[number]) =>
      server.call("POST", `${path}/reroute`, { offramp: { payment_detail_id } });
    const answers = await Promise.all(bounced.map(reroute));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 422]);
    const refused = answers.findIndex(({ status }) => status === 422);
    expect(problemIn(answers[refused]!)).toContain("50 usd are left");
    expect(problemIn(await reroute(bounced[refused]!))).toContain("50 usd are left");
  });
});

it("a sum beyond 64 bits is a sum like any other", async () => {
  const [first, second] = [await addOwedUser(server, 100), await addOwedUser(server, 100)];
  const ids: string[] = [];
  for (const user of [first, second]) ids.push((await user.refund(50)).body.refund.id);
  const setAmounts = async (amount: bigint) => {
    const set = "update refunds set amount = $2 where id = any($1)";
    await server.db.database.query(set, [ids, amount]);
    await vouch(server.db.database, REFUNDS);
  };
  await settle(server);
  await withLimit({ scope: "account", time_window: "day", amount_max: 10n ** 15n }, async () => {
    // More than one request may ask for, so that two are enough.
    await setAmounts(9n * 10n ** 18n);
    const refused = problemIn(await first.refund(6));
    expect(refused).toContain("is 10000000000000 usd: 0 usd are left. This request fits from");
    expect((await listLimits())[0]).toMatchObject({ used: 18_000_000_000_000, left: 0 });
    await setAmounts(50_000_000n);
    expect((await first.refund(6)).status).toBe(200);
  });
});

it("far above a limit the refusal names the hour from which a request fits", async () => {
  const user = await addOwedUser(server, 100);
  const { id } = (await user.refund(1)).body.refund;
  await settle(server);
  // 600 more like it, a minute apart.
  const first_ms = server.core.clock.now().getTime() - 20 * HOUR_MS;
  const times = Array.from({ length: 600 }, (_, at) => new Date(first_ms + at * MINUTE_MS));
  const columns = await server.db.database.query<{ name: string }>(
    "select column_name as name from information_schema.columns where table_name = 'refunds'",
  );
  const names = columns.map(({ name }) => name);
  const values = names.map((name) =>
    ["id", "created_at"].includes(name) ? `t.${name}` : `r.${name}`,
  );
  await server.db.database.query(
    `insert into refunds (${names}) select ${values} from refunds r,
       unnest($2::uuid[], $3::timestamptz[]) as t (id, created_at) where r.id = $1`,
    [id, times.map(firstIdAt), times],
  );
  await vouch(server.db.database, REFUNDS);
  await withLimit({ scope: "user", time_window: "day", count_max: 50 }, async () => {
    const [limit] = await listLimits(`?user_id=${user.user_id}`);
    expect(limit).toMatchObject({ used_count: 601, left_count: 0 });
    const message = problemIn(await user.refund(1));
    const [frees_at = ""] = /\d{4}-\S+Z/.exec(message) ?? [];
    // 552 of the 601 have to leave; the last of them leaves a day after it was made.
    const leaves_ms = times[551]!.getTime() + DAY_MS;
    expect(Date.parse(frees_at)).toBeGreaterThanOrEqual(leaves_ms);
    expect(Date.parse(frees_at)).toBeLessThanOrEqual(leaves_ms + HOUR_MS);
  });
  await server.db.database.query("delete from refunds where id = any($1)", [times.map(firstIdAt)]);
});

it("an execution whose commit is lost counts once, like one whose answer is lost", async () => {
  const proxy = await startCuttingProxy(server.db.url);
  const beside = { ...server, db: { ...server.db, url: proxy.url } };
  const other = await startTestServer({ beside, environment: { SLIPROAD_DOCUMENTS: "never" } });
  await withLimit({ scope: "account", time_window: "day", amount_max: 250_00n }, async () => {
    for (const [at, how] of (["lose_commit", "lose_answer"] as const).entries()) {
      const { user_id, quote_id } = await addPayout(100);
      proxy.spoil({ matches: (statement) => statement.includes("update quotes"), how });
      const answer = await execute(other, user_id, quote_id);
      expect(answer.status, answer.text).toBe(200);
      expect(proxy.cuts()).toBe(at + 1);
      expect((await listLimits())[0]).toMatchObject({ used: 100 * (at + 1), used_count: at + 1 });
    }
    expect(problemIn(await (await addPayout(51)).execute())).toContain("50 usd are left");
  });
  await other.close();
  await proxy.close();
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
