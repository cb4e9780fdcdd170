import type { LoggedTransfer } from "../transfer-logs.ts";
import type { StoredAction } from "./model.ts";

type ExpectedTransfer = { contract: string; from: string; to: string; amount: bigint };

/** The transfer that an action's receipt must have; null where it moves no tokens. */
export function expectedTransfer(action: StoredAction, sender: string): ExpectedTransfer | null {
  if (action.kind === "token_transfer") return { ...action, from: sender };
  if (action.kind !== "sweep_with_authorization") return null;
  return { ...action, from: action.address, to: sender };
}

export function isExpected(
  { log, from, to, value }: LoggedTransfer,
  expected: ExpectedTransfer,
): boolean {
  const is_between = from === expected.from && to === expected.to;
  return is_between && log.contract === expected.contract && value === expected.amount;
}
