import { RpcRefused } from "../json-rpc.ts";

/**
 * What a node means by its answer to `eth_sendRawTransaction`. Nodes have no codes for it, only
 * words; what is in no line of the table says nothing about the transaction.
 */
export type Answer =
  | "accepted"
  | "nonce_too_low"
  | "nonce_too_high"
  | "underpriced"
  | "no_funds"
  | "unknown";

const ANSWERS: readonly [Answer, readonly string[]][] = [
  ["accepted", ["already known", "alreadyknown", "known transaction", "already imported"]],
  ["nonce_too_low", ["nonce too low", "nonce is too low", "oldnonce"]],
  [
    "nonce_too_high",
    ["nonce too high", "nonce is too high", "too far in the future", "exceeds next nonce"],
  ],
  [
    "underpriced",
    [
      ...["underpriced", "replacementnotallowed", "feetoolow", "replacement fee too low"],
      ...["less than block base fee", "lower than the current base fee", "is lower than block"],
      ...["gas price too low", "max fee per gas too low", "which has a basefeepergas"],
    ],
  ],
  ["no_funds", ["insufficient funds", "doesn't have enough funds", "insufficientfunds"]],
];

/** The most telling of several nodes' answers comes first. */
const ORDER: readonly Answer[] = [
  ...(["accepted", "underpriced", "no_funds", "nonce_too_low"] as const),
  ...(["nonce_too_high", "unknown"] as const),
];

export function readAnswer(error: unknown): Answer {
  // Without an answer of the node itself nothing is known: it may have the transaction.
  if (!(error instanceof RpcRefused)) return "unknown";
  const said = error.message.toLowerCase();
  const found = ANSWERS.find(([, phrases]) => phrases.some((phrase) => said.includes(phrase)));
  return found?.[0] ?? "unknown";
}

export function clearestOf(answers: readonly Answer[]): Answer {
  return ORDER.find((one) => answers.includes(one))!;
}
