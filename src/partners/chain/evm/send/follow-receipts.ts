import type { Database } from "../../../../platform/db/database.ts";
import { Disagreement } from "../check-transfers.ts";
import type { Rpc } from "../rpc.ts";
import type { Receipt } from "../rpc-values.ts";
import type { SignedAction } from "../signer/port.ts";
import { logKey, toTransfers } from "../transfer-logs.ts";
import { type Attempt, type OpenSend, type Sender, SendingStopped } from "./model.ts";
import type { View } from "./read-view.ts";
import { updateFinal, updateMined } from "./send-store.ts";

export const CANCELLED = "The operator cancelled it.";

type Found = { attempt: Attempt; receipt: Receipt };

/** Asked for at once, which is one request to each node. */
const SENDS_AT_ONCE = 20;

/**
 * Looks for the receipts of all sends that are not final, and ends those whose block is. Returns
 * those that are in no block, by nonce.
 */
export async function followReceipts(
  database: Database,
  sender: Sender,
  sends: readonly OpenSend[],
  view: View,
  now: Date,
): Promise<OpenSend[]> {
  const unmined: OpenSend[] = [];
  for (let at = 0; at < sends.length; at += SENDS_AT_ONCE) {
    const some = sends.slice(at, at + SENDS_AT_ONCE);
    unmined.push(...(await followSome(database, sender, some, view, now)));
  }
  return unmined.toSorted((a, b) => a.nonce! - b.nonce!);
}

async function followSome(
  database: Database,
  sender: Sender,
  sends: readonly OpenSend[],
  view: View,
  now: Date,
): Promise<OpenSend[]> {
  const unmined: OpenSend[] = [];
  const receipts = await Promise.all(
    sends.map((send) => Promise.all(sender.rpcs.map((rpc) => findReceipt(rpc, send)))),
  );
  for (const [at, send] of sends.entries()) {
    const found = receipts[at]!;
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
    await updateFinal(database, send.key, mined, outcome, now);
  }
  return unmined;
}

/** The receipt of one of its attempts, in a block that is part of the chain. */
export async function findReceipt(rpc: Rpc, send: OpenSend): Promise<Found | null> {
  const signed = send.attempts.filter(({ tx_id }) => tx_id !== null);
  const receipts = await Promise.all(signed.map(({ tx_id }) => rpc.receipt(tx_id!)));
  for (const [at, receipt] of receipts.entries()) {
    if (!receipt) continue;
    const block = await rpc.block(receipt.block_number);
    if (block?.hash === receipt.block_hash) return { attempt: signed[at]!, receipt };
  }
  return null;
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

export function toMined({ attempt, receipt }: Found) {
  const { block_number, block_hash, gas_cost } = receipt;
  return { tx_id: attempt.tx_id!, block_number, block_hash, gas_cost };
}

function summary({ attempt, receipt }: Found): string {
  const { succeeded, block_hash, logs } = receipt;
  return [attempt.tx_id, succeeded, block_hash, ...logs.map(logKey)].join("\n");
}

function outcomeOf(
  { chain }: Sender,
  { action, sender, key }: OpenSend,
  { attempt, receipt }: Found,
): Parameters<typeof updateFinal>[3] {
  if (attempt.is_cancel) return { state: "refused", problem: CANCELLED };
  if (!receipt.succeeded) {
    return {
      state: "refused",
      problem: `The transaction ${attempt.tx_id} failed on ${chain.name}.`,
    };
  }
  const expected = expectedTransfer(action, sender);
  if (!expected) return { state: "final" };
  const { block_number } = receipt;
  const range = { from_block: block_number, to_block: block_number };
  const is_paid = toTransfers(chain, range, receipt.logs).some(
    ({ log, from, to, value }) =>
      log.contract === expected.contract &&
      from === expected.from &&
      to === expected.to &&
      value === expected.amount,
  );
  if (is_paid) return { state: "final" };
  throw new SendingStopped(
    `${attempt.tx_id} (${key}) succeeded on ${chain.name}, but its log does not have the ` +
      "transfer: the token's contract does not do what it should",
  );
}

type ExpectedTransfer = { contract: string; from: string; to: string; amount: bigint };

/** The transfer that an action's receipt must have; null where it moves no tokens. */
function expectedTransfer(action: SignedAction, sender: string): ExpectedTransfer | null {
  if (action.kind === "token_transfer") return { ...action, from: sender };
  if (action.kind !== "sweep_with_authorization") return null;
  return { ...action, from: action.address, to: sender };
}
