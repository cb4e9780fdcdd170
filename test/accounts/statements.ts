import { vi } from "vitest";
import type { Database } from "../../src/platform/db/database.ts";

/**
 * Records the text of every statement that is sent while `work` runs. Two requests that send the
 * same statements, and hash the same number of passwords, take equally long.
 */
export async function statementsOf(
  database: Database,
  work: () => Promise<unknown>,
): Promise<string[]> {
  const statements: string[] = [];
  const { query, transaction } = { query: database.query, transaction: database.transaction };
  const spies = [
    vi.spyOn(database, "query").mockImplementation((text, values) => {
      statements.push(text);
      return query(text, values) as never;
    }),
    vi.spyOn(database, "transaction").mockImplementation((run, options) =>
      transaction(
        (tx) =>
          run({
            ...tx,
            query: (text, values) => {
              statements.push(text);
              return tx.query(text, values);
            },
            write: (text, values) => {
              statements.push(text);
              tx.write(text, values);
            },
          }) as never,
        options,
      ),
    ),
  ];
  await work();
  for (const spy of spies) spy.mockRestore();
  return statements;
}
