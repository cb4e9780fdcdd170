import type { Database } from "../../src/platform/db/database.ts";
import { Crash } from "./steps.ts";

type Moment = "before" | "after";

/** A process that ends before or after its commit number `at`, from 0, and does nothing more. */
export function endingAt(database: Database, at: number, when: Moment) {
  let commits = 0;
  let is_dead = false;
  const die = () => {
    is_dead = true;
    throw new Crash(`ended ${when} a commit`);
  };
  const assertAlive = () => {
    if (is_dead) throw new Crash("ended before");
  };
  const query: Database["query"] = async (text, values) => {
    assertAlive();
    return database.query(text, values);
  };
  const transaction: Database["transaction"] = async (work, options) => {
    assertAlive();
    const is_last = commits++ === at;
    const result = await database.transaction(async (tx) => {
      const done = await work(tx);
      if (is_last && when === "before") die();
      return done;
    }, options);
    return is_last ? die() : result;
  };
  return { database: { ...database, query, transaction }, wasEnded: () => is_dead };
}
