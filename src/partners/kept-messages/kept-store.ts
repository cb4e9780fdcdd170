import type { Session, Transaction } from "../../platform/db/database.ts";
import { accountsOf, insertRows, perAccount } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import type { Keeping } from "./keeping.ts";

/** A partner's message that could not be applied yet; `place` is its order in its record. */
type KeptRow = {
  account_id: string;
  kind: string;
  record_id: string;
  place: bigint;
  reference: string;
  message: string;
  kept_at: Date;
};

/** Whoever can only write SQL must not answer for a partner. */
export const KEPT_MESSAGES = vouchedTable(
  "kept_messages",
  ["account_id", "kind", "record_id", "place"],
  ["reference", "message", "kept_at"],
);

/**
 * Appends messages of one account to those that are kept of their records, each once. The caller
 * holds the locks of the records' tasks. Returns whether the account had none of this kind.
 */
export async function insertKept<Message>(
  tx: Transaction,
  { kind, recordOf, referenceOf, toText }: Keeping<Message>,
  account_id: string,
  messages: readonly Message[],
  now: Date,
): Promise<boolean> {
  const records = [...new Set(messages.map(recordOf))];
  const [before, last] = await Promise.all([
    tx.query("select from kept_messages where account_id = $1 and kind = $2 limit 1", [
      ...[account_id, kind],
    ]),
    tx.query<{ record_id: string; place: bigint }>(
      `select record_id, max(place) as place from kept_messages
       where account_id = $1 and kind = $2 and record_id = any($3::uuid[]) group by record_id`,
      [account_id, kind, records],
    ),
  ]);
  const places = new Map(last.map(({ record_id, place }) => [record_id, place]));
  const rows = messages.map((message): KeptRow => {
    const record_id = recordOf(message);
    const place = (places.get(record_id) ?? 0n) + 1n;
    places.set(record_id, place);
    const said = { reference: referenceOf(message), message: toText(message) };
    return { account_id, kind, record_id, place, ...said, kept_at: now };
  });
  insertRows(
    tx,
    "kept_messages",
    `account_id uuid, kind text, record_id uuid, place bigint, reference text, message text,
     kept_at timestamptz, mac bytea`,
    KEPT_MESSAGES.withMacs(tx, rows),
    "on conflict (account_id, kind, reference) do nothing",
  );
  return before.length === 0;
}

type Kept<Message> = { message: Message; record_id: string; reference: string };

/**
 * The first ones of these records of an account, those of a record in their order, up to one that
 * somebody changed; fails if that is the first.
 */
export async function listKept<Message>(
  session: Session,
  { kind, fromText }: Keeping<Message>,
  account_id: string,
  record_ids: readonly string[],
  limit: number,
): Promise<Kept<Message>[]> {
  const rows = await session.query<KeptRow & { mac: Buffer }>(
    `select * from kept_messages
     where account_id = $1 and kind = $2 and record_id = any($3::uuid[])
     order by record_id, place limit $4`,
    [account_id, kind, record_ids, limit],
  );
  const changed = rows.findIndex((row) => !KEPT_MESSAGES.holds(session, row));
  const unchanged = changed > 0 ? rows.slice(0, changed) : rows;
  return KEPT_MESSAGES.assertVouched(session, unchanged).map(
    ({ record_id, reference, message }) => {
      return { message: fromText(message), record_id, reference };
    },
  );
}

export function deleteKept(
  tx: Transaction,
  kind: string,
  account_id: string,
  kept: readonly Kept<unknown>[],
): Promise<unknown> {
  // By their records the planner never reads all that is kept of the account.
  return tx.query(
    `delete from kept_messages where account_id = $1 and kind = $2
       and record_id = any($3::uuid[]) and reference = any($4::text[])`,
    [
      ...[account_id, kind, [...new Set(kept.map(({ record_id }) => record_id))]],
      kept.map(({ reference }) => reference),
    ],
  );
}

/** Those of the accounts of which messages of this kind are kept. */
export async function listAccountsWithKept(
  session: Session,
  kind: string,
  owned: readonly { account_id: string }[],
): Promise<ReadonlySet<string>> {
  const rows = await perAccount(session, owned, (own) => {
    const accounts = accountsOf(session, own);
    // One look-up for each account, however many messages of one are kept.
    const text = accounts.is_one
      ? "select account_id from kept_messages where account_id = $1 and kind = $2 limit 1"
      : `select k.account_id from unnest($1::uuid[]) as wanted (account_id) cross join lateral (
           select account_id from kept_messages
           where account_id = wanted.account_id and kind = $2 limit 1) as k`;
    return session.query<{ account_id: string }>(text, [accounts.value, kind]);
  });
  return new Set(rows.map(({ account_id }) => account_id));
}

/** Those of an account's records of which messages of this kind are kept. */
export async function listRecordsWithKept(
  session: Session,
  kind: string,
  account_id: string,
  record_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await session.query<{ record_id: string }>(
    `select distinct record_id from kept_messages
     where account_id = $1 and kind = $2 and record_id = any($3::uuid[])`,
    [account_id, kind, record_ids],
  );
  return new Set(rows.map(({ record_id }) => record_id));
}
