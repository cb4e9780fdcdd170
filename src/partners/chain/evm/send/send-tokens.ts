import type { Chain } from "../../../../catalogue/chains.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { canonicalAddress } from "../../check-address.ts";
import { type ChainPort, SendPending } from "../../port.ts";
import type { EvmChain } from "../model.ts";
import type { SignedAction } from "../signer/port.ts";
import { contractsOf, fromMillionths } from "../transfer-logs.ts";
import type { EvmSend } from "./model.ts";
import { findSendByKey, insertSend, updateAsked } from "./send-store.ts";

type SendDeps = {
  database: Database;
  treasury: string | null;
  chainOf(name: Chain): EvmChain;
};
type Request = Parameters<ChainPort["send"]>[0];
type SendOutcome = Awaited<ReturnType<ChainPort["send"]>>;

const NO_SIGNER = "This installation has no signing key for the chain, so it cannot send tokens.";
const ASKED_STORED_EVERY_MS = 30_000;

/** Queues tokens to be sent by the worker, once per key, and tells what became of them. */
export async function sendTokens(
  { database, treasury, chainOf }: SendDeps,
  request: Request,
  now: Date,
): ReturnType<ChainPort["send"]> {
  const { key } = request;
  const chain = chainOf(request.chain);
  const action = toAction(chain, treasury, request);
  if (treasury === null || "refused" in action) {
    // One that was queued before the configuration changed may be on its way.
    const known = await findSendByKey(database, key);
    if (known) return outcomeOf(known);
    return "refused" in action ? action : { refused: NO_SIGNER };
  }
  const new_send = { key, chain: chain.name, sender: treasury, action, asked_at: now };
  const send = await insertSend(database, new_send, now);
  const asked_ms = send.asked_at?.getTime() ?? now.getTime();
  if (send.state === "queued" && now.getTime() - asked_ms >= ASKED_STORED_EVERY_MS) {
    await updateAsked(database, key, now);
  }
  return outcomeOf(send);
}

function toAction(
  chain: EvmChain,
  treasury: string | null,
  request: Request,
): SignedAction | { refused: string } {
  if (chain.sending === null) return { refused: NO_SIGNER };
  const token = chain.tokens.find(({ name }) => name === request.token);
  if (!token) return { refused: `${chain.name} has no ${request.token} here.` };
  const to = canonicalAddress(chain.name, request.address);
  if (contractsOf(chain).some(({ address }) => address === to)) {
    return { refused: "The address is that of a token's contract, where tokens would be lost." };
  }
  if (to === treasury) {
    return { refused: "The address is that of the treasury, from which the tokens would be sent." };
  }
  const amount = fromMillionths(request.amount, token.decimals);
  if (amount === null) return { refused: `${chain.name} has no ${token.name} that small.` };
  return { kind: "token_transfer", contract: token.address, to, amount };
}

function outcomeOf(send: EvmSend): SendOutcome {
  const outcome = outcomeIfDone(send);
  if (outcome) return outcome;
  throw new SendPending(`${send.key} is ${send.state}`);
}

/** Null while it is pending. */
export function outcomeIfDone({ state, tx_id, problem }: EvmSend): SendOutcome | null {
  if (state === "final") return { tx_id: tx_id! };
  return state === "refused" ? { refused: problem! } : null;
}
