import { AsyncLocalStorage } from "node:async_hooks";

/**
 * On whose behalf the current work runs. What a request or a set of tasks starts inherits
 * it: so the pool of connections knows whose work waits, and lets callers and tasks take
 * turns (connection-turns.ts). Without a context, work is the service's own, such as claims.
 */
export type CallerContext = {
  /** An account; the caller's network while the account is not known; for tasks see below. */
  name: string;
  /** Tasks have connections of their own to take turns for. */
  is_task: boolean;
  /** False while it is a network: somebody can have as many as they like. */
  is_known: boolean;
  /** Something was done for it already: it may still be delayed, but is not refused. */
  has_begun: boolean;
  is_gone: boolean;
  /** It has a connection. What it needs besides does not wait: it could wait for itself. */
  has_connection: boolean;
  /** For how long it had connections, those of the same time added up. */
  used_ms: number;
};

const contexts = new AsyncLocalStorage<CallerContext | undefined>();

/**
 * For work that began in an event of a connection, which does not tell its request: all such work
 * takes turns as one caller.
 */
const NOBODY = contextOf("", true);

export function contextOf(name: string, is_begun = false): CallerContext {
  const state = { has_begun: is_begun, is_gone: false, has_connection: false, used_ms: 0 };
  return { name, is_task: false, is_known: true, ...state };
}

/** Of tasks of one account, whatever their kind, or of several accounts and one kind. */
export function contextOfTasks(kind: string, account_ids: readonly string[]): CallerContext {
  const [account_id, ...others] = new Set(account_ids);
  const name = others.length === 0 ? `tasks of ${account_id}` : `${kind} of several accounts`;
  return { ...contextOf(name, true), is_task: true };
}

export function contextOfNetwork(network: string): CallerContext {
  return { ...contextOf(network), is_known: false };
}

export function currentCaller(): CallerContext | undefined {
  return contexts.getStore();
}

export function runFor<Result>(caller: CallerContext, work: () => Result): Result {
  return contexts.run(caller, work);
}

/** For what many callers wait for together: it must not wait for the turn of one of them. */
export function runForService<Result>(work: () => Result): Result {
  return contexts.run(undefined, work);
}

export function runForNobody<Result>(work: () => Result): Result {
  return contexts.run(NOBODY, work);
}

export function runWithConnection<Result>(work: () => Result): Result {
  const caller = contexts.getStore();
  return caller ? contexts.run({ ...caller, has_connection: true }, work) : work();
}

/** The account of the current request is known from here on. */
export function setCaller(account_id: string): void {
  const caller = contexts.getStore();
  if (!caller || caller === NOBODY || caller.is_task || caller.name === account_id) return;
  caller.name = account_id;
  caller.is_known = true;
  caller.has_begun = false;
}

/** The current request has changed something: it is not refused any more. */
export function noteBegun(): void {
  const caller = contexts.getStore();
  if (caller) caller.has_begun = true;
}
