import type { Session } from "../platform/db/database.ts";
import { FIRST_ID } from "../platform/ids.ts";

/** Checks one account. Returns a sentence about the first wrong row, or null. */
export type Check = (session: Session, account_id: string) => Promise<string | null>;

const PAGE_ROWS = 500;

/** Whether it is the operator's account. Without its MAC: another check reads that. */
export async function isOperator(session: Session, account_id: string): Promise<boolean> {
  const rows = await session.query("select from accounts where id = $1 and is_operator", [
    account_id,
  ]);
  return rows.length > 0;
}

/** Runs the checks in order, until one finds an error. */
export function inOrder(...checks: readonly Check[]): Check {
  return async (session, account_id) => {
    for (const check of checks) {
      const fault = await check(session, account_id);
      if (fault) return fault;
    }
    return null;
  };
}

/**
 * Passes rows to a check page by page, in order of their ids, until it finds an error. In the
 * query, $1 is the account, $2 the id above which a page begins, $3 the size of a page. An id that
 * is a text may sort before all UUIDs: its first page begins above "".
 */
export function eachPage<Row extends { id: string }>(
  session: Session,
  account_id: string,
  query: string,
  check: (rows: Row[]) => Promise<string | null>,
  above = FIRST_ID,
): Promise<string | null> {
  const keyOf = (row: Row) => [row.id];
  return eachPageAbove({ session, query, values: [account_id], above: [above], keyOf }, check);
}

type Paged<Row> = {
  session: Session;
  /** Its parameters: these values, the key above which a page begins, the size of a page. */
  query: string;
  values: readonly unknown[];
  above: readonly unknown[];
  keyOf: (row: Row) => readonly unknown[];
};

/** The same for rows with a key of any columns. */
export async function eachPageAbove<Row>(
  { session, query, values, above, keyOf }: Paged<Row>,
  check: (rows: Row[]) => Promise<string | null>,
): Promise<string | null> {
  for (let key = above; ; ) {
    const rows = await session.query<Row>(query, [...values, ...key, PAGE_ROWS]);
    const last = rows.at(-1);
    if (last === undefined) return null;
    const fault = await check(rows);
    if (fault) return fault;
    key = keyOf(last);
  }
}
