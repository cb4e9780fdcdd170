import type { Database } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import { RpcRefused } from "../json-rpc.ts";
import { updatePlanned } from "./attempt-store.ts";
import { firstFees } from "./fees.ts";
import { type EvmSend, type OpenSend, type Sender, whyUnreadable } from "./model.ts";
import type { View } from "./read-view.ts";
import { updateRefused, updateWaiting } from "./send-store.ts";
import { estimateGas, simulate } from "./simulate.ts";

type PlanDeps = { database: Database; now: Date; sender: Sender; view: View };

const PAYEE_REFUSED =
  "The token's contract refuses a transfer to this address; its issuer may have blocked it.";
const SIMULATED_AGAIN_AFTER_MS = MINUTE_MS;
/** Meanwhile others are tried: many that wait for tokens must not keep the rest waiting. */
const COUNTED_AGAIN_AFTER_MS = 20_000;
/** No transfer needs this much; above a block's limit a transaction could never be mined. */
const GAS_MAX = 5_000_000n;

/** Stores and returns why a send has to wait. */
type Wait = (problem: string, ms: number) => Promise<string>;

/**
 * Gives a queued send its nonce, gas and fees, if it would succeed now. Returns why it has to wait;
 * null where it was planned, or refused for good.
 */
export async function planSend(
  deps: PlanDeps,
  send: EvmSend,
  unmined: readonly OpenSend[],
): Promise<string | null> {
  const wait: Wait = async (problem, ms) => {
    // Also what may be tried in the next run: it takes no place of those that were not tried.
    const retry_at = new Date(deps.now.getTime() + ms);
    await updateWaiting(deps.database, send.key, { retry_at, problem });
    return problem;
  };
  try {
    return await planOrWait(deps, send, unmined, wait);
  } catch (error) {
    // A node's answer about this one; others may be possible.
    if (!(error instanceof RpcRefused)) throw error;
    return wait(`${send.key} cannot be tried: ${error.message}`, SIMULATED_AGAIN_AFTER_MS);
  }
}

async function planOrWait(
  { database, now, sender, view }: PlanDeps,
  send: EvmSend,
  unmined: readonly OpenSend[],
  wait: Wait,
): Promise<string | null> {
  const { action } = send;
  if (action.kind === "unreadable") return wait(whyUnreadable(send), SIMULATED_AGAIN_AFTER_MS);
  if (send.address_index === null && send.sender !== sender.treasury) {
    const whose = `${send.key} is a payment of ${send.sender}, an earlier treasury`;
    return wait(`${whose}: cancel it`, SIMULATED_AGAIN_AFTER_MS);
  }
  if (action.kind === "token_transfer") {
    const missing = await missingTokens(sender, send, unmined);
    if (missing) return wait(missing, COUNTED_AGAIN_AFTER_MS);
  }
  const verdict = await simulate(sender, send);
  if (verdict === "fails_for_payee") {
    await updateRefused(database, send.key, PAYEE_REFUSED, now);
    return null;
  }
  if (verdict === "fails_for_sender") {
    const whose = `a transfer of ${sender.chain.name} from ${send.sender} would fail`;
    return wait(`${whose}: the token may be paused`, SIMULATED_AGAIN_AFTER_MS);
  }
  const fees = firstFees(view.market, sender.settings);
  if (!fees) {
    return wait(`the fees of ${sender.chain.name} are above max_fee_gwei`, 0);
  }
  const gas = await estimateGas(sender, send);
  if (gas > GAS_MAX) {
    return wait(`${send.key} would need ${gas} units of gas`, SIMULATED_AGAIN_AFTER_MS);
  }
  const reserved = unmined.reduce((sum, one) => sum + costOf(one), 0n);
  const value = action.kind === "gas_top_up" ? action.amount : 0n;
  if (view.balance < reserved + gas * fees.max_fee + value) {
    return wait(`${send.sender} has too little native coin for gas (${view.balance} wei)`, 0);
  }
  const plan = { ...fees, gas, planned_block: view.final_block };
  await updatePlanned(database, send, plan, now);
  return null;
}

/** What is on its way has left the balance only once it is mined. */
async function missingTokens(
  { rpcs, chain }: Sender,
  { action, sender }: EvmSend,
  unmined: readonly OpenSend[],
): Promise<string | null> {
  if (action.kind !== "token_transfer") return null;
  const { contract, amount } = action;
  const balances = await Promise.all(rpcs.map((rpc) => rpc.balanceOf(contract, sender, "latest")));
  const balance = balances.reduce((a, b) => (a < b ? a : b));
  const leaving = unmined.reduce((sum, { action: other }) => {
    const is_same = other.kind === "token_transfer" && other.contract === contract;
    return is_same ? sum + other.amount : sum;
  }, 0n);
  if (balance >= leaving + amount) return null;
  const token = chain.tokens.find(({ address }) => address === contract)?.name ?? contract;
  return `${sender} on ${chain.name} has too few ${token}: ${balance}, ${leaving + amount} needed`;
}

/** The most that a transaction can cost, in wei. */
function costOf({ gas, attempts, action }: OpenSend): bigint {
  const value = action.kind === "gas_top_up" ? action.amount : 0n;
  return value + (gas ?? 0n) * (attempts.at(-1)?.max_fee ?? 0n);
}
