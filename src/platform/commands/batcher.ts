import { Refusal } from "../errors.ts";
import { Shares } from "../shares.ts";
import { Fitting } from "./fitting.ts";
import { type Next, type Part, Rounds } from "./rounds.ts";
import { SLOW_AFTER_MS, SlowAccounts } from "./slow-accounts.ts";
import { SET_ROWS_MAX } from "./use-case.ts";

/** What the batcher needs to know about a command to place it. */
export type Batchable = {
  account_id: string;
  rows: number;
  bytes: number;
  /** Who sends it: those of two senders of an account never share a set (see `origins.ts`). */
  sender?: string;
};

/** Instead of an answer: nothing was done for this command, which waits for a later set. */
export const PUT_OFF = Symbol("put off");
export type PutOff = typeof PUT_OFF;

export type BatcherOptions<Command extends Batchable, Answer> = {
  /**
   * Runs a set and returns the answer of each command, keyed by the command. May put off some of
   * them, but answers the first. May throw only if certainly nothing was written: the commands are
   * then run again, each alone.
   */
  run: (commands: Command[]) => Promise<Map<Command, Answer | PutOff>>;
  /** Whether commands of several accounts may share a batch. */
  across_accounts: boolean;
  /** Limits of a batch; a single command above them runs alone. */
  rows_max?: number;
  bytes_max?: number;
  /**
   * These limits apply to each of the two queues; each account has its share of what may wait. Sets
   * of slow accounts are counted apart.
   */
  batches_in_flight_max?: number;
  /** An account whose batches take longer has them apart from the others' (`slow-accounts.ts`). */
  slow_after_ms?: number;
  /** How long a batch waits at most for callers that were just answered; 0 to not wait. */
  gather_ms?: number;
  commands_queued_max?: number;
  bytes_queued_max?: number;
};

type Waiting<Command, Answer> = {
  command: Command;
  at: number;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
};

type Space = { rows: number; bytes: number };
type Parts<Command, Answer> = Part<Waiting<Command, Answer>>[];

/** A command with more rows than this uses a separate queue, so that small ones do not wait. */
const LARGE_ROWS = 100;
/** One account gets at most this share of a batch while others wait. */
const ACCOUNT_SHARE = 1 / 4;
const RETRY_AFTER_SECONDS = 1;
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
  readonly #rounds = new Rounds<Waiting<Command, Answer>>();
  readonly #fitting: Fitting;
  readonly #slow = new SlowAccounts();
  readonly #queued: Shares;
  readonly #queued_bytes: Shares;
  #count = 0;
  readonly #in_flight = { fast: 0, slow: 0 };
  #expected = 0;
  #gathering: NodeJS.Timeout | undefined;

  constructor(options: BatcherOptions<Command, Answer>) {
    this.#options = {
      rows_max: SET_ROWS_MAX,
      bytes_max: 1_000_000,
      batches_in_flight_max: 2,
      gather_ms: GATHER_MS,
      slow_after_ms: SLOW_AFTER_MS,
      commands_queued_max: 10_000,
      bytes_queued_max: 64_000_000,
      ...options,
    };
    this.#fitting = new Fitting(this.#options.rows_max);
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
      this.#count += 1;
      this.#noteQueued(command);
      this.#rounds.add({ command, at: this.#count, resolve, reject });
      this.#pump();
    });
  }

  #noteQueued({ account_id, bytes }: Command): void {
    this.#queued.add(account_id);
    this.#queued_bytes.add(account_id, bytes);
  }

  /** An empty queue accepts a command of any size. */
  #isFull({ account_id, bytes }: Command): boolean {
    return !this.#queued.has(account_id) || !this.#queued_bytes.has(account_id, bytes);
  }

  #pump(): void {
    while (this.#queued.sum > 0) {
      const { fast, slow } = this.#in_flight;
      const { batches_in_flight_max: max } = this.#options;
      const is_full = fast >= max && (slow > 0 || this.#slow.isEmpty);
      if (is_full || this.#isGathering()) return;
      const now_ms = performance.now();
      const next = Map.groupBy(this.#rounds.next(), (one) => this.#paceOf(one, now_ms));
      // Slow accounts never delay the others, and use the whole queue only while these are quiet.
      const slow_max = fast > 0 || next.has("fast") ? 1 : max;
      if (next.has("fast") && fast < max) this.#start("fast", next.get("fast")!);
      else if (next.has("slow") && slow < slow_max) this.#start("slow", [next.get("slow")![0]!]);
      else return;
    }
  }

  #paceOf({ members }: Next<Waiting<Command, Answer>>, now_ms: number): "fast" | "slow" {
    return this.#slow.has(members[0]!.command.account_id, now_ms) ? "slow" : "fast";
  }

  #start(pace: "fast" | "slow", next: readonly Next<Waiting<Command, Answer>>[]): void {
    const parts = this.#takeSet(next);
    const count = parts.reduce((sum, { members }) => sum + members.length, 0);
    const account_ids = parts.map(({ members }) => members[0]!.command.account_id);
    let noted_ms = performance.now();
    let counted = pace;
    const noteSlow = () => {
      const now_ms = performance.now();
      this.#slow.noteSlow(account_ids, now_ms - noted_ms, now_ms);
      noted_ms = now_ms;
      // The others do not wait for its end, of which nobody knows when it comes.
      this.#in_flight[counted] -= 1;
      counted = "slow";
      this.#in_flight.slow += 1;
    };
    let is_slow = false;
    const timer = setTimeout(() => {
      is_slow = true;
      noteSlow();
      this.#pump();
    }, this.#options.slow_after_ms);
    this.#in_flight[pace] += 1;
    void this.#runSet(parts).finally(() => {
      clearTimeout(timer);
      if (is_slow) noteSlow();
      else this.#slow.noteFast(account_ids);
      this.#in_flight[counted] -= 1;
      this.#gather(count);
      this.#pump();
    });
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

  /** Takes commands account by account; while several accounts wait, each gets its share. */
  #takeSet(all: readonly Next<Waiting<Command, Answer>>[]): Parts<Command, Answer> {
    const { rows_max, bytes_max, across_accounts } = this.#options;
    const next = across_accounts ? all : all.slice(0, 1);
    const part = next.length > 1 ? ACCOUNT_SHARE : 1;
    const free: Space = { rows: rows_max, bytes: bytes_max };
    const parts: Parts<Command, Answer> = [];
    for (const one of next) {
      const share = { rows: rows_max * part, bytes: bytes_max * part };
      const count = this.#countFitting(one.members, free, share, parts.length === 0);
      // One that got nothing keeps its turn: it is first sooner or later, where a command of any
      // size is served.
      if (count > 0) parts.push(this.#rounds.take(one, count));
      if (free.rows <= 0) break;
    }
    return parts;
  }

  /** How many there is space for, which is then used. */
  #countFitting(
    members: readonly Waiting<Command, Answer>[],
    free: Space,
    share: Space,
    is_first: boolean,
  ): number {
    const count_max = this.#fitting.countMax(members[0]!.command.account_id);
    let count = 0;
    for (const { command } of members) {
      // The first account in the round always gets one command through, whatever its size; the
      // others get one if it fits into the batch, even if it exceeds their share.
      const fits =
        count === 0 ? is_first || isWithin(command, free) : isWithin(command, free, share);
      if (!fits || count === count_max) break;
      for (const space of [free, share]) {
        space.rows -= command.rows;
        space.bytes -= command.bytes;
      }
      this.#queued.leave(command.account_id);
      this.#queued_bytes.leave(command.account_id, command.bytes);
      count += 1;
    }
    return count;
  }

  async #runSet(parts: Readonly<Parts<Command, Answer>>): Promise<void> {
    const set = parts.flatMap(({ members }) => members);
    let answers: Map<Command, Answer | PutOff>;
    try {
      answers = await this.#options.run(set.map(({ command }) => command));
    } catch (error) {
      if (set.length === 1) return set[0]!.reject(error);
      // One command may have caused the failure: run each alone, so that only that one fails.
      for (const part of parts) {
        for (const one of part.members) await this.#runSet([{ ...part, members: [one] }]);
      }
      return;
    }
    const isPutOff = ({ command }: (typeof set)[number]) => answers.get(command) === PUT_OFF;
    // It would otherwise be run for ever.
    if (set.every(isPutOff)) {
      for (const { reject } of set) reject(new Error("every command was put off"));
      return;
    }
    for (const part of parts) this.#putBack(part, part.members.filter(isPutOff));
    for (const { command, resolve, reject } of set) {
      const answer = answers.get(command);
      if (answer === undefined) reject(new Error("a command was left without an answer"));
      else if (answer !== PUT_OFF) resolve(answer);
    }
  }

  #putBack(
    part: Part<Waiting<Command, Answer>>,
    put_off: readonly Waiting<Command, Answer>[],
  ): void {
    const { account_id } = part.members[0]!.command;
    this.#fitting.note(account_id, part.members.length - put_off.length, put_off.length);
    for (const { command } of put_off) this.#noteQueued(command);
    this.#rounds.putBack(part, put_off);
  }
}

function isWithin(command: Batchable, ...spaces: readonly Space[]): boolean {
  return spaces.every((space) => command.rows <= space.rows && command.bytes <= space.bytes);
}
