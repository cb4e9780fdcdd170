import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { minOf } from "../../src/platform/money.ts";
import { createTestRates } from "../harness/rates.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { createRandom } from "../simulation/random.ts";
import {
  type BankRecord,
  CURRENCIES,
  FIRST_RATES,
  openWorld,
  TOKEN_RATES,
} from "./economics-world.ts";
import { findFault, settle } from "./story.ts";

/** `npm run economics` takes more steps; a seed repeats a walk. */
const STEPS = Number(process.env.ECONOMICS_STEPS ?? 30);
const SEED = Number(process.env.ECONOMICS_SEED ?? 20_261_116);

const rates = createTestRates(FIRST_RATES);
const token_rates = join(mkdtempSync(join(tmpdir(), "sliproad-rates-")), "tokens.json");
let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  writeFileSync(token_rates, JSON.stringify({ rates: TOKEN_RATES }));
  bank = createScriptedBank();
  server = await startTestServer({
    environment: {
      ...rates.environment,
      SLIPROAD_TOKEN_RATES_FILE: token_rates,
      SLIPROAD_APPROVAL_ABOVE_USD: "6000",
    },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());

type OfframpRow = {
  id: string;
  holder: string;
  status: string;
  attempt: number;
  token_amount: bigint;
  rate: string;
  destination_currency: keyof typeof CURRENCIES;
  destination_amount: bigint;
  is_funded: boolean;
  is_refunded_after_return: boolean;
  return_costs: bigint;
  approved_reroutes: number;
};

function listOfframps(): Promise<OfframpRow[]> {
  return server.db.database.query<OfframpRow>(
    `select o.id, o.user_id || ' ' || o.deposit_token as holder, o.status, o.attempt,
       o.token_amount, o.rate::text as rate, o.destination_currency, o.destination_amount,
       o.funded_at is not null as is_funded, o.refund_rate is not null as is_refunded_after_return,
       (select coalesce(sum(l.amount), 0) from ledger_lines l
         join ledger_entries e on e.account_id = l.account_id and e.id = l.entry_id
         where l.ledger_account = 'return_costs'
           and split_part(e.key, ':', 2) = o.id::text)::bigint as return_costs,
       (select count(*) from proposals p where p.record_id = o.id and p.status = 'done'
         and p.kind = 'reroute-offramps')::int as approved_reroutes
     from offramps o`,
  );
}

type Holder = { holder: string; arrived: bigint; held: bigint; shortfall: bigint };

/** What came in for each user in each token, what the user has of it, and what we let pass. */
function listHolders(): Promise<Holder[]> {
  return server.db.database.query<Holder>(
    `select u.id || ' ' || t.token as holder,
       (select coalesce(sum(amount), 0) from deposits d
         where d.user_id = u.id and d.token = t.token)::bigint as arrived,
       ((select coalesce(sum(balance), 0) from ledger_balances b
           where b.ledger_account like 'owed:' || u.id || ':%' and b.currency = t.token)
         + (select coalesce(sum(amount), 0) from refunds r
           where r.user_id = u.id and r.token = t.token and r.status <> 'failed'))::bigint as held,
       (select coalesce(sum(shortfall), 0) from quotes q
         where q.user_id = u.id and q.deposit_token = t.token)::bigint as shortfall
     from users u, unnest($1::text[]) as t (token)`,
    [Object.keys(TOKEN_RATES)],
  );
}

/** An amount in millionths of a token at the promised rate, rounded down. */
function tokensOf({ rate, destination_currency }: OfframpRow, minor: bigint): bigint {
  const [whole, decimals = ""] = rate.split(".");
  const digits = CURRENCIES[destination_currency].digits;
  const numerator = minor * 10n ** BigInt(6 + decimals.length);
  return numerator / (BigInt(whole + decimals) * 10n ** BigInt(digits));
}

/** What the payee has: the bank's own record, not ours. */
function deliveredTo(offramp: OfframpRow, paid: ReadonlyMap<string, BankRecord>): bigint {
  const prefix = offramp.id.replaceAll("-", "");
  let sum = 0n;
  for (let attempt = 1; attempt <= offramp.attempt; attempt += 1) {
    const record = paid.get(`${prefix}${String(attempt).padStart(3, "0")}`);
    if (record?.is_booked) sum += record.amount - record.returned;
  }
  return sum;
}

/** What banks have kept of the attempts before the last one, by their own record. */
function keptOf(offramp: OfframpRow, paid: ReadonlyMap<string, BankRecord>): bigint {
  return deliveredTo({ ...offramp, attempt: offramp.attempt - 1 }, paid);
}

/**
 * A user holds the balance, refunds, what payees have, and payouts that are still to be made or
 * given back. What the bank keeps of a return is ours when the payout is re-routed.
 */
function checkHoldings(
  context: string,
  holders: readonly Holder[],
  offramps: readonly OfframpRow[],
  paid: ReadonlyMap<string, BankRecord>,
): void {
  const by_holder = Map.groupBy(
    offramps.filter(({ is_funded }) => is_funded),
    ({ holder }) => holder,
  );
  for (const { holder, arrived, held, shortfall } of holders) {
    let has = held;
    let allowed = arrived + shortfall;
    for (const offramp of by_holder.get(holder) ?? []) {
      const delivered = tokensOf(offramp, deliveredTo(offramp, paid));
      const promised = offramp.status === "failed" ? 0n : offramp.token_amount;
      has += delivered > promised ? delivered : promised;
      const cost = minOf(offramp.return_costs, keptOf(offramp, paid));
      // Two amounts were rounded down.
      allowed += offramp.return_costs > 0n ? tokensOf(offramp, cost) + 2n : 0n;
    }
    expect(has <= allowed, `${context}: ${holder} has ${has} of ${allowed}`).toBe(true);
  }
}

/** Beyond 1 %, 50 usd or three re-routes, two members had agreed. */
function checkReturnCosts(context: string, offramps: readonly OfframpRow[]): void {
  for (const { id, return_costs, destination_amount, attempt, approved_reroutes } of offramps) {
    const is_costly = return_costs * 100n > destination_amount || attempt > 4;
    if (is_costly) expect(approved_reroutes, `${context}: ${id}`).toBeGreaterThan(0);
  }
}

/** Fees by the table, for every payout that was instructed and not reversed, and every onramp. */
async function checkFees(
  context: string,
  offramps: readonly OfframpRow[],
  fees: ReadonlyMap<string, bigint>,
): Promise<void> {
  const earned = await server.db.database.query<{ currency: string; sum: string }>(
    `select currency, (-sum(amount))::text as sum from ledger_lines where ledger_account = 'fees'
     group by currency having sum(amount) <> 0 order by currency`,
  );
  const onramps = await server.db.database.query<{ id: string; currency: string }>(
    "select id, fiat_currency as currency from onramps where status = 'crypto_sent'",
  );
  const charged = offramps
    .filter(
      ({ attempt, status, is_refunded_after_return }) =>
        attempt > 0 && (status !== "failed" || is_refunded_after_return),
    )
    .map(({ id, destination_currency: currency }) => ({ id, currency }));
  const expected = new Map<string, bigint>();
  for (const { id, currency } of [...charged, ...onramps]) {
    expected.set(currency, (expected.get(currency) ?? 0n) + fees.get(id)!);
  }
  const sums = [...expected].map(([currency, sum]) => ({ currency, sum: String(sum) }));
  sums.sort((a, b) => (a.currency < b.currency ? -1 : 1));
  expect(earned, context).toEqual(sums);
  const excessive = await server.db.database.query(
    "select id from quotes where shortfall > least(10000, token_fees / 10)",
  );
  expect(excessive, context).toEqual([]);
}

it("no user ever holds more than came in, and fees are what the table says", async () => {
  const random = createRandom(SEED);
  const world = await openWorld(server, { bank, rates, random });
  const { actions, fees, paid } = world;
  const check = async (context: string) => {
    const [holders, offramps] = await Promise.all([listHolders(), listOfframps()]);
    checkHoldings(context, holders, offramps, paid);
    checkReturnCosts(context, offramps);
    await checkFees(context, offramps, fees);
  };
  const report = (step: number) =>
    process.env.ECONOMICS_STEPS &&
    process.stdout.write(`seed ${SEED}, step ${step}: ${JSON.stringify(world.counts)}\n`);
  const often = [
    "quote",
    "quote",
    "pay",
    "pay",
    "pay",
    "upload",
    "upload",
    "bank",
    "bank",
  ] as const;
  const names = [
    ...[...often, "return", "return", "return_more", "resolve", "reroute", "reroute", "vote"],
    ...Object.keys(actions),
  ] as (keyof typeof actions)[];
  for (let step = 0; step < STEPS; step += 1) {
    const name = names[random.below(names.length)]!;
    await actions[name]();
    await settle(server);
    await check(`seed ${SEED}, step ${step}, ${name}`);
    if (step % 100 === 99) report(step);
  }
  await world.finish();
  // Nothing waits any more: every payout was made or has failed.
  const waiting = await server.db.database.query(
    "select id, status, status_message from offramps where status not in ('fiat_sent', 'failed')",
  );
  expect(waiting, `seed ${SEED}`).toEqual([]);
  await check(`seed ${SEED}, at the end`);
  expect(await findFault(server)).toBeNull();
  report(STEPS);
}, 3_600_000);
