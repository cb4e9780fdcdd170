import type { Session } from "../../platform/db/database.ts";
import { findRow } from "../../platform/db/rows.ts";
import type { LoggedRequest } from "../../platform/request-log/store.ts";

type RequestPage = {
  below_id: string;
  from_id: string;
  refused: boolean;
  error_code: string | null;
  actor: string | null;
  limit: number;
};

const CODES_MAX = 8;

/**
 * A page of requests, newest first, and one more, which tells that there is a next page. So few are
 * kept of an account that a filter needs no index.
 */
export function listRequests(
  session: Session,
  account_id: string,
  { below_id, from_id, refused, error_code, actor, limit }: RequestPage,
): Promise<LoggedRequest[]> {
  return session.query<LoggedRequest>(
    `select * from requests where account_id = $1 and id < $2 and id >= $3
       ${refused || error_code !== null ? "and error_code is not null" : ""}
       and ($4::text is null or error_code = $4) and ($5::text is null or actor = $5)
     order by id desc limit $6`,
    [account_id, below_id, from_id, error_code, actor, limit + 1],
  );
}

export function findRequest(
  session: Session,
  account_id: string,
  id: string,
): Promise<LoggedRequest | undefined> {
  return findRow<LoggedRequest>(session, "requests", { account_id, id });
}

/** The most frequent reasons for refusals since then. */
export function countRefusals(
  session: Session,
  account_id: string,
  from_id: string,
): Promise<{ error_code: string; count: number }[]> {
  return session.query(
    `select error_code, count(*)::integer as count from requests
     where account_id = $1 and id >= $2 and error_code is not null
     group by error_code order by count(*) desc, error_code limit $3`,
    [account_id, from_id, CODES_MAX],
  );
}
