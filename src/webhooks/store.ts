import type { Session, Transaction } from "../platform/db/database.ts";
import type { Page } from "../platform/http/list.ts";
import type { Endpoint } from "./audience.ts";

/** Since when webhooks are enabled for these accounts. */
export async function findEnabled(
  session: Session,
  account_ids: readonly string[],
): Promise<Map<string, Date | null>> {
  const rows = await session.query<{ id: string; webhooks_enabled_at: Date | null }>(
    "select id, webhooks_enabled_at from accounts where id = any($1::uuid[])",
    [account_ids],
  );
  return new Map(rows.map((row) => [row.id, row.webhooks_enabled_at]));
}

/** The number of people erased so far, in all accounts. */
export async function findErasures(session: Session): Promise<bigint> {
  const [row] = await session.query<{ erasures: bigint }>("select erasures from installation");
  return row!.erasures;
}

/** An account's applications, newest first. */
export function listEndpointPage(
  session: Session,
  account_id: string,
  page: Page,
): Promise<Endpoint[]> {
  return session.query<Endpoint>(
    `select apps.*, accounts.webhooks_enabled_at
     from apps join accounts on accounts.id = apps.account_id
     where apps.account_id = $1 and apps.deleted_at is null and apps.id < $2 and apps.id >= $3
     order by apps.id desc limit $4`,
    [account_id, page.below_id, page.from_id, page.limit + 1],
  );
}

type FailingEndpoint = {
  id: string;
  name: string;
  account_name: string;
  webhook_state: string;
  failing_since: Date | null;
};

/** The failing and disabled endpoints of all accounts, for the operator. */
export function listFailingEndpoints(session: Session, limit: number): Promise<FailingEndpoint[]> {
  return session.query<FailingEndpoint>(
    `select apps.id, apps.name, accounts.name as account_name, apps.webhook_state,
       apps.failing_since
     from apps join accounts on accounts.id = apps.account_id
     where apps.deleted_at is null and apps.webhook_url is not null
       and (apps.failing_since is not null or apps.webhook_state = 'disabled')
     order by apps.failing_since, apps.id limit $1`,
    [limit],
  );
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
  tx.write(
    `insert into webhook_replays (account_id, id, app_id, since, until, only_failed, created_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      replay.account_id,
      replay.id,
      replay.app_id,
      replay.since,
      replay.until,
      replay.only_failed,
      replay.created_at,
    ],
  );
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

/** Permanent; an account that is already enabled stays unchanged. */
export function updateAccountEnabled(tx: Transaction, account_id: string, now: Date): void {
  tx.write(
    "update accounts set webhooks_enabled_at = $2 where id = $1 and webhooks_enabled_at is null",
    [account_id, now],
  );
}
