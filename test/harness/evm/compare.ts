import { expect } from "vitest";
import type { Core } from "../../../src/app/open-app.ts";
import { openNodes } from "../../../src/partners/chain/evm/open.ts";
import { readChains } from "../../../src/partners/chain/evm/read-chains.ts";
import { bookOwnTransfers } from "../../../src/reconcile/book-own-transfers.ts";
import { type Reconciled, reconcileChain } from "../../../src/reconcile/reconcile-chain.ts";
import { waitFor } from "../wait-for.ts";
import type { EvmNode } from "./node.ts";

/** Several transactions, one after the other, on a busy machine. */
const MOVED_MS = 60_000;

/** What `sliproad reconcile --chain` finds, in this process. */
export function compareChain(core: Core): Promise<Reconciled> {
  const settings = readChains(core.config.chains_file!);
  return reconcileChain(core, openNodes(settings.chains[0]!), settings);
}

/** Waits until the watcher has read all blocks. */
export async function waitUntilRead({ database }: Core, node: EvmNode): Promise<void> {
  const latest = BigInt((await node.ask("eth_blockNumber")) as string);
  await waitFor(async () => {
    const [row] = await database.query<{ scanned_block: bigint }>(
      "select scanned_block from evm_chains",
    );
    return row!.scanned_block >= latest;
  }, MOVED_MS);
}

/** Books what the treasury was given before the story, as the operator does. */
export async function bookFunds(core: Core, node: EvmNode): Promise<void> {
  await waitUntilRead(core, node);
  const actor = "command line" as const;
  const by = { account_id: core.first_start.operator.id, actor, reason: "funded" };
  const found = await compareChain(core);
  await bookOwnTransfers(core.database, "polygon", found, by, core.clock.now());
  await expectSame(core);
}

/** Waits until nothing moves any more; then ledger and chain must be the same to the last unit. */
export async function expectSameAtRest(core: Core, node: EvmNode): Promise<void> {
  await waitFor(async () => (await countMoving(core)) === 0, MOVED_MS);
  await waitUntilRead(core, node);
  await waitFor(async () => (await compareChain(core)).candidates.length === 0, MOVED_MS);
  await expectSame(core);
}

async function expectSame(core: Core): Promise<void> {
  const { compared, candidates, unproven } = await compareChain(core);
  expect(compared.length).toBeGreaterThan(1);
  for (const one of compared) expect(one).toMatchObject({ in_motion: 0n, unexplained: 0n });
  expect({ candidates, unproven }).toEqual({ candidates: [], unproven: [] });
}

/** Transactions and sweeps that are not over, or not booked. */
async function countMoving({ database }: Core): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select ((select count(*) from evm_sends where gas_cost is null or not is_gas_booked)
       + (select count(*) from evm_sweeps where state = 'open'))::int as count`,
  );
  return row!.count;
}
