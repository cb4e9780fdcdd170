import type { Session } from "../../platform/db/database.ts";

/** What can be found, in the order of the results. */
export const KINDS = [
  ...(["payout", "person", "bank_account", "quote", "onramp", "refund"] as const),
  ...(["invoice", "request"] as const),
] as const;
export type Found = { kind: (typeof KINDS)[number]; id: string; user_id: string | null };

const TABLES: Readonly<Record<Found["kind"], readonly [table: string, user_id: string]>> = {
  payout: ["offramps", "user_id"],
  person: ["users", "id"],
  bank_account: ["payment_details", "user_id"],
  quote: ["quotes", "user_id"],
  onramp: ["onramps", "user_id"],
  refund: ["refunds", "user_id"],
  invoice: ["invoice_views", "null::uuid"],
  request: ["requests", "null::uuid"],
};

const BY_ID = KINDS.map((kind) => {
  const [table, user_id] = TABLES[kind];
  return `select '${kind}' as kind, id, ${user_id} as user_id from ${table}
    where account_id = $1 and id = any($2::uuid[])`;
}).join("\nunion all\n");

/** The records with these ids, whatever they are. */
export function listByIds(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<Found[]> {
  return session.query<Found>(BY_ID, [account_id, ids]);
}

export function listPeopleByEmail(
  session: Session,
  account_id: string,
  email_index: Buffer,
): Promise<Found[]> {
  return session.query<Found>(
    `select 'person' as kind, id, id as user_id from users
     where email_index = $2 and account_id = $1`,
    [account_id, email_index],
  );
}

/** The newest payouts with this reference. */
export function listByReference(
  session: Session,
  account_id: string,
  reference_index: Buffer,
  limit: number,
): Promise<Found[]> {
  return session.query<Found>(
    `select 'payout' as kind, id, user_id from offramps
     where reference_index = $2 and account_id = $1 order by id desc limit $3`,
    [account_id, reference_index, limit],
  );
}

/** The newest registrations of bank accounts with one of these blind indexes. */
export function listByPayee(
  session: Session,
  account_id: string,
  payee_indexes: readonly Buffer[],
  limit: number,
): Promise<(Found & { payee_index: Buffer })[]> {
  return session.query(
    `select 'bank_account' as kind, id, user_id, payee_index from payment_details
     where coalesce(payee_index, uuid_send(id)) = any($2::bytea[]) and account_id = $1
     order by id desc limit $3`,
    [account_id, payee_indexes, limit],
  );
}
