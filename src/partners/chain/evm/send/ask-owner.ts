import type { Token } from "../../../../catalogue/chains.ts";
import type { Database } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import type { AskOwner, OwnerAnswer, Payment } from "../../port.ts";
import { fromMillionths, toMillionths } from "../transfer-logs.ts";
import { deleteAttempt } from "./attempt-store.ts";
import type { Attempt, OpenSend, Sender } from "./model.ts";

type AskDeps = { database: Database; now: Date; sender: Sender; askOwner: AskOwner };

const HELD_ASKED_AGAIN_AFTER_MS = 5_000;
const NOT_WANTED_ASKED_AGAIN_AFTER_MS = MINUTE_MS;

/**
 * Asks the owner of a planned send whether it may be signed. If not, its nonce is free again. What
 * no record wants was changed or added in the database: the operator has to look at it.
 */
export async function askBeforeSigning(
  { database, now, sender, askOwner }: AskDeps,
  send: OpenSend,
  attempt: Attempt,
): Promise<{ answer: OwnerAnswer; problem: string | null }> {
  const payment = paymentOf(sender, send);
  const answer = payment === "unknown" ? "not_wanted" : await askOwner(database, send.key, payment);
  if (answer === "wanted") return { answer, problem: null };
  const is_held = answer === "held";
  const problem = is_held
    ? null
    : `no record wants ${send.key} as it is stored: the row was not written by Sliproad, and is ` +
      "not signed";
  const pause_ms = is_held ? HELD_ASKED_AGAIN_AFTER_MS : NOT_WANTED_ASKED_AGAIN_AFTER_MS;
  const retry_at = new Date(now.getTime() + pause_ms);
  await deleteAttempt(database, send, attempt, { retry_at, problem }, now);
  return { answer, problem };
}

/**
 * The payment that a send would make; null where the signer itself sees to it that all stays within
 * our addresses; `unknown` for an amount or a token that no record can name.
 */
function paymentOf(
  { chain: { name, tokens } }: Sender,
  { chain, action, address_index }: OpenSend,
): Payment | null | "unknown" {
  if (chain !== name || action.kind === "unreadable") return "unknown";
  if (action.kind !== "token_transfer" || address_index !== null) return null;
  const token = tokens.find(({ address }) => address === action.contract);
  if (!token) return "unknown";
  const amount = toMillionths(action.amount, token.decimals);
  if (fromMillionths(amount, token.decimals) !== action.amount) return "unknown";
  return { chain, token: token.name as Token, amount, address: action.to };
}
