import type { Session, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import type { Page } from "../platform/http/list.ts";
import type { Ivms101 } from "./ivms101.ts";
import type { TravelRecord, TravelStatus } from "./model.ts";

type NewTravelRecord = Omit<TravelRecord, "transfer_status" | "tx_id" | "ivms101"> & {
  ivms101: Ivms101;
};
type Wanted = {
  account_id: string;
  user_id: string | undefined;
  status: TravelStatus | undefined;
};

/** With the names still encrypted. */
export type TravelRow = Omit<TravelRecord, "ivms101"> & { content: Buffer };

const CONTENT = sealedJson<Ivms101>("travel_records", "content");

/** Once for each transfer: an interrupted one is begun again. */
export function insertTravelRecord(tx: Transaction, record: NewTravelRecord, key: Buffer): void {
  tx.write(
    `insert into travel_records (account_id, id, user_id, kind, record_id, token, chain, amount,
       amount_usd, status, missing, content, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[], $12, $13)
     on conflict (account_id, record_id) do nothing`,
    [
      record.account_id,
      record.id,
      record.user_id,
      record.kind,
      record.record_id,
      record.token,
      record.chain,
      record.amount,
      record.amount_usd,
      record.status,
      record.missing,
      CONTENT.seal(key, record, record.ivms101),
      record.created_at,
    ],
  );
}

const SELECT = `select t.*, coalesce(o.tx_id, r.tx_id) as tx_id,
    case when o.delivery = 'sent' or r.status = 'sent' then 'sent'
      when o.delivery = 'refused' or o.status = 'failed' or r.status = 'failed' then 'failed'
      else 'sending' end as transfer_status
  from travel_records t
  left join lateral (select * from onramps
    where account_id = t.account_id and id = t.record_id offset 0) as o on t.kind = 'onramp'
  left join lateral (select * from refunds
    where account_id = t.account_id and id = t.record_id offset 0) as r on t.kind = 'refund'`;

export function listTravelRecords(
  session: Session,
  { account_id, user_id, status }: Wanted,
  page: Page,
): Promise<TravelRow[]> {
  const values: unknown[] = [account_id, page.below_id, page.from_id, page.limit + 1];
  const conditions = ["t.account_id = $1", "t.id < $2", "t.id >= $3"];
  if (user_id !== undefined) conditions.push(`t.user_id = $${values.push(user_id)}`);
  if (status !== undefined) conditions.push(`t.status = $${values.push(status)}`);
  return session.query<TravelRow>(
    `${SELECT} where ${conditions.join(" and ")} order by t.id desc limit $4`,
    values,
  );
}

export async function findTravelRecord(
  session: Session,
  account_id: string,
  id: string,
): Promise<TravelRow | undefined> {
  const [row] = await session.query<TravelRow>(`${SELECT} where t.account_id = $1 and t.id = $2`, [
    account_id,
    id,
  ]);
  return row;
}

/** Decrypts the names; of erased users they are null. */
export async function openTravelRecords(
  session: Session,
  keyring: Keyring,
  rows: readonly TravelRow[],
): Promise<TravelRecord[]> {
  const keys = await keyring.openUserKeys(session, rows);
  return rows.map(({ content, ...row }) => {
    const key = keys.get(row.account_id, row.user_id);
    return { ...row, ivms101: key ? CONTENT.open(key, row, content) : null };
  });
}
