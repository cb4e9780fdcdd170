import type { Database, Session, Transaction } from "../../src/platform/db/database.ts";
import { DatabaseUnavailableError } from "../../src/platform/db/outages.ts";

/**
 * A database as if its accounts were on several servers, of which the last one is lost or not: a
 * statement fails that names an account of it, or that asks for tasks without naming accounts.
 */
export function onServers(
  database: Database,
  servers: readonly (readonly string[])[],
  isLost: () => boolean,
): Database {
  const lost = new Set(servers.at(-1));
  const answer = <Row>(session: Session): Session["query"] => {
    return async <Own = Row>(text: string, values: readonly unknown[] = []): Promise<Own[]> => {
      if (text.includes("to_regclass('pg_dist_placement')")) {
        return [{ is_distributed: true }] as Own[];
      }
      if (text.includes("get_shard_id_for_distribution_column")) {
        return servers.map((ids) => ({ ids })) as Own[];
      }
      if (isLost() && (values.flat().some((value) => lost.has(value as string)) || asksAll(text))) {
        throw new DatabaseUnavailableError("the server of these accounts is lost");
      }
      return session.query<Own>(text, values);
    };
  };
  return {
    ...database,
    by_account: true,
    query: answer(database),
    transaction: (work, options) =>
      database.transaction(
        (tx: Transaction) => work({ ...tx, by_account: true, query: answer(tx) }),
        options,
      ),
  };
}

function asksAll(text: string): boolean {
  return /\b(from tasks|seal_rejected)\b/.test(text) && !/account_id = (any \()?\$/.test(text);
}
