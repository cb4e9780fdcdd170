import type { Database, Session } from "../../../src/platform/db/database.ts";

class Crash extends Error {}

export function isCrash(error: unknown): true {
  if (error instanceof Crash || (error as Error).cause instanceof Crash) return true;
  throw error;
}

/** A database whose caller dies at its nth call: before it, or after it and before the next. */
export function dyingAt(database: Database, call: number, moment: "before" | "after"): Database {
  let calls = 0;
  const guard = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    calls += 1;
    const is_last = calls === call;
    if (is_last && moment === "before") throw new Crash();
    const result = await work();
    if (is_last && moment === "after") throw new Crash();
    return result;
  };
  const query = (session: Session): Session["query"] => {
    return (text, values) => guard(() => session.query(text, values));
  };
  return {
    ...database,
    query: query(database),
    transaction: (work) =>
      guard(() => database.transaction((tx) => work({ ...tx, query: query(tx) }))),
  };
}
