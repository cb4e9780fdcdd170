import type { Transaction } from "../db/database.ts";
import type { Refusal } from "../errors.ts";

/** As many rows as a set writes: a command with so many is a set of its own. */
export const SET_ROWS_MAX = 500;

/** As many bytes of stored records as a set opens, and keeps until the commit. */
export const LOADED_BYTES_MAX = 4_000_000;

/** An Idempotency-Key as keyed hashes: of the key, and of the request sent with it. */
export type Idempotency = { index: Buffer; request_hash: Buffer };

export type Command<Input> = {
  /** Identifies this attempt; another attempt of the same command has another id. */
  id: string;
  account_id: string;
  /** The key or token that authenticated the request. */
  credential_id: string;
  input: Input;
  idempotency: Idempotency | null;
  /** The W3C trace id of the request: 32 hex digits. */
  trace_id?: string | undefined;
  /** Who acts, if not the API key. */
  actor?: `member:${string}` | `proposal:${string}` | "command line";
  /** Whose key or member acts, if not the account's own: the operator's. */
  actor_account_id?: string;
  /** Two-person approval was requested or granted: permits what only an approval may permit. */
  approval?: "asked" | "given";
  /** One of the two was, or has to be, a member of the operator's account. */
  operator_approval?: boolean;
};

/** The person whose data an answer contains: the stored copy is encrypted with their key. */
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
 * A write for a set of commands at once: read the set, decide in pure code, write the set. A
 * refused command does not affect the others.
 */
export type UseCase<Input, Loaded, Output> = {
  name: string;
  /** How many rows the command writes, to bound a batch. */
  rows: (input: Input) => number;
  /**
   * About how many stored bytes `load` reads for each command, by its id, where that depends on
   * what is stored: a request of 200 bytes may name a record of megabytes. Reads only sizes; no
   * more than fits is loaded then, and nothing for requests that are only answered again. Null if
   * nothing of this set can be large: then it is loaded at once.
   */
  weigh?: (
    tx: Transaction,
    commands: readonly Command<Input>[],
  ) => Promise<Map<string, number>> | null;
  /** Sends all reads at once; locks come first, in separate statements. */
  load: (tx: Transaction, commands: readonly Command<Input>[]) => Promise<Loaded>;
  /**
   * Called for one command after the other, its answer rendered before the next; notes in `loaded`
   * what later ones must consider. Not called for those that are put off to the next set.
   */
  decide: (loaded: Loaded, command: Command<Input>, now: Date) => Verdict<Output>;
  /** Queues the writes of the accepted commands: one statement per table, unless it is large. */
  record: (
    tx: Transaction,
    loaded: Loaded,
    accepted: readonly Accepted<Input, Output>[],
    now: Date,
  ) => void | Promise<void>;
  /** The body of the answer. Rendered before the commit, because it is stored with the record. */
  render: (output: Output) => string;
};

/** A use case with its types erased, for the executor. */
export type AnyUseCase = UseCase<unknown, unknown, unknown>;

/**
 * Equal weights for commands whose cost is not known before they are loaded: a set has at most so
 * many of them.
 */
export function weighEqually(
  commands: readonly Command<unknown>[],
  per_set: number,
): Promise<Map<string, number>> | null {
  if (commands.length <= per_set) return null;
  return Promise.resolve(new Map(commands.map(({ id }) => [id, LOADED_BYTES_MAX / per_set])));
}
