import { AsyncLocalStorage } from "node:async_hooks";
import type { Database, Session, Transaction } from "../../src/platform/db/database.ts";
import type { Random } from "./random.ts";

/** The process ended at this await: nothing after it happens. */
export class Crash extends Error {}

/**
 * A simulated process. It ends after `steps_left` more awaits and is started again at once: what
 * the earlier one was doing belongs to an old generation and never goes on.
 */
export type Life = { generation: number; steps_left: number; crashes: number };

/** A statement that takes longer waits for a lock that another transaction has. */
const BLOCKED_AFTER_MS = 15;

const running = new AsyncLocalStorage<{ life: Life; generation: number }>();

export type Schedule = ReturnType<typeof createSchedule>;

/**
 * Decides at every await on the database or on a partner who goes next, and who ends there. One
 * statement runs at a time, chosen by the seed; another one begins only when it was answered, or
 * waits for a lock.
 */
export function createSchedule() {
  let random: Random | null = null;
  let in_flight = 0;
  let waiting: (() => void)[] = [];

  const goOn = () => {
    if (waiting.length === 0 || in_flight > 0) return;
    const [go] = waiting.splice(random ? random.below(waiting.length) : 0, 1);
    in_flight += 1;
    go!();
  };
  const goOnSoon = () => void setImmediate(goOn);

  /** Waits for its turn; returns what ends it. */
  async function enter(): Promise<() => void> {
    if (random === null) return () => {};
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      goOnSoon();
    });
    let is_counted = true;
    const leave = () => {
      clearTimeout(blocked);
      if (!is_counted) return;
      is_counted = false;
      in_flight -= 1;
      goOnSoon();
    };
    const blocked = setTimeout(leave, BLOCKED_AFTER_MS);
    return leave;
  }

  /** One await of a process: it may end before it or after it. */
  async function step<Result>(life: Life, work: () => Promise<Result>): Promise<Result> {
    pass(life);
    const leave = await enter();
    try {
      pass(life, 0);
      const result = await work();
      pass(life);
      return result;
    } finally {
      leave();
    }
  }

  function wrapSession(life: Life, session: Session): Session["query"] {
    let last: Promise<unknown> = Promise.resolve();
    return <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      if (random === null && life.steps_left === Number.POSITIVE_INFINITY) {
        pass(life, 0);
        return session.query<Row>(text, values);
      }
      // Statements of one transaction keep their order.
      const answer = last.then(() => step(life, () => session.query<Row>(text, values)));
      last = answer.catch(() => {});
      return answer;
    };
  }

  return {
    step,
    /** The database as a process sees it. */
    wrap: (database: Database, life: Life): Database => ({
      ...database,
      query: (text, values) => step(life, () => database.query(text, values)),
      transaction: async (work, options) => {
        pass(life);
        const result = await database.transaction(async (tx) => {
          const wrapped: Transaction = { ...tx, query: wrapSession(life, tx) };
          const done = await work(wrapped);
          const leave = await enter();
          leave();
          pass(life);
          return done;
        }, options);
        pass(life);
        return result;
      },
    }),
    /** Runs work of a process. */
    run: <Result>(life: Life, work: () => Promise<Result>): Promise<Result> =>
      running.run({ life, generation: life.generation }, work),
    /** Runs these together, in an order that the seed decides. */
    together: async (chosen: Random, works: readonly (() => Promise<unknown>)[]): Promise<void> => {
      random = chosen;
      try {
        const ended = await Promise.allSettled(works.map((work) => work()));
        const failed = ended.find((one) => one.status === "rejected");
        if (failed) throw failed.reason;
      } finally {
        random = null;
        const left = waiting;
        waiting = [];
        in_flight = 0;
        for (const go of left) go();
      }
    },
  };
}

/** Ends the process if this was its last step. */
function pass(life: Life, steps = 1): void {
  const own = running.getStore();
  if (own?.life === life && own.generation !== life.generation) {
    life.crashes += 1;
    throw new Crash("had ended");
  }
  life.steps_left -= steps;
  if (life.steps_left > 0) return;
  life.steps_left = Number.POSITIVE_INFINITY;
  life.generation += 1;
  life.crashes += 1;
  throw new Crash("ended here");
}
