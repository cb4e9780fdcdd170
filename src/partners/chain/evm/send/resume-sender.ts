import type { Database, Transaction } from "../../../../platform/db/database.ts";
import type { Nodes } from "../model.ts";
import { NotResumable } from "../resume-chain.ts";
import { verifyNodes } from "../verify-nodes.ts";
import { readFinalOf } from "../watch-chain.ts";
import { findLostPayment } from "./find-lost-payment.ts";
import { findReceipt, isTaken, toMined } from "./follow-receipts.ts";
import { listInFlight, updateFinal, updateLost } from "./send-store.ts";
import { findSender, updateSenderResumed } from "./sender-store.ts";

type ResumedSender = {
  next_nonce: number;
  /** Sends whose nonce a foreign transaction has: they are not paid and never will be. */
  lost: readonly string[];
};

const LOST = "A transaction that Sliproad does not know has used its nonce.";
const IN_FLIGHT_MAX = 10_000;

/**
 * Lets a queue go on that was stopped because somebody else used its key. Its next nonce is the one
 * that the chain has next. Everything must be final: what could still be mined is not given up.
 */
export async function resumeSender(
  database: Database,
  { chain, rpcs }: Nodes,
  address: string,
  now: Date,
  record: (tx: Transaction, resumed: ResumedSender) => void,
): Promise<ResumedSender> {
  const row = await findSender(database, chain.name, address);
  if (row?.state !== "stopped") {
    throw new NotResumable(
      `Sending on ${chain.name} is not stopped (${row?.state ?? "never started"}). In other ` +
        "states it goes on by itself once the cause is removed.",
    );
  }
  await verifyNodes(chain, rpcs);
  const final_block = await readFinalOf(rpcs, chain);
  const counts = await Promise.all(
    rpcs.flatMap((rpc) => [
      rpc.transactionCount(address),
      rpc.transactionCount(address, final_block),
    ]),
  );
  if (new Set(counts).size > 1) {
    throw new NotResumable(
      `The last transactions of ${address} on ${chain.name} are not final yet, or the nodes ` +
        "disagree about them. Try again when they are.",
    );
  }
  const lost: string[] = [];
  for (const send of await listInFlight(database, row, IN_FLIGHT_MAX)) {
    if (send.nonce! >= counts[0]!) continue;
    // Whether it was paid by a transaction that the database has lost cannot be looked for.
    if (send.action.kind === "unreadable") continue;
    const is_taken = await isTaken(rpcs, send, final_block);
    const found = await findReceipt(rpcs[0]!, send);
    // Also one whose log does not have the transfer: the operator has looked at it.
    const is_paid = found?.receipt.succeeded && !found.attempt.is_cancel;
    const paid = is_taken ? await findLostPayment({ chain, rpcs }, send, final_block) : null;
    const ends_with = is_paid ? found : paid;
    if (ends_with) {
      await updateFinal(database, send.key, toMined(ends_with), { state: "final" }, now);
    } else if (is_taken) lost.push(send.key);
  }
  const resumed = { next_nonce: Math.max(counts[0]!, row.next_nonce ?? 0), lost };
  await database.transaction(async (tx) => {
    updateLost(tx, lost, LOST, now);
    updateSenderResumed(tx, row, resumed.next_nonce, now);
    record(tx, resumed);
  });
  return resumed;
}
