import type { Clock } from "../clock.ts";
import type { Database, Transaction } from "../db/database.ts";
import type { Keyring } from "../encryption/keyring.ts";
import type { Refusal } from "../errors.ts";
import type { Batchable } from "./batcher.ts";
import type { Command, Idempotency } from "./use-case.ts";

/** What a caller hands in. */
export type CommandRequest<Input> = {
  account_id: string;
  credential_id: string;
  input: Input;
  bytes: number;
  idempotency: Idempotency | null;
  trace_id?: string | undefined;
};

/** What the caller gets: the body, and whether it is an earlier request's answer again. */
export type Answer = { body: string; replayed: boolean };

export type Outcome = { answer: Answer } | { refusal: Refusal };

/** A request in the queue of its use case. */
export type Queued = Batchable & { request: CommandRequest<unknown> };

/** One try to run a set, and what came of it if it commits. */
export type Try = {
  commands: ReadonlyMap<Queued, Command<unknown>>;
  /** By the command's id, never by position. */
  outcomes: Map<string, Outcome>;
  /** Those whose rows stand or fall with the commit. */
  written: Command<unknown>[];
};

export type ExecutorDeps = {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  across_accounts: boolean;
  /** Of these keys and tokens, which may still be used? Asked in the transaction itself. */
  findActiveCredentials: (
    tx: Transaction,
    credential_ids: string[],
    account_ids: string[],
  ) => Promise<Set<string>>;
  /** Called after a commit, so that a worker of this process looks for tasks at once. */
  afterCommit: () => void;
  /** A statement unanswered for this long counts as lost with its connection. */
  answer_max_ms?: number;
  /** For how long the fate of a commit is asked for whose answer was lost. */
  find_outcome_max_ms?: number;
};
