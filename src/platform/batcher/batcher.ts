import { Refusal } from "../errors.ts";

/** What the batcher must know of a command to place it. */
export type Batchable = { account_id: string; rows: number; bytes: number };

export type BatcherOptions<Command extends Batchable, Answer> = {
  /** Runs a set; gives each command its own answer, found again by the command itself. */
  run: (commands: Command[]) => Promise<Map<Command, Answer>>;
  /** Whether commands of several accounts may share a batch. */
  across_accounts: boolean;
  rows_max?: number;
  bytes_max?: number;
  batches_in_flight_max?: number;
  commands_queued_max?: number;
};

type Waiting<Command, Answer> = {
  command: Command;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
};

/** A command with more rows than this runs in a lane of its own, so that small ones do not wait. */
const LARGE_ROWS = 100;
const RETRY_AFTER_SECONDS = 1;

/**
 * Coalesces concurrent commands into sets. The first runs at once; those that arrive while it runs
 * form the next set. Never waits for more to come: an idle service adds no delay.
 */
export class Batcher<Command extends Batchable, Answer> {
  readonly #small: Lane<Command, Answer>;
  readonly #large: Lane<Command, Answer>;

  constructor(options: BatcherOptions<Command, Answer>) {
    this.#small = new Lane(options);
    this.#large = new Lane(options);
  }

  submit(command: Command): Promise<Answer> {
    const lane = command.rows > LARGE_ROWS ? this.#large : this.#small;
    return lane.submit(command);
  }
}

class Lane<Command extends Batchable, Answer> {
  readonly #options: Required<BatcherOptions<Command, Answer>>;
  // One queue per account, in turn: the account at the front is served first, then goes to the end.
  readonly #queues = new Map<string, Waiting<Command, Answer>[]>();
  #queued = 0;
  #in_flight = 0;

  constructor(options: BatcherOptions<Command, Answer>) {
    this.#options = {
      rows_max: 500,
      bytes_max: 1_000_000,
      batches_in_flight_max: 2,
      commands_queued_max: 10_000,
      ...options,
    };
  }

  submit(command: Command): Promise<Answer> {
    if (this.#queued >= this.#options.commands_queued_max) {
      const message = "Too many requests are waiting; nothing was done, try again shortly.";
      return Promise.reject(new Refusal("unavailable", message, RETRY_AFTER_SECONDS));
    }
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(command.account_id);
      const waiting = { command, resolve, reject };
      if (queue) queue.push(waiting);
      else this.#queues.set(command.account_id, [waiting]);
      this.#queued += 1;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#queued > 0 && this.#in_flight < this.#options.batches_in_flight_max) {
      const batch = this.#takeBatch();
      this.#in_flight += 1;
      this.#runBatch(batch).finally(() => {
        this.#in_flight -= 1;
        this.#pump();
      });
    }
  }

  /**
   * Takes commands account by account, in turn. While others wait, one account gets at most a
   * quarter of the batch; what is left over is then filled with whoever still waits.
   */
  #takeBatch(): Waiting<Command, Answer>[] {
    const { rows_max, bytes_max, across_accounts } = this.#options;
    const room = { rows: rows_max, bytes: bytes_max };
    const batch: Waiting<Command, Answer>[] = [];
    const accounts = [...this.#queues.keys()];
    if (!across_accounts) accounts.length = 1;
    const share = accounts.length > 1 ? { rows: rows_max / 4, bytes: bytes_max / 4 } : room;
    for (const account_id of accounts) this.#takeFrom(account_id, batch, room, { ...share });
    for (const account_id of accounts) this.#takeFrom(account_id, batch, room, room);
    return batch;
  }

  #takeFrom(
    account_id: string,
    batch: Waiting<Command, Answer>[],
    room: { rows: number; bytes: number },
    share: { rows: number; bytes: number },
  ): void {
    const queue = this.#queues.get(account_id);
    if (!queue) return;
    let taken = 0;
    for (const { command } of queue) {
      const fits = [room, share].every(
        (space) => command.rows <= space.rows && command.bytes <= space.bytes,
      );
      // The first command of a batch always runs, however large it is.
      if (!fits && batch.length + taken > 0) break;
      for (const space of room === share ? [room] : [room, share]) {
        space.rows -= command.rows;
        space.bytes -= command.bytes;
      }
      taken += 1;
    }
    batch.push(...queue.splice(0, taken));
    this.#queued -= taken;
    // The account goes to the end of the turn, or leaves it.
    this.#queues.delete(account_id);
    if (queue.length > 0) this.#queues.set(account_id, queue);
  }

  async #runBatch(batch: Waiting<Command, Answer>[]): Promise<void> {
    let answers: Map<Command, Answer>;
    try {
      answers = await this.#options.run(batch.map((waiting) => waiting.command));
    } catch (error) {
      if (batch.length === 1) return batch[0]!.reject(error);
      // One of them may be poison: each gets one run of its own, so that it hurts only itself.
      for (const waiting of batch) await this.#runBatch([waiting]);
      return;
    }
    for (const { command, resolve, reject } of batch) {
      const answer = answers.get(command);
      if (answer === undefined) reject(new Error("a command was left without an answer"));
      else resolve(answer);
    }
  }
}
