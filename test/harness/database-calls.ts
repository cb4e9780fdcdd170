import type { Database } from "../../src/platform/db/database.ts";

/**
 * A database that says when each of its statements and commits is about to be sent, and when its
 * answer has arrived.
 */
export function withCalls(database: Database, onCall: () => void): Database {
  const around = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    onCall();
    const result = await work();
    onCall();
    return result;
  };
  return {
    ...database,
    query: (text, values) => around(() => database.query(text, values)),
    transaction: async (work, options) => {
      const result = await database.transaction(async (tx) => {
        const done = await work({
          ...tx,
          query: (text, values) => around(() => tx.query(text, values)),
          write: (text, values) => tx.write(text, values),
        });
        onCall();
        return done;
      }, options);
      onCall();
      return result;
    },
  };
}
