import type { Transaction } from "../db/database.ts";
import type { Command } from "./use-case.ts";

/** Which request causes an account's writes in a transaction. */
type Origin = {
  /** Null for background work, and where several requests have different traces. */
  trace_id: string | null;
  /** Null for background work. The commands of an account in a set have one sender. */
  actor: string | null;
};

const NO_ORIGIN: Origin = { trace_id: null, actor: null };
const origins = new WeakMap<Transaction, ReadonlyMap<string, Origin>>();

export function noteOrigins(tx: Transaction, commands: readonly Command<unknown>[]): void {
  if (commands.length === 0) return;
  const by_account = [...Map.groupBy(commands, ({ account_id }) => account_id)];
  const noted = by_account.map(([account_id, own]) => [account_id, originOf(own)] as const);
  origins.set(tx, new Map([...(origins.get(tx) ?? []), ...noted]));
}

/** For an operator's commands that change records of other accounts. */
export function noteOriginsElsewhere(
  tx: Transaction,
  changes: readonly { command: Command<unknown>; account_id: string }[],
): void {
  noteOrigins(
    tx,
    changes.map(({ command, account_id }) => ({ ...command, account_id })),
  );
}

function originOf(commands: readonly Command<unknown>[]): Origin {
  const traces = new Set(commands.map(({ trace_id }) => trace_id));
  const actors = new Set(
    commands.map(({ actor, credential_id }) => actor ?? `api_key:${credential_id}`),
  );
  const [trace_id = null] = traces.size === 1 ? traces : [];
  return { trace_id, actor: [...actors].sort().join(",") };
}

/** The request that causes this account's writes in the transaction. */
export function findOrigin(tx: Transaction, account_id: string): Origin {
  return origins.get(tx)?.get(account_id) ?? NO_ORIGIN;
}
