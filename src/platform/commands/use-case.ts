import type { Transaction } from "../db/database.ts";
import type { Refusal } from "../errors.ts";

/** An Idempotency-Key as keyed hashes: which key, and which request came with it. */
export type Idempotency = { index: Buffer; request_hash: Buffer };

export type Command<Input> = {
  /** Of this try to run it; a further try has another. */
  id: string;
  account_id: string;
  /** Of the key or token that the command came with. */
  credential_id: string;
  input: Input;
  idempotency: Idempotency | null;
  /** The W3C trace that the request came with: 32 hex digits. */
  trace_id?: string | undefined;
  /** Who acts, where it is not the key. */
  actor?: `member:${string}` | `proposal:${string}` | "command line";
  /** Two members are asked, or have agreed: then that is allowed which only they may allow. */
  approval?: "asked" | "given";
};

/** The person whose data an answer holds: the stored copy is sealed with their key. */
type AnswerSubject = { subject_id: string; key: Buffer };

export type Verdict<Output> =
  | { output: Output; subject: AnswerSubject | null }
  | { refusal: Refusal };

export type Accepted<Input, Output> = {
  command: Command<Input>;
  output: Output;
  subject: AnswerSubject | null;
};

/**
 * A write, for a set of commands at once: read the set, decide in pure code, write the set. One
 * refused command leaves its neighbours whole.
 */
export type UseCase<Input, Loaded, Output> = {
  name: string;
  /** How many rows the command writes, to bound a batch. */
  rows: (input: Input) => number;
  /** Sends all reads at once; locks come first, in their own statements. */
  load: (tx: Transaction, commands: readonly Command<Input>[]) => Promise<Loaded>;
  /** A verdict for each command, by its id. Sees what earlier commands of the set decided. */
  decide: (
    loaded: Loaded,
    commands: readonly Command<Input>[],
    now: Date,
  ) => Map<string, Verdict<Output>>;
  /** Queues the writes of what was accepted: one statement per table. */
  record: (
    tx: Transaction,
    loaded: Loaded,
    accepted: readonly Accepted<Input, Output>[],
    now: Date,
  ) => void;
  /** The body of the answer, before the commit: it is stored beside the record. */
  render: (output: Output) => string;
};

/** A use case whose types the executor need not know. */
export type AnyUseCase = UseCase<unknown, unknown, unknown>;
