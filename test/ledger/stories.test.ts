import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bankAt, owedTo } from "../../src/ledger/model.ts";
import { isOverdrawn } from "../../src/ledger/post-entries.ts";
import type { Offramp } from "../../src/offramps/model.ts";
import { minOf } from "../../src/platform/money.ts";
import {
  CHAIN,
  CURRENCY,
  findLedgerAccountBalance,
  type LedgerFixture,
  openLedgerFixture,
  TOKEN,
} from "./ledger-fixture.ts";
import { BANK_ACCOUNT, payoutStory } from "./payout-story.ts";

let fixture: LedgerFixture;

beforeAll(async () => {
  fixture = await openLedgerFixture();
});
afterAll(() => fixture.drop());

const ACTIONS = ["fund", "hold", "send", "book", "reject", "bounce", "fail", "refund"] as const;
type Step = { action: (typeof ACTIONS)[number]; which: number; amount: bigint };

const amounts = fc.record({
  destination_amount: fc.bigInt({ min: 1n, max: 1_000_000n }),
  fee: fc.bigInt({ min: 0n, max: 1_000n }),
  token_amount: fc.bigInt({ min: 1n, max: 1_000_000n }),
});
const story = fc.record({
  items: fc.array(amounts, { minLength: 1, maxLength: 4 }),
  short: fc.bigInt({ min: 0n, max: 5n }),
  over: fc.bigInt({ min: 0n, max: 100n }),
  steps: fc.array(
    fc.record({
      action: fc.constantFrom(...ACTIONS),
      which: fc.nat(3),
      amount: fc.bigInt({ min: 1n, max: 1_200_000n }),
    }),
    { maxLength: 30 },
  ),
});

/** Which steps are possible in which state. */
const POSSIBLE: Record<Offramp["status"], readonly Step["action"][]> = {
  initiated: ["fund"],
  pending_internal_assessment: ["hold", "send", "fail"],
  ongoing_checks: ["send", "fail"],
  sending_fiat: ["book", "reject", "fail"],
  fiat_sent: ["bounce"],
  bounced: ["send", "fail"],
  failed: [],
};

/** The expected amounts, computed without the ledger. */
type Counted = { owed: bigint; wallet: bigint; fees: bigint; bank: bigint; costs: bigint };
/** What else is known of a story: what is short, and what came back last of each offramp. */
type Known = { short: bigint; returned: Map<Offramp, { amount: bigint; attempt: number }> };

async function take(
  { action, amount }: Step,
  offramp: Offramp,
  counted: Counted,
  known: Known,
): Promise<void> {
  const payouts = payoutStory(fixture);
  if (action === "refund") {
    const work = payouts.refund(offramp, amount);
    if (amount > counted.owed) return expect(work).rejects.toSatisfy(isOverdrawn);
    counted.owed -= amount;
    counted.wallet -= amount;
    return work;
  }
  if (!POSSIBLE[offramp.status].includes(action)) return;
  if (action === "send" && offramp.attempt === 0) counted.fees += offramp.fee;
  if (action === "book") counted.bank -= offramp.destination_amount;
  const { destination_amount, attempt } = offramp;
  if (action === "bounce") {
    counted.bank += amount;
    known.returned.set(offramp, { amount: minOf(amount, destination_amount), attempt });
  }
  const returned = known.returned.get(offramp);
  // A re-route adds what the bank kept; failing takes it back.
  if (action === "send" && returned?.attempt === attempt) {
    counted.costs += destination_amount - returned.amount;
  }
  if (action === "fail") {
    if (attempt > 0 && !returned) counted.fees -= offramp.fee;
    if (returned && returned.attempt < attempt) {
      counted.costs -= destination_amount - returned.amount;
    }
    // Cents at a rate of 0.9: 10 000 / 0.9 millionths each.
    const worth = returned ? (returned.amount * 100_000n) / 9n : offramp.token_amount;
    const deducted = minOf(known.short, worth);
    known.short -= deducted;
    counted.owed += worth - deducted;
  }
  await (action === "bounce" ? payouts.bounce(offramp, amount) : payouts[action](offramp));
}

/** Others at each run; `npm run soak` plays more. */
const RUNS = process.env.LONG_TESTS ? 40 : 20;

test("in any sequence of payout events no money is lost or created", async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ items, short, over, steps }) => {
      const account_id = await fixture.addAccount();
      const user_id = await fixture.addUser(account_id);
      const { quote, offramps } = await fixture.addQuote(account_id, user_id, items);
      const payouts = payoutStory(fixture);
      const missing = over > 0n || short >= quote.token_amount ? 0n : short;
      const arrived = quote.token_amount - missing + over;
      await payouts.deposit(quote, arrived);
      await payouts.fundQuote(quote, quote.token_amount - missing);
      const counted: Counted = { owed: over, wallet: arrived, fees: 0n, bank: 0n, costs: 0n };
      const known: Known = { short: missing, returned: new Map() };
      for (const [at, step] of steps.entries()) {
        await take(step, offramps[step.which % offramps.length]!, counted, known);
        if (at % 7 === 0) await fixture.seal();
        if (at % 10 === 0) expect(await fixture.findFault(account_id)).toBeNull();
      }
      expect(await fixture.findFault(account_id)).toBeNull();
      const balance = (ledger_account: string, currency: string) =>
        findLedgerAccountBalance(fixture.database, { account_id, ledger_account, currency });
      expect({
        owed: await balance(owedTo(user_id, CHAIN), TOKEN),
        wallet: await balance(`wallet:${CHAIN}`, TOKEN),
        fees: await balance("fees", CURRENCY),
        bank: await balance(bankAt(BANK_ACCOUNT), CURRENCY),
        costs: await balance("return_costs", CURRENCY),
      }).toEqual(counted);
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 120_000);
