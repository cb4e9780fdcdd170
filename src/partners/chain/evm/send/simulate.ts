import { RpcReverted } from "../json-rpc.ts";
import type { Call, Rpc } from "../rpc.ts";
import type { EvmSend, Sender, StoredAction } from "./model.ts";

/** The first four bytes of keccak256("transfer(address,uint256)"). */
const TRANSFER = "0xa9059cbb";
const FALSE = `0x${"0".repeat(64)}`;
const GAS_PERCENT = 130n;
/** A payee whose balance became zero meanwhile costs 17 000 more. */
const TOKEN_GAS_MIN = 65_000n;

/** The call of an action; null where only the signer can build it. */
function callOf(from: string, action: StoredAction): Call | null {
  if (action.kind === "token_transfer") {
    const { contract, to, amount } = action;
    return { from, to: contract, data: `${TRANSFER}${toWord(BigInt(to))}${toWord(amount)}` };
  }
  if (action.kind === "gas_top_up") {
    return { from, to: action.address, value: `0x${action.amount.toString(16)}` };
  }
  return null;
}

function toWord(value: bigint): string {
  return value.toString(16).padStart(64, "0");
}

/** Whether a send would succeed if it were mined now. */
type Verdict = "succeeds" | "fails_for_payee" | "fails_for_sender";

/**
 * Tries the call on all nodes. Where the same transfer to the sender itself succeeds, the payee is
 * the reason, for example because the token's issuer has blocked the address; otherwise the token
 * or the sender is, and it can succeed later.
 */
export async function simulate({ rpcs }: Sender, send: EvmSend): Promise<Verdict> {
  const { action, sender } = send;
  const call = callOf(sender, action);
  if (!call) return "succeeds";
  const results = await Promise.all(rpcs.map((rpc) => succeeds(rpc, call)));
  if (results.every((one) => one)) return "succeeds";
  if (action.kind !== "token_transfer" || results.includes(true)) return "fails_for_sender";
  const to_itself = callOf(sender, { ...action, to: sender })!;
  const own = await Promise.all(rpcs.map((rpc) => succeeds(rpc, to_itself)));
  return own.every((one) => one) ? "fails_for_payee" : "fails_for_sender";
}

async function succeeds(rpc: Rpc, call: Call): Promise<boolean> {
  try {
    return (await rpc.simulate(call)) !== FALSE;
  } catch (error) {
    if (error instanceof RpcReverted) return false;
    throw error;
  }
}

/** How much gas to offer; what is not used is not paid. */
export async function estimateGas(
  { rpcs }: Pick<Sender, "rpcs">,
  send: Pick<EvmSend, "sender" | "action" | "gas">,
): Promise<bigint> {
  if (send.gas !== null) return send.gas;
  const call = callOf(send.sender, send.action);
  if (!call) throw new Error(`a send of the kind ${send.action.kind} must name its gas`);
  const estimates = await Promise.all(rpcs.map((rpc) => rpc.estimateGas(call)));
  const largest = estimates.reduce((a, b) => (a > b ? a : b));
  const gas = (largest * GAS_PERCENT) / 100n;
  return call.data && gas < TOKEN_GAS_MIN ? TOKEN_GAS_MIN : gas;
}
