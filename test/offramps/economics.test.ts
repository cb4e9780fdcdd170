import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { createRandom } from "../simulation/random.ts";
import { advance, deposit, findFault, openStory, type Story, settle } from "./story.ts";

/** `npm run economics` takes more steps; a seed repeats a walk. */
const STEPS = Number(process.env.ECONOMICS_STEPS ?? 30);
const SEED = Number(process.env.ECONOMICS_SEED ?? 20_261_116);

const rates = createTestRates({ eur: "0.8" });
let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: rates.environment,
    partners: ({ database }) => ({ chain: createSandboxChain(database), bank: bank.port }),
  });
});
afterAll(() => server.close());

type User = {
  user_id: string;
  /** All in millionths. */
  arrived: string;
  owed: string;
  refunded: string;
  in_payouts: string;
  shortfall: string;
};

/**
 * What came in for each user, and what the user holds or has received: the balance, refunds, and
 * payouts that were made or are still to be made. A payout that failed counts with what the bank
 * did not return, at the quote's rate.
 */
function listUsers(): Promise<User[]> {
  return server.db.database.query<User>(
    `select u.id as user_id,
       (select coalesce(sum(amount), 0) from deposits d where d.user_id = u.id)::text as arrived,
       (select coalesce(sum(balance), 0) from ledger_balances b
         where b.ledger_account like 'owed:' || u.id || ':%')::text as owed,
       (select coalesce(sum(amount), 0) from refunds r
         where r.user_id = u.id and r.status <> 'failed')::text as refunded,
       (select coalesce(sum(case
           when o.status <> 'failed' then o.token_amount
           when o.refund_rate is not null then floor((o.destination_amount - least(
             o.destination_amount, (select returned_amount from payouts p
               where p.offramp_id = o.id and returned_amount is not null
               order by attempt desc limit 1))) * 10000 / o.rate)
           else 0 end), 0)
         from offramps o where o.user_id = u.id and o.funded_at is not null)::text as in_payouts,
       (select coalesce(sum(shortfall), 0) from quotes q where q.user_id = u.id)::text as shortfall
     from users u`,
  );
}

async function checkHoldings(context: string): Promise<void> {
  for (const user of await listUsers()) {
    const held = BigInt(user.owed) + BigInt(user.refunded) + BigInt(user.in_payouts);
    expect(held <= BigInt(user.arrived) + BigInt(user.shortfall), `${context}: ${held}`).toBe(true);
  }
}

/** 40 basis points, rounded up to the cent, for every payout that was instructed and not reversed. */
async function checkFees(context: string): Promise<void> {
  const [row] = await server.db.database.query<{ expected: string; earned: string }>(
    `select (select coalesce(sum(ceil(destination_amount * 0.004)), 0) from offramps
         where attempt > 0 and (status <> 'failed' or refund_rate is not null))::text as expected,
       (select coalesce(-sum(amount), 0) from ledger_lines
         where ledger_account = 'fees' and currency = 'eur')::text as earned`,
  );
  expect(row!.earned, context).toBe(row!.expected);
  const excessive = await server.db.database.query(
    "select id from quotes where shortfall > least(10000, token_fees / 10)",
  );
  expect(excessive, context).toEqual([]);
}

it("no user ever holds more than came in, and fees are what the table says", async () => {
  const random = createRandom(SEED);
  const stories: Story[] = [];
  const attempts = new Map<string, number>();
  const pick = () => stories[random.below(stories.length)]!;
  const pickId = (story: Story) => story.offramp_ids[random.below(story.offramp_ids.length)]!;
  // Whatever is refused moves nothing; what is accepted is checked below.
  const actions: Record<string, () => Promise<unknown>> = {
    quote: async () => {
      const items = Array.from({ length: 1 + random.below(2) }, () => {
        return { amount: (2_000 + random.below(45_000)) / 100 };
      });
      stories.push(await openStory(server, items));
    },
    pay: async () => {
      const story = pick();
      const total = await story.total();
      const amounts = [total, total, total - 0.01, total - 1, total * 0.95, total / 2, total + 5];
      const amount = Math.round(amounts[random.below(amounts.length)]! * 1e6) / 1e6;
      await deposit(server, { quote_id: story.quote_id, amount });
      await story.execute();
    },
    top_up: () => deposit(server, { quote_id: pick().quote_id, amount: 1 + random.below(50) }),
    fund: () => {
      const story = pick();
      return story.fund(story.quote_id);
    },
    upload: async () => {
      const story = pick();
      await story.upload(pickId(story));
    },
    refund: () => {
      const story = pick();
      return story.giveUp(pickId(story));
    },
    return: async () => {
      const story = pick();
      const id = pickId(story);
      const { status } = await story.show(id);
      if (status !== "fiat_sent") return;
      const attempt = (attempts.get(id) ?? 0) + 1;
      const end_to_end_id = `${id.replaceAll("-", "")}00${attempt}`;
      const sent = bank.known.get(end_to_end_id);
      if (!sent) return;
      attempts.set(id, attempt);
      bank.say(end_to_end_id, "returned", { amount: sent.amount - BigInt(random.below(3)) * 50n });
      await advance(server, 2_000);
    },
    reroute: () => {
      const story = pick();
      return story.reroute(story.payment_detail_id, pickId(story));
    },
    withdraw: async () => {
      const story = pick();
      const owed = await story.owed();
      if (owed > 1) await story.takeOut(Math.floor(owed)).catch(() => {});
    },
    rate: () => rates.set(server, { eur: (0.79 + random.below(21) / 1000).toFixed(3) }),
    time: async () => {
      const spans = [10 * MINUTE_MS, 45 * MINUTE_MS, 2 * HOUR_MS, 30 * HOUR_MS];
      await advance(server, spans[random.below(spans.length)]!);
    },
  };
  const names = ["quote", "pay", "pay", "upload", ...Object.keys(actions)];
  await actions.quote!();
  for (let step = 0; step < STEPS; step += 1) {
    const name = names[random.below(names.length)]!;
    const context = `seed ${SEED}, step ${step}, ${name}`;
    await actions[name]!();
    await settle(server);
    await checkHoldings(context);
    await checkFees(context);
  }
  // In the end nothing waits: every payout was made or has failed.
  for (let round = 0; round < 3; round += 1) await advance(server, 73 * HOUR_MS);
  const waiting = await server.db.database.query(
    "select id, status from offramps where status not in ('fiat_sent', 'failed')",
  );
  expect(waiting).toEqual([]);
  await checkHoldings("at the end");
  await checkFees("at the end");
  expect(await findFault(server)).toBeNull();
}, 3_600_000);
