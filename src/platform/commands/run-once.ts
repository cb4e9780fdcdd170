import type { Transaction } from "../db/database.ts";
import type { Refusal } from "../errors.ts";
import type { Command, UseCase } from "./use-case.ts";

/** Runs one command in an open transaction; a refused command has written nothing. */
export async function runOnce<Input, Loaded, Output>(
  tx: Transaction,
  use_case: UseCase<Input, Loaded, Output>,
  command: Command<Input>,
  now: Date,
): Promise<{ output: Output } | { refusal: Refusal }> {
  const loaded = await use_case.load(tx, [command]);
  const verdict = use_case.decide(loaded, command, now);
  if ("refusal" in verdict) return verdict;
  await use_case.record(tx, loaded, [{ command, ...verdict }], now);
  return verdict;
}
