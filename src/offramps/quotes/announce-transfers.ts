import {
  type ChainPort,
  ChainUnavailable,
  type TransferStatus,
} from "../../partners/chain/port.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import type { Quote } from "./model.ts";
import { type RecordDeps, recordDeposits } from "./record-deposits.ts";
import { findQuotes, lockQuoteRows, updateTransferStatus } from "./store.ts";

const AGAIN_MIN_MS = 2_000;
const AGAIN_MAX_MS = 10 * MINUTE_MS;

/** Null where the chain could not be asked. */
type Checked = { quote: Quote; status: TransferStatus | null };

/**
 * Gives the named transfers to the chain's watcher, reads the chain, and checks what the chain says
 * about them until it has decided or the quote is over. The status is only shown: what was paid is
 * read from the deposits, whoever named them.
 */
export async function announceTransfers(deps: RecordDeps, set: TaskSet): Promise<void> {
  const { database, chain } = deps;
  const keys = set.tasks.map(toKey);
  const named = (await findQuotes(database, keys)).filter(({ tx_id }) => tx_id !== null);
  for (const quote of named) await announce(chain, quote, set.now);
  await recordDeposits(deps);
  const checked = await Promise.all(named.map((quote) => check(chain, quote)));
  await database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    const waiting = await recordStatuses(tx, checked, tasks);
    const is_waiting = ({ account_id, record_id }: Task) => waiting.has(account_id, record_id);
    set.postpone(tx, tasks.filter(is_waiting), (task) => againAt(task, set.now));
    set.finish(
      tx,
      tasks.filter((task) => !is_waiting(task)),
    );
  });
}

function toKey({ account_id, record_id }: Task): { account_id: string; id: string } {
  return { account_id, id: record_id };
}

async function announce(chain: ChainPort, quote: Quote, now: Date): Promise<void> {
  const expected = {
    chain: quote.deposit_token_chain,
    tx_id: quote.tx_id!,
    address: quote.deposit_address,
    token: quote.deposit_token,
    amount: quote.token_amount - quote.from_balance,
  };
  await chain.announce(expected, now);
}

async function check(chain: ChainPort, quote: Quote): Promise<Checked> {
  const { deposit_token_chain, deposit_address: address, deposit_token: token } = quote;
  const named = { tx_id: quote.tx_id!, address, token };
  const status = await chain.findStatus(deposit_token_chain, named).catch((error: unknown) => {
    if (error instanceof ChainUnavailable) return null;
    throw error;
  });
  return { quote, status };
}

/** Returns the quotes whose transfer is to be checked again. */
async function recordStatuses(
  tx: Transaction,
  checked: readonly Checked[],
  tasks: readonly Task[],
): Promise<AccountMap<Quote>> {
  const waiting = new AccountMap<Quote>();
  const found = AccountMap.of(
    checked.map(({ quote, status }) => ({ ...quote, status })),
    (one) => one,
  );
  const changed: Quote[] = [];
  for (const quote of await lockQuoteRows(tx, tasks.map(toKey))) {
    const { account_id, id, tx_id, funded_at, closed_at } = quote;
    if (tx_id === null) continue;
    const one = found.get(account_id, id);
    // Another transfer may have been named meanwhile; its own task may have ended with this one.
    const status = one?.tx_id === tx_id ? one.status : null;
    if (status !== null && status !== quote.tx_status) {
      changed.push({ ...quote, tx_status: status });
    }
    const is_decided = status === "final" || status === "failed";
    if (!is_decided && !funded_at && !closed_at) waiting.set(account_id, id, quote);
  }
  updateTransferStatus(tx, changed);
  return waiting;
}

/** Less often after a while: most transfers are final within minutes. */
function againAt({ created_at }: Task, now: Date): Date {
  const age_ms = now.getTime() - created_at.getTime();
  const again_ms = Math.min(Math.max(age_ms, AGAIN_MIN_MS), AGAIN_MAX_MS);
  return new Date(now.getTime() + again_ms);
}
