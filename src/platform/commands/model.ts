import type { Clock } from "../clock.ts";
import type { Database, Session } from "../db/database.ts";
import type { Keyring } from "../encryption/keyring.ts";
import type { Refusal } from "../errors.ts";
import type { Batchable, PutOff } from "./batcher.ts";
import type { Command, Idempotency } from "./use-case.ts";

/** A command as a caller submits it. */
export type CommandRequest<Input> = {
  account_id: string;
  credential_id: string;
  input: Input;
  bytes: number;
  idempotency: Idempotency | null;
  trace_id?: string | undefined;
  /** The member who acts, if not an API key. */
  actor?: `member:${string}`;
  /** Whose key it is, if not the account's own: the operator's. */
  actor_account_id?: string;
};

/** The body of the answer, and whether it replays the answer to an earlier request. */
export type Answer = { body: string; replayed: boolean };

export type Outcome = { answer: Answer } | { refusal: Refusal };

/** A request in the queue of its use case. */
export type Queued = Batchable & { request: CommandRequest<unknown> };

/** One attempt to run a set, and the outcomes if it commits. */
export type Try = {
  commands: ReadonlyMap<Queued, Command<unknown>>;
  /** By the command's id, never by position. */
  outcomes: Map<string, Outcome | PutOff>;
  /** The commands whose rows are part of the transaction. */
  written: Command<unknown>[];
};

export type ExecutorDeps = {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  across_accounts: boolean;
  /** Which of these keys and tokens are still active. Commands ask in their transaction. */
  findActiveCredentials: (
    session: Session,
    credential_ids: string[],
    account_ids: string[],
    real_time: Date,
    /** The account of the transaction, if it is of one. */
    tenant_id?: string,
  ) => Promise<Set<string>>;
  /** Called after a commit, so that a worker of this process looks for tasks at once. */
  afterCommit: () => void;
  /** A statement unanswered for this long counts as failed, and its connection as lost. */
  answer_max_ms?: number;
  /** How long to keep asking whether a commit happened whose answer was lost. */
  find_outcome_max_ms?: number;
};
