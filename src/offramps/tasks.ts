import type { ChainPort } from "../partners/chain/port.ts";
import { partnerTask } from "../partners/partner-task.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Clock } from "../platform/clock.ts";
import type { Transaction } from "../platform/db/database.ts";
import { SECOND_MS } from "../platform/durations.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import { PartSize } from "../platform/tasks/part-size.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { SlowWork } from "../platform/tasks/slow-work.ts";
import { splitByBytes } from "../platform/tasks/split-by-bytes.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import { enqueueTasks, type Task } from "../platform/tasks/tasks.ts";
import type { CurrentPrices } from "../prices/price-book.ts";
import { type FetchDeps, fetchDocuments } from "./documents/fetch-documents.ts";
import { sweepDocuments } from "./documents/sweep-documents.ts";
import { dropDocuments } from "./documents/upload-documents.ts";
import { type ReturnDeps, returnExceptions } from "./exceptions/return-exceptions.ts";
import { CHUNK, fundOfframps } from "./fund-offramps.ts";
import { applyKeptAnswersTask } from "./payouts/apply-kept-answers.ts";
import { assessOfframps, fundAndAssess } from "./payouts/assess-offramps.ts";
import { failLapsedOfframps } from "./payouts/fail-lapsed-offramps.ts";
import { type FlagDeps, flagUnansweredPayouts } from "./payouts/flag-unanswered-payouts.ts";
import { bankReader } from "./payouts/read-bank.ts";
import { type SendDeps, sendPayouts } from "./payouts/send-payouts.ts";
import { announceTransfers } from "./quotes/announce-transfers.ts";
import { closeQuote } from "./quotes/close-quote.ts";
import { type FundingRules, fundFromDeposits } from "./quotes/fund-from-deposits.ts";
import type { LatePayeeDeps } from "./quotes/late-payees.ts";
import {
  creditKeptDepositsTask,
  listQuotesWithKept,
  recordDeposits,
} from "./quotes/record-deposits.ts";
import { findQuotes } from "./quotes/store.ts";
import { findOfframpLinks, type OfframpLinks } from "./store.ts";
import {
  ANNOUNCE_TRANSFER_TASK,
  ASSESS_OFFRAMP_TASK,
  CLOSE_QUOTE_TASK,
  DROP_DOCUMENT_TASK,
  FAIL_LAPSED_TASK,
  FETCH_DOCUMENT_TASK,
  FLAG_UNANSWERED_PAYOUTS_TASK,
  FUND_OFFRAMPS_TASK,
  FUND_QUOTE_TASK,
  READ_BANK_TASK,
  RETURN_EXCEPTION_TASK,
  SEND_PAYOUT_TASK,
  SWEEP_DOCUMENTS_TASK,
  WATCH_CHAINS_TASK,
} from "./task-kinds.ts";

type OfframpTaskDeps = SendDeps &
  FundingRules &
  LatePayeeDeps &
  FetchDeps &
  FlagDeps &
  ReturnDeps & {
    clock: Clock;
    chain: ChainPort;
    prices: CurrentPrices;
  };

/** Documents whose hosts are slow. */
const FETCH_LIMITS = { per_account: 40, of_all: 400 };

/**
 * The background work of offramps. Each step is one transaction, which also writes the task of the
 * next step; partners are called between two transactions.
 *
 * | Task                    | Enqueued by          | Does                        | Next           |
 * |-------------------------|----------------------|-----------------------------|----------------|
 * | announce-transfer       | execute-quotes       | names and checks the tx_id  |                |
 * | watch-chains            | recurring            | credits deposits to users   | fund-quote, .. |
 * | credit-kept-deposits    | watch-chains         | those that could not be     | fund-quote     |
 * | fund-quote              | execute, fund        | funds a quote that is paid  | fund-offramps  |
 * | fund-offramps           | fund-quote, fund     | funds and assesses offramps | send-payout    |
 * | assess-offramp          | fund-offramps, gates | gates open: records attempt | send-payout    |
 * | fail-lapsed             | assess, a return     | fails what waited too long  |                |
 * | send-payout             | assess, re-route     | gates again, then the bank  | read-bank      |
 * | read-bank               | recurring            | applies the bank's answers  | apply-kept-... |
 * | apply-kept-answers      | read-bank            | those that could not be     |                |
 * | resolve-exception       | resolve              | applies, closes a decision  | return-except. |
 * | return-exception        | resolve              | returns suspended money     |                |
 * | close-quote             | create-quotes        | ends an unpaid quote        |                |
 * | flag-unanswered-payouts | recurring            | reports silent banks        |                |
 * | fetch-document          | create-offramps      | copies submitted_url        | assess-offramp |
 * | drop-document           | upload, replacement  | deletes an unused upload    |                |
 * | sweep-documents         | replacement, removal | deletes unreferenced files  |                |
 */
export function offrampTasks(deps: OfframpTaskDeps): TaskHandler[] {
  const slow = new SlowWork(FETCH_LIMITS);
  const part = new PartSize(CHUNK);
  return [
    partnerTask(deps.database, WATCH_CHAINS_TASK, async () => void (await recordDeposits(deps))),
    creditKeptDepositsTask(deps),
    partnerTask(deps.database, READ_BANK_TASK, bankReader(deps)),
    applyKeptAnswersTask(deps),
    { kind: ANNOUNCE_TRANSFER_TASK, set_max: 50, handle: (set) => announceTransfers(deps, set) },
    quoteTask(deps, FUND_QUOTE_TASK, async (tx, quote, now) => {
      const { decision } = await fundFromDeposits(tx, deps, quote, now);
      // They wait, with a message that says how much is missing.
      if (decision === "short") enqueueTasks(tx, FUND_OFFRAMPS_TASK, [quote], now);
      return null;
    }),
    quoteTask(
      deps,
      FUND_OFFRAMPS_TASK,
      async (tx, quote, now, attempts) => {
        // After a failure they are assessed apart, so that one of them does not stop the others.
        const is_joined = quote.funded_at !== null && attempts === 0;
        const fund = is_joined ? fundAndAssess : fundOfframps;
        return (await fund(tx, deps, quote, now, part.size)) ? now : null;
      },
      (took_ms) => part.note(took_ms),
    ),
    closeQuoteTask(deps),
    inParts(deps, ASSESS_OFFRAMP_TASK, (set, tasks, seen) => assess(deps, set, tasks, seen)),
    { kind: FAIL_LAPSED_TASK, set_max: 20, handle: (set) => failLapsedOfframps(deps, set) },
    {
      kind: FETCH_DOCUMENT_TASK,
      set_max: FETCH_LIMITS.per_account,
      // The next one begins when all of a set are fetched, or some are slow.
      sets_at_once: 1,
      handle: (set) => fetchDocuments(deps, set, slow),
    },
    { kind: SWEEP_DOCUMENTS_TASK, set_max: 100, handle: (set) => sweepDocuments(deps, set) },
    { kind: DROP_DOCUMENT_TASK, set_max: 100, handle: (set) => dropDocuments(deps, set) },
    {
      kind: FLAG_UNANSWERED_PAYOUTS_TASK,
      set_max: 1,
      handle: (set) => flagUnansweredPayouts(deps, set),
    },
    {
      kind: RETURN_EXCEPTION_TASK,
      set_max: 20,
      handle: (set) => returnExceptions(deps, set),
    },
    inParts(deps, SEND_PAYOUT_TASK, (set, tasks, seen) => sendPayouts(deps, set, tasks, seen)),
  ];
}

/** Processes a set in parts, because of the size of the offramps' details. */
function inParts(
  { database }: OfframpTaskDeps,
  kind: string,
  handle: (set: TaskSet, tasks: readonly Task[], seen: readonly OfframpLinks[]) => Promise<void>,
): TaskHandler {
  return {
    kind,
    set_max: CHUNK,
    handle: async (set) => {
      const links = await findOfframpLinks(database, set.tasks.map(toKey));
      const found = AccountMap.of(links, (offramp) => offramp);
      const parts = splitByBytes(
        set.tasks,
        ({ account_id, record_id }) => found.get(account_id, record_id)?.bytes ?? 0,
      );
      for (const tasks of parts) {
        const seen = tasks.flatMap((task) => found.get(task.account_id, task.record_id) ?? []);
        await handle(set, tasks, seen);
      }
    },
  };
}

type QuoteWork = (
  tx: Transaction,
  quote: Awaited<ReturnType<typeof findQuotes>>[number],
  now: Date,
  attempts: number,
) => Promise<Date | null>;

/** Processes one quote at a time, each in its own transaction; a returned date reschedules it. */
function quoteTask(
  { database }: OfframpTaskDeps,
  kind: string,
  work: QuoteWork,
  noteTime: (took_ms: number) => void = () => {},
): TaskHandler {
  return {
    kind,
    set_max: 20,
    handle: (set) =>
      oneByOne(database, set, async (task) => {
        const begun_ms = performance.now();
        await database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          const [quote] = await findQuotes(tx, [toKey(task)]);
          const again_at = quote ? await work(tx, quote, set.now, task.attempts) : null;
          if (again_at) set.postpone(tx, tasks, again_at);
          else set.finish(tx, tasks);
        });
        noteTime(performance.now() - begun_ms);
      }),
  };
}

const BEHIND_ASKED_AGAIN_AFTER_MS = SECOND_MS;

function againAt(now: Date): Date {
  return new Date(now.getTime() + BEHIND_ASKED_AGAIN_AFTER_MS);
}

/** Reads the chains first, so that no transfer that was mined in time is missed. */
function closeQuoteTask(deps: OfframpTaskDeps): TaskHandler {
  const { database, chain } = deps;
  return {
    kind: CLOSE_QUOTE_TASK,
    set_max: 20,
    handle: async (set) => {
      const quotes = await findQuotes(database, set.tasks.map(toKey));
      const unpaid = quotes.filter((quote) => quote.executed_at && !quote.funded_at);
      const names = [...new Set(unpaid.map((quote) => quote.deposit_token_chain))];
      const times = await Promise.all(names.map((name) => chain.finalUntil(name, set.now)));
      const final_until = new Map(names.map((name, at) => [name, times[at]!]));
      const behind = await recordDeposits(deps, names);
      const kept = await listQuotesWithKept(database, unpaid);
      const { handle } = quoteTask(deps, CLOSE_QUOTE_TASK, async (tx, quote, now) => {
        const { deposit_token_chain: name, account_id } = quote;
        // What was sent in time may not be credited yet.
        const is_behind = behind.has(account_id) || kept.has(account_id, quote.id);
        if (quote.executed_at && is_behind) return againAt(now);
        // What was just recorded may pay for it.
        const funding = quote.executed_at
          ? await fundFromDeposits(tx, deps, quote, now, true)
          : null;
        // What that wrote is not seen before the commit: a funded quote must not be ended, and
        // what had left of its deposits is kept before it is ended.
        if (funding?.decision === "fund") return null;
        if (funding?.is_noted) return now;
        return closeQuote(tx, deps, quote, final_until.get(name) ?? now, now);
      });
      return handle(set);
    },
  };
}

function toKey({ account_id, record_id }: Task): { account_id: string; id: string } {
  return { account_id, id: record_id };
}

async function assess(
  deps: OfframpTaskDeps,
  set: TaskSet,
  tasks: readonly Task[],
  seen: readonly OfframpLinks[],
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const locked = await set.lock(tx, tasks);
    const waiting = await assessOfframps(tx, deps, locked.map(toKey), set.now, seen);
    for (const task of locked) {
      const again_at = waiting.get(task.record_id);
      if (again_at) set.postpone(tx, [task], again_at);
    }
    set.finish(
      tx,
      locked.filter((task) => !waiting.has(task.record_id)),
    );
  });
}
