import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRows } from "../platform/db/rows.ts";
import { REPLAY_TASK } from "./model.ts";

/** The number of people erased so far, in all accounts. */
export async function findErasures(session: Session): Promise<bigint> {
  const [row] = await session.query<{ erasures: bigint }>("select erasures from installation");
  return row!.erasures;
}

export type Replay = {
  account_id: string;
  id: string;
  app_id: string;
  since: Date;
  until: Date;
  only_failed: boolean;
  deliveries: number | null;
  created_at: Date;
};

export function insertReplay(tx: Transaction, replay: Replay): void {
  insertRows(
    tx,
    "webhook_replays",
    `account_id uuid, id uuid, app_id uuid, since timestamptz, until timestamptz,
     only_failed boolean, created_at timestamptz`,
    [replay],
  );
}

/** How many replays of the account wait; stops counting at `max`. */
export async function countWaitingReplays(
  session: Session,
  account_id: string,
  max: number,
): Promise<number> {
  const rows = await session.query(
    "select 1 from tasks where kind = $2 and account_id = $1 and attempts = 0 limit $3",
    [account_id, REPLAY_TASK, max],
  );
  return rows.length;
}

export async function findReplay(
  session: Session,
  account_id: string,
  id: string,
): Promise<Replay | undefined> {
  const [row] = await session.query<Replay>(
    "select * from webhook_replays where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row;
}

export function updateReplayDone(tx: Transaction, replay: Replay, deliveries: number): void {
  tx.write("update webhook_replays set deliveries = $3 where account_id = $1 and id = $2", [
    replay.account_id,
    replay.id,
    deliveries,
  ]);
}
