import type { Session, Transaction } from "../../platform/db/database.ts";
import type { ArchivedRow, PageLimits } from "./model.ts";

// Without what a receiver responded, which may repeat personal data and is encrypted with the key
// of the account: erasing the person would not make it unreadable. Bodies are those of samples.
const COLUMNS = `d.id, d.app_id, d.event_account_id, d.event_id, d.name, d.record_id, d.sequence,
  d.status, d.reason, d.attempts, d.delivered_at, d.answered, d.latency_ms, d.failed_at,
  d.created_at, d.updated_at`;

/** What a delivery needs to be old: what is still sent must be kept. $1 is the account. */
const IS_OVER = `(d.status <> 'pending' or d.app_id in (
  select id from apps where account_id = $1 and deleted_at is not null))`;

type DeliveryRow = { id: string } & Record<string, unknown>;
type AttemptRow = { delivery_id: string; number: number } & Record<string, unknown>;

/** The next deliveries created before this id, with their attempts. */
export async function listOldDeliveries(
  session: Session,
  account_id: string,
  page: PageLimits & { after_id: string; below_id: string },
): Promise<ArchivedRow[]> {
  const rows = await session.query<DeliveryRow>(
    `select ${COLUMNS} from webhook_deliveries d
     where d.account_id = $1 and d.id > $2 and d.id < $3 and ${IS_OVER}
     order by d.id limit $4`,
    [account_id, page.after_id, page.below_id, page.rows_max],
  );
  return withAttempts(session, account_id, rows);
}

/** The same of these deliveries, locked: nothing of them changes until the transaction ends. */
export async function lockOldDeliveries(
  tx: Transaction,
  account_id: string,
  ids: readonly string[],
): Promise<ArchivedRow[]> {
  const rows = await tx.query<DeliveryRow>(
    `select ${COLUMNS} from webhook_deliveries d
     where d.account_id = $1 and d.id = any($2::uuid[]) and ${IS_OVER}
     order by d.id for update of d`,
    [account_id, ids],
  );
  return withAttempts(tx, account_id, rows);
}

async function withAttempts(
  session: Session,
  account_id: string,
  rows: readonly DeliveryRow[],
): Promise<ArchivedRow[]> {
  const attempts = await session.query<AttemptRow>(
    `select delivery_id, number, at, status, error, latency_ms from webhook_attempts
     where account_id = $1 and delivery_id = any($2::uuid[]) order by delivery_id, number`,
    [account_id, rows.map(({ id }) => id)],
  );
  const attempts_of = Map.groupBy(attempts, ({ delivery_id }) => delivery_id);
  return rows.map((row) => ({
    ...row,
    log: (attempts_of.get(row.id) ?? []).map(({ delivery_id: _, ...attempt }) => attempt),
  }));
}

/** Deletes these deliveries with their attempts and what is left of them in the queue. */
export function deleteArchivedDeliveries(
  tx: Transaction,
  account_id: string,
  ids: readonly string[],
): void {
  const values = [account_id, ids];
  tx.write(
    `delete from webhook_queue w using webhook_deliveries d
     where w.account_id = $1 and d.account_id = $1 and d.id = any($2::uuid[])
       and w.app_id = d.app_id and w.due_at = d.next_attempt_at and w.delivery_id = d.id`,
    values,
  );
  tx.write(
    "delete from webhook_attempts where account_id = $1 and delivery_id = any($2::uuid[])",
    values,
  );
  tx.write("delete from webhook_deliveries where account_id = $1 and id = any($2::uuid[])", values);
}
