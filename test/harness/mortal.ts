import type { Database } from "../../src/platform/db/database.ts";
import { Crash } from "./steps.ts";

/** The database of a process that ends just before or after its commit number `at`, from 0. */
function mortal(database: Database, at: number, when: "before" | "after") {
  let commits = 0;
  const mine = () => commits++ === at;
  const transaction: Database["transaction"] = async (work, options) => {
    const is_last = mine();
    const result = await database.transaction(async (tx) => {
      const done = await work(tx);
      if (is_last && when === "before") throw new Crash("ended before a commit");
      return done;
    }, options);
    if (is_last) throw new Crash("ended after a commit");
    return result;
  };
  return { database: { ...database, transaction }, countCommits: () => commits };
}

type Run = (work: (database: Database) => Promise<void>) => Promise<void>;

/**
 * Runs a scenario once for every commit of `run`, before and after it, with a process that ends
 * there. The scenario calls `run` where the process would be ended. Returns the number of commits.
 */
export async function atEveryCommit(
  database: Database,
  story: (run: Run, round: string) => Promise<void>,
): Promise<number> {
  let commits = 1;
  for (let at = 0; at < commits; at += 1) {
    for (const when of ["before", "after"] as const) {
      const process = mortal(database, at, when);
      await story((work) => work(process.database), `${when} commit ${at}`);
      commits = Math.max(commits, process.countCommits());
    }
  }
  return commits;
}
