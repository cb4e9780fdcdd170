import type { Database } from "../../../../platform/db/database.ts";
import { sweepTransferKey, topUpKey } from "../../send-keys.ts";
import { firstFees } from "../send/fees.ts";
import type { Attempt, EvmSend } from "../send/model.ts";
import { readView } from "../send/read-view.ts";
import { findSendByKey, insertSend, listInFlight, updateRefused } from "../send/send-store.ts";
import { estimateGas } from "../send/simulate.ts";
import type { SignedAction } from "../signer/port.ts";
import { type AdvanceDeps, advanceAuthorized } from "./authorize-sweep.ts";
import { type Sweep, waitWith } from "./model.ts";
import { lockOpenSweep, updateEnded, updateToppedUp } from "./sweep-store.ts";

/** Fees rise between the top-up and the transfer. */
const TOP_UP_PERCENT = 120n;
/** Some chains ask for a fee beside that for gas, and no node takes it without. */
const NOT_TAKEN_PERCENT = 200n;
const TOP_UPS_MAX = 5;

/**
 * Looks at what was sent for a sweep, and queues what comes next: native coin for the deposit
 * address where it has too little, then the transfer of the tokens.
 */
export async function advanceSweep(deps: AdvanceDeps, sweep: Sweep): Promise<void> {
  const { database, now } = deps;
  if (sweep.method === "authorization") return advanceAuthorized(deps, sweep);
  const transfer = await findSendByKey(database, sweepTransferKey(sweep));
  if (transfer?.state === "final") {
    return updateEnded(database, sweep.number, { state: "final", problem: null }, now);
  }
  const top_up =
    sweep.top_ups === 0 ? null : await findSendByKey(database, topUpKey(sweep, sweep.top_ups));
  const refused = [transfer, top_up].find((send) => send?.state === "refused");
  if (refused) return fail(deps, sweep, refused.problem ?? "a transaction failed");
  if (top_up && top_up.state !== "mined" && top_up.state !== "final") return;
  if (!transfer || transfer.state === "queued") return fundTransfer(deps, sweep, transfer, null);
  const unpaid = await findUnpaid(database, sweep);
  if (unpaid) await fundTransfer(deps, sweep, transfer, unpaid);
}

/** The last attempt of the transfer, if the nodes say that the address cannot pay for it. */
async function findUnpaid(
  database: Database,
  { chain, address }: Sweep,
): Promise<Attempt | undefined> {
  const [send] = await listInFlight(database, { chain, address }, 1);
  const last = send?.attempts.at(-1);
  return last?.answer === "no_funds" ? last : undefined;
}

/** Queues the transfer if the address can pay for it, else a top-up. */
async function fundTransfer(
  { database, now, sweeper }: AdvanceDeps,
  sweep: Sweep,
  transfer: EvmSend | null,
  unpaid: Attempt | null,
): Promise<void> {
  const { sender } = sweeper;
  const { address, address_index, contract, amount, chain } = sweep;
  const to = sender.treasury;
  const action: SignedAction = { kind: "token_transfer", contract, to, amount };
  const view = await readView(sender, address);
  const fees = firstFees(view.market, sender.settings);
  if (!fees) return;
  const gas = transfer?.gas ?? (await estimateGas(sender, { sender: address, action, gas: null }));
  // A replacement offers more than the market asks for.
  const max_fee = unpaid && unpaid.max_fee > fees.max_fee ? unpaid.max_fee : fees.max_fee;
  const needed = (gas * max_fee * (unpaid ? NOT_TAKEN_PERCENT : 100n)) / 100n;
  if (view.balance >= needed) {
    if (transfer) return waitWith(transfer, now);
    const key = sweepTransferKey(sweep);
    const send = { key, chain, sender: address, address_index, action, gas, asked_at: null };
    await database.transaction(async (tx) => {
      if (await lockOpenSweep(tx, sweep.number)) await insertSend(tx, send, now);
    });
    return;
  }
  if (sweep.top_ups >= TOP_UPS_MAX) {
    return fail({ database, now, sweeper }, sweep, `${TOP_UPS_MAX} top-ups were not enough`);
  }
  const missing = (needed * TOP_UP_PERCENT) / 100n - view.balance;
  await database.transaction(async (tx) => {
    if (!(await updateToppedUp(tx, sweep))) return;
    const top_up: SignedAction = { kind: "gas_top_up", address_index, address, amount: missing };
    const key = topUpKey(sweep, sweep.top_ups + 1);
    await insertSend(tx, { key, chain, sender: to, action: top_up, asked_at: null }, now);
  });
}

/** Ends a sweep, unless its transfer can still be mined: another sweep may take the tokens then. */
async function fail({ database, now }: AdvanceDeps, sweep: Sweep, problem: string): Promise<void> {
  const key = sweepTransferKey(sweep);
  const transfer = await findSendByKey(database, key);
  const is_over = !transfer || transfer.state === "refused";
  if (!is_over && !(await updateRefused(database, key, problem, now))) return;
  await updateEnded(database, sweep.number, { state: "failed", problem }, now);
}
