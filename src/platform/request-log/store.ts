import type { Session, Transaction } from "../db/database.ts";
import { insertRows } from "../db/rows.ts";

/** A request and its answer, without its body and query, which may contain anything. */
export type LoggedRequest = {
  account_id: string;
  /** The answer's `X-Request-Id`, a UUIDv7. */
  id: string;
  /** `api_key:<id>`, `app:<id>` or `member:<id>`. */
  actor: string;
  method: string;
  path: string;
  status: number;
  error_code: string | null;
  /** What was wrong, as `[field, code]`, in JSON; null if nothing was. */
  problems: string | null;
  duration_ms: number;
};

const COLUMNS =
  "account_id uuid, id uuid, actor text, method text, path text, status smallint, " +
  "error_code text, problems text, duration_ms integer";

export function insertRequests(tx: Transaction, requests: readonly LoggedRequest[]): void {
  insertRows(tx, "requests", COLUMNS, requests, "on conflict do nothing");
}

/** Below which ids an account's requests go: older than `from_id`, or beyond the newest `rows`. */
async function findTrimId(
  session: Session,
  account_id: string,
  { from_id, rows }: { from_id: string; rows: number },
): Promise<string> {
  const [row] = await session.query<{ id: string }>(
    `select id from requests where account_id = $1 and id >= $2
     order by id desc offset $3 limit 1`,
    [account_id, from_id, rows - 1],
  );
  return row?.id ?? from_id;
}

/** Deletes some of the requests that are kept no longer; returns how many. */
export async function deleteRequests(
  session: Session,
  account_id: string,
  kept: { from_id: string; rows: number },
  rows_max: number,
): Promise<number> {
  const below_id = await findTrimId(session, account_id, kept);
  const rows = await session.query(
    `delete from requests where account_id = $1 and id = any (array(
       select id from requests where account_id = $1 and id < $2 order by id limit $3
     )) returning 1`,
    [account_id, below_id, rows_max],
  );
  return rows.length;
}
