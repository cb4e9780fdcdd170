import type { Clock } from "../../../platform/clock.ts";
import type { Database, Transaction } from "../../../platform/db/database.ts";
import { realTime } from "../../../platform/tasks/real-time.ts";
import type { Nodes } from "./model.ts";
import { readSameBlock } from "./read-blocks.ts";
import { readMinedAt } from "./read-transaction.ts";
import { toMillionths, toTransfers } from "./transfer-logs.ts";
import { verifyNodes } from "./verify-nodes.ts";
import { readFinalOf } from "./watch-chain.ts";
import {
  findLastStored,
  findWatchedChain,
  listStoredAfter,
  type NumberedTransfer,
  updateResumed,
} from "./watch-store.ts";

/** The chain cannot be resumed now; the message is a sentence for the operator. */
export class NotResumable extends Error {
  override name = "NotResumable";
}

export type Resumed = {
  /** Blocks after this one are read again. */
  after_block: number;
  /** Transfers that are not on the chain any more. Those that were credited still are. */
  vanished: readonly NumberedTransfer[];
};

/**
 * Lets a chain be read on after a final block was replaced. Reading starts again at a block that
 * was not replaced: what is stored already is not credited a second time. Transfers that the chain
 * does not have any more are marked; what to do if they were credited, a person decides.
 */
export async function resumeChain(
  { database, clock }: { database: Database; clock: Clock },
  nodes: Nodes,
  from_block: number | null,
  record: (tx: Transaction, resumed: Resumed) => void,
): Promise<Resumed> {
  const { chain, rpcs } = nodes;
  const row = await findWatchedChain(database, chain.name);
  if (row?.state !== "reorganised") {
    throw new NotResumable(
      `${chain.name} is ${row?.state ?? "not read yet"}: only a reorganised chain is resumed. ` +
        "In other states it is read again by itself once the cause is removed.",
    );
  }
  await verifyNodes(chain, rpcs);
  const final = await readFinalOf(rpcs, chain);
  const last_start = Math.min(final, Number(row.scanned_block));
  if (from_block !== null && from_block > last_start + 1) {
    throw new NotResumable(`The first block to read again can be at most ${last_start + 1}.`);
  }
  const first_guess = from_block === null ? Number(row.reread_from) : from_block - 1;
  const guess = Math.max(0, Math.min(last_start, first_guess));
  const after_block = await findUnreplaced(database, nodes, guess);
  const stored = await listStoredAfter(database, chain.name, after_block);
  const vanished: NumberedTransfer[] = [];
  for (const [tx_id, transfers] of Map.groupBy(stored, (one) => one.tx_id)) {
    vanished.push(...(await listVanished(nodes, final, tx_id, transfers)));
  }
  const to = await readSameBlock(rpcs, after_block);
  const resumed = { after_block, vanished };
  const is_done = await database.transaction(async (tx) => {
    const numbers = vanished.map(({ number }) => number);
    if (!(await updateResumed(tx, row, to, numbers, realTime(clock)))) return false;
    record(tx, resumed);
    return true;
  });
  if (!is_done) throw new NotResumable(`${chain.name} has changed meanwhile; try again.`);
  return resumed;
}

/** The block at or below `block` up to which no stored transfer is of a block that was replaced. */
async function findUnreplaced(
  database: Database,
  { chain, rpcs }: Nodes,
  block: number,
): Promise<number> {
  for (let after = block; ; ) {
    const stored = await findLastStored(database, chain.name, after);
    if (!stored) return after;
    const now = await readSameBlock(rpcs, stored.block_number);
    if (now.hash === stored.block_hash) return after;
    after = stored.block_number - 1;
  }
}

/** Those of a transaction's stored transfers that it does not contain now. */
async function listVanished(
  { chain, rpcs }: Nodes,
  final: number,
  tx_id: string,
  stored: readonly NumberedTransfer[],
): Promise<NumberedTransfer[]> {
  const mined = await readMinedAt(rpcs, tx_id);
  if (!mined) return [...stored];
  const { block_number, succeeded, logs } = mined.receipt;
  if (block_number > final) {
    throw new NotResumable(
      `${tx_id} is in block ${block_number} now, which is not final yet; try again later.`,
    );
  }
  if (!succeeded) return [...stored];
  const range = { from_block: block_number, to_block: block_number };
  const present = toTransfers(chain, range, logs).map(({ to, token, value }) =>
    [to, token.name, toMillionths(value, token.decimals)].join(" "),
  );
  return stored.filter(({ address, token, amount }) => {
    const at = present.indexOf([address, token, amount].join(" "));
    if (at >= 0) present.splice(at, 1);
    return at < 0;
  });
}
