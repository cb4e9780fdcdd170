import type { Database } from "../../../../platform/db/database.ts";
import { Disagreement } from "../check-transfers.ts";
import { inChunks } from "../in-chunks.ts";
import { readMined, receiptText } from "../read-transaction.ts";
import type { Rpc } from "../rpc.ts";
import type { Receipt } from "../rpc-values.ts";
import { toTransfers } from "../transfer-logs.ts";
import { expectedTransfer, isExpected } from "./expected-transfer.ts";
import {
  type Attempt,
  CANCELLED,
  type OpenSend,
  type Sender,
  SendingStopped,
  whyUnreadable,
} from "./model.ts";
import type { View } from "./read-view.ts";
import { updateFinal, updateMined } from "./send-store.ts";

type Found = { tx_id: string; attempt: Attempt; receipt: Receipt };

/**
 * Looks for the receipts of all sends that are not final, and ends those whose block is. Returns
 * those that are in no block, by nonce, and why one of the others cannot end.
 */
export async function followReceipts(
  database: Database,
  sender: Sender,
  sends: readonly OpenSend[],
  view: View,
  now: Date,
): Promise<{ unmined: OpenSend[]; problems: string[] }> {
  const said = new Map<string, readonly (Found | null)[]>();
  await inChunks(sends, async (send) => {
    const found = await Promise.all(sender.rpcs.map((rpc) => findReceipt(rpc, send)));
    said.set(send.key, found);
  });
  const unmined: OpenSend[] = [];
  const problems: string[] = [];
  for (const send of sends) {
    const found = said.get(send.key)!;
    const [first] = found.filter((one) => one !== null);
    if (!first) {
      // Its block was replaced: the same bytes are sent again.
      if (send.state === "mined") await updateMined(database, send.key, null, now);
      unmined.push(send.state === "mined" ? { ...send, state: "broadcast" } : send);
      continue;
    }
    const mined = toMined(first);
    const is_known = send.state === "mined" && send.block_hash === mined.block_hash;
    if (!is_known) await updateMined(database, send.key, mined, now);
    if (found.some((one) => one === null) || mined.block_number > view.final_block) continue;
    if (new Set(found.map((one) => summary(one!))).size > 1) {
      const names = sender.rpcs.map(({ host }) => host).join(" and ");
      throw new Disagreement(`${names} differ about ${mined.tx_id}`);
    }
    const outcome = outcomeOf(sender, send, first);
    if (outcome) await updateFinal(database, send.key, mined, outcome, now);
    else problems.push(whyUnreadable(send));
  }
  return { unmined: unmined.toSorted((a, b) => a.nonce! - b.nonce!), problems };
}

/** The receipt of one of its attempts, in a block that is part of the chain. */
export async function findReceipt(rpc: Rpc, send: OpenSend): Promise<Found | null> {
  const signed = send.attempts.filter(({ tx_id }) => tx_id !== null);
  const mined = await Promise.all(signed.map(({ tx_id }) => readMined(rpc, tx_id!)));
  const at = mined.findIndex((one) => one !== null);
  if (at < 0) return null;
  const attempt = signed[at]!;
  return { tx_id: attempt.tx_id!, attempt, receipt: mined[at]!.receipt };
}

/**
 * Whether, as all nodes say, a final transaction that is none of its own has the nonce of a send.
 * Each node is asked in one batch: behind a balancer, one that is behind may not have the receipt.
 * Not known while an attempt has no bytes: it may have been signed, and the database has lost that.
 */
export async function isTaken(
  rpcs: readonly Rpc[],
  { sender, nonce, attempts }: OpenSend,
  final_block: number,
): Promise<boolean> {
  if (attempts.some(({ tx_id }) => tx_id === null)) return false;
  const asked = rpcs.map(async (rpc) => {
    const [count, ...receipts] = await Promise.all([
      rpc.transactionCount(sender, final_block),
      ...attempts.flatMap(({ tx_id }) => (tx_id === null ? [] : [rpc.receipt(tx_id)])),
    ]);
    return count > nonce! && receipts.every((receipt) => receipt === null);
  });
  return (await Promise.all(asked)).every((one) => one);
}

export function toMined({ tx_id, receipt }: { tx_id: string; receipt: Receipt }) {
  const { block_number, block_hash, gas_cost } = receipt;
  return { tx_id, block_number, block_hash, gas_cost };
}

function summary({ tx_id, receipt }: Found): string {
  return `${tx_id}\n${receiptText(receipt)}`;
}

function outcomeOf(
  { chain }: Sender,
  { action, sender, key }: OpenSend,
  { attempt, receipt }: Found,
): Parameters<typeof updateFinal>[3] | null {
  if (attempt.is_cancel) return { state: "refused", problem: CANCELLED };
  if (!receipt.succeeded) {
    return {
      state: "refused",
      problem: `The transaction ${attempt.tx_id} failed on ${chain.name}.`,
    };
  }
  // What it should have paid is not known.
  if (action.kind === "unreadable") return null;
  const expected = expectedTransfer(action, sender);
  if (!expected) return { state: "final" };
  const { block_number } = receipt;
  const range = { from_block: block_number, to_block: block_number };
  if (toTransfers(chain, range, receipt.logs).some((one) => isExpected(one, expected))) {
    return { state: "final" };
  }
  throw new SendingStopped(
    `${attempt.tx_id} (${key}) succeeded on ${chain.name}, but its log does not have the ` +
      "transfer: the token's contract does not do what it should",
  );
}
