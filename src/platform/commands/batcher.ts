import { Refusal } from "../errors.ts";
import { LruMap } from "../lru-map.ts";
import { Shares } from "../shares.ts";

/** What the batcher needs to know about a command to place it. */
export type Batchable = {
  account_id: string;
  rows: number;
  bytes: number;
  /** Who sends it: those of two senders of an account never share a set (see `origins.ts`). */
  sender?: string;
};

/** Instead of an answer: nothing was done for this command, which is part of the next set. */
export const PUT_OFF = Symbol("put off");
export type PutOff = typeof PUT_OFF;

export type BatcherOptions<Command extends Batchable, Answer> = {
  /**
   * Runs a set and returns the answer of each command, keyed by the command. May put off some of
   * them, never all. May throw only if certainly nothing was written: the commands are then run
   * again, each alone.
   */
  run: (commands: Command[]) => Promise<Map<Command, Answer | PutOff>>;
  /** Whether commands of several accounts may share a batch. */
  across_accounts: boolean;
  /** Limits of a batch; a single command above them runs alone. */
  rows_max?: number;
  bytes_max?: number;
  /** These limits apply to each of the two queues; each account has its share of what may wait. */
  batches_in_flight_max?: number;
  /** How long a batch waits at most for callers that were just answered; 0 to not wait. */
  gather_ms?: number;
  commands_queued_max?: number;
  bytes_queued_max?: number;
};

type Waiting<Command, Answer> = {
  command: Command;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
};

type Space = { rows: number; bytes: number };

/** A command with more rows than this uses a separate queue, so that small ones do not wait. */
const LARGE_ROWS = 100;
/** One account gets at most this share of a batch while others wait. */
const ACCOUNT_SHARE = 1 / 4;
const RETRY_AFTER_SECONDS = 1;
const FITTING_MAX = 10_000;
/** Shorter than a commit, and long enough for a few dozen callers to send the next request. */
const GATHER_MS = 4;

/**
 * Coalesces concurrent commands into sets. The first runs at once; those that arrive while it runs
 * form the next set. An idle service adds no delay, nor does one with a single caller.
 */
export class Batcher<Command extends Batchable, Answer> {
  readonly #small: BatchQueue<Command, Answer>;
  readonly #large: BatchQueue<Command, Answer>;

  constructor(options: BatcherOptions<Command, Answer>) {
    this.#small = new BatchQueue(options);
    this.#large = new BatchQueue(options);
  }

  submit(command: Command): Promise<Answer> {
    const queue = command.rows > LARGE_ROWS ? this.#large : this.#small;
    return queue.submit(command);
  }
}

class BatchQueue<Command extends Batchable, Answer> {
  readonly #options: Required<BatcherOptions<Command, Answer>>;
  // One queue per account and sender, round-robin: the first is served, then moves to the end.
  readonly #queues = new Map<string, Waiting<Command, Answer>[]>();
  readonly #queued: Shares;
  readonly #queued_bytes: Shares;
  /** Of queues whose last set was not answered as a whole: how many fitted into it. */
  readonly #fitting = new LruMap<string, number>(FITTING_MAX);
  #in_flight = 0;
  #expected = 0;
  #gathering: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<Command, Answer>) {
    this.#options = {
      rows_max: 500,
      bytes_max: 1_000_000,
      batches_in_flight_max: 2,
      gather_ms: GATHER_MS,
      commands_queued_max: 10_000,
      bytes_queued_max: 64_000_000,
      ...options,
    };
    this.#queued = new Shares(this.#options.commands_queued_max);
    this.#queued_bytes = new Shares(this.#options.bytes_queued_max);
  }

  submit(command: Command): Promise<Answer> {
    if (this.#isFull(command)) {
      const message =
        "Too many requests are waiting. This one was not processed; try again shortly.";
      return Promise.reject(new Refusal("unavailable", message, RETRY_AFTER_SECONDS));
    }
    return new Promise((resolve, reject) => {
      this.#queueOf(command).push({ command, resolve, reject });
      this.#pump();
    });
  }

  /** The queue to which the command is about to be added. */
  #queueOf(command: Command): Waiting<Command, Answer>[] {
    const name = queueName(command);
    const queue = this.#queues.get(name) ?? [];
    this.#queues.set(name, queue);
    this.#queued.add(command.account_id);
    this.#queued_bytes.add(command.account_id, command.bytes);
    return queue;
  }

  /** An empty queue accepts a command of any size. */
  #isFull({ account_id, bytes }: Command): boolean {
    return !this.#queued.has(account_id) || !this.#queued_bytes.has(account_id, bytes);
  }

  #pump(): void {
    while (this.#queued.sum > 0 && this.#in_flight < this.#options.batches_in_flight_max) {
      if (this.#isGathering()) return;
      const batch = this.#takeBatch();
      this.#in_flight += 1;
      void this.#runBatch(batch).finally(() => {
        this.#in_flight -= 1;
        this.#gather(batch.length);
        this.#pump();
      });
    }
  }

  /**
   * Callers that were just answered usually send the next request at once. The first of these must
   * not use a whole commit alone while the others wait for it: the next batch waits briefly until
   * as many commands have arrived as were answered. A single caller never waits.
   */
  #gather(answered: number): void {
    if (answered <= 1 || this.#options.gather_ms === 0) return;
    this.#expected = answered;
    clearTimeout(this.#gathering);
    this.#gathering = setTimeout(() => {
      this.#gathering = undefined;
      this.#pump();
    }, this.#options.gather_ms);
  }

  #isGathering(): boolean {
    if (this.#gathering === undefined) return false;
    if (this.#queued.sum < this.#expected) return true;
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    return false;
  }

  /**
   * Takes commands account by account, round-robin; while several accounts wait, each gets its
   * share.
   */
  #takeBatch(): Waiting<Command, Answer>[] {
    const { rows_max, bytes_max, across_accounts } = this.#options;
    const names = this.#firstOfEachAccount();
    if (!across_accounts) names.length = 1;
    const part = names.length > 1 ? ACCOUNT_SHARE : 1;
    const free: Space = { rows: rows_max, bytes: bytes_max };
    const batch: Waiting<Command, Answer>[] = [];
    for (const name of names) {
      const share = { rows: rows_max * part, bytes: bytes_max * part };
      batch.push(...this.#takeFrom(name, free, share, batch.length === 0));
      if (free.rows <= 0) break;
    }
    return batch;
  }

  /** The names of the queues that are next, of each account one. */
  #firstOfEachAccount(): string[] {
    const by_account = new Map<string, string>();
    for (const [name, [first]] of this.#queues) {
      const { account_id } = first!.command;
      if (!by_account.has(account_id)) by_account.set(account_id, name);
    }
    return [...by_account.values()];
  }

  #takeFrom(
    name: string,
    free: Space,
    share: Space,
    is_first: boolean,
  ): Waiting<Command, Answer>[] {
    const queue = this.#queues.get(name)!;
    const count_max = this.#fitting.get(name) ?? queue.length;
    let count = 0;
    for (const { command } of queue.slice(0, count_max)) {
      // The first account in the round always gets one command through, whatever its size; the
      // others get one if it fits into the batch, even if it exceeds their share.
      const fits =
        count === 0 ? is_first || isWithin(command, free) : isWithin(command, free, share);
      if (!fits) break;
      for (const space of [free, share]) {
        space.rows -= command.rows;
        space.bytes -= command.bytes;
      }
      this.#queued.leave(command.account_id);
      this.#queued_bytes.leave(command.account_id, command.bytes);
      count += 1;
    }
    // The account moves to the end of the round, or leaves it. One that got nothing keeps its
    // place: it advances to the front, where a command of any size is served.
    if (count > 0) this.#queues.delete(name);
    if (count > 0 && count < queue.length) this.#queues.set(name, queue);
    return queue.splice(0, count);
  }

  async #runBatch(batch: readonly Waiting<Command, Answer>[]): Promise<void> {
    let answers: Map<Command, Answer | PutOff>;
    try {
      answers = await this.#options.run(batch.map((waiting) => waiting.command));
    } catch (error) {
      if (batch.length === 1) return batch[0]!.reject(error);
      // One command may have caused the failure: run each alone, so that only that one fails.
      for (const waiting of batch) await this.#runBatch([waiting]);
      return;
    }
    const put_off = batch.filter(({ command }) => answers.get(command) === PUT_OFF);
    const answered = batch.filter((waiting) => !put_off.includes(waiting));
    this.#noteFitting(put_off, answered);
    // Otherwise they would be run for ever.
    if (answered.length > 0) this.#putBack(put_off, answered);
    else for (const { reject } of put_off) reject(new Error("every command was put off"));
    for (const { command, resolve, reject } of answered) {
      const answer = answers.get(command);
      if (answer === undefined || answer === PUT_OFF) {
        reject(new Error("a command was left without an answer"));
      } else resolve(answer);
    }
  }

  /** A set loads what it then puts off: the next one takes no more than fitted, then more again. */
  #noteFitting(
    put_off: readonly Waiting<Command, Answer>[],
    answered: readonly Waiting<Command, Answer>[],
  ): void {
    const is_put_off = new Set(put_off.map(({ command }) => queueName(command)));
    const counts = new Map<string, number>();
    for (const { command } of answered) {
      const name = queueName(command);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const [name, count] of counts) {
      if (is_put_off.has(name)) this.#fitting.set(name, count);
      else if (this.#fitting.get(name) === undefined) continue;
      else if (count * 2 < this.#options.rows_max) this.#fitting.set(name, count * 2);
      else this.#fitting.delete(name);
    }
  }

  /**
   * At the start of their queues. Queues of which nothing was answered come first in the next
   * round: behind one whose single commands fill a set they would wait for ever.
   */
  #putBack(
    put_off: readonly Waiting<Command, Answer>[],
    answered: readonly Waiting<Command, Answer>[],
  ): void {
    if (put_off.length === 0) return;
    for (const waiting of put_off.toReversed()) this.#queueOf(waiting.command).unshift(waiting);
    const served = new Set(answered.map(({ command }) => queueName(command)));
    const names = put_off.map(({ command }) => queueName(command));
    const first = new Set(names.filter((name) => !served.has(name)));
    const others = [...this.#queues.keys()].filter((name) => !first.has(name));
    const queues = [...first, ...others].map((name) => [name, this.#queues.get(name)!] as const);
    this.#queues.clear();
    for (const [name, queue] of queues) this.#queues.set(name, queue);
  }
}

function queueName({ account_id, sender = "" }: Batchable): string {
  return `${account_id} ${sender}`;
}

function isWithin(command: Batchable, ...spaces: readonly Space[]): boolean {
  return spaces.every((space) => command.rows <= space.rows && command.bytes <= space.bytes);
}
