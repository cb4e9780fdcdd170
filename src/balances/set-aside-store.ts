import type { Chain } from "../catalogue/chains.ts";
import type { Transfer } from "../partners/chain/port.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { columnsOf, distinctSetOf, findRow, insertRows, perAccount } from "../platform/db/rows.ts";

/** Why no user is credited with a transfer. */
export type SetAsideReason = "not_creditable" | "erased_user";

/** A transfer to the address of a quote that no user is credited with. */
export type SetAsideTransfer = {
  account_id: string;
  id: string;
  quote_id: string;
  chain: Chain;
  tx_id: string;
  log_index: number;
  sender: string | null;
  token: string;
  /** Millionths of a token, as text: it may be larger than 64 bits. */
  amount: string;
  mined_at: Date;
  reason: SetAsideReason;
  created_at: Date;
};

/** Puts a transfer on the operator's list; the task's record is the row's id. */
export const LIST_TRANSFER_TASK = "list-transfer";

export function insertSetAside(tx: Transaction, transfers: readonly SetAsideTransfer[]): void {
  insertRows(
    tx,
    "set_aside_transfers",
    `account_id uuid, id uuid, quote_id uuid, chain text, tx_id text, log_index int, sender text,
     token text, amount numeric, mined_at timestamptz, reason text, created_at timestamptz`,
    transfers,
  );
}

/** Which of these transfers were credited, or set aside, before, by `transferKey`. */
export async function findRecorded(
  session: Session,
  table: "deposits" | "set_aside_transfers",
  account_id: string,
  transfers: readonly Transfer[],
): Promise<Set<string>> {
  const rows = await session.query<Pick<Transfer, "chain" | "tx_id" | "log_index">>(
    `select chain, tx_id, log_index from ${table} where account_id = $1
       and (chain, tx_id, log_index) in (select * from unnest($2::text[], $3::text[], $4::int[]))`,
    [account_id, ...columnsOf(transfers, "chain", "tx_id", "log_index")],
  );
  return new Set(rows.map(transferKey));
}

/** Those of the transfers, to these accounts, that were neither credited nor set aside before. */
export async function listUnrecorded<Entry extends Pick<Transfer, "chain" | "tx_id" | "log_index">>(
  session: Session,
  entries: readonly (Entry & { account_id: string })[],
): Promise<(Entry & { account_id: string })[]> {
  type Row = Pick<Transfer, "chain" | "tx_id" | "log_index"> & { account_id: string };
  const columns = "account_id uuid, chain text, tx_id text, log_index int";
  const tables = ["deposits", "set_aside_transfers"].map((table) =>
    perAccount(session, entries, (own) => {
      const set = distinctSetOf(session, "t", columns, own);
      return session.query<Row>(
        `select account_id, chain, tx_id, log_index from ${table}
         join ${set.from} using (account_id, chain, tx_id, log_index)`,
        set.values,
      );
    }),
  );
  const keyOf = (row: Row) => `${row.account_id} ${transferKey(row)}`;
  const recorded = new Set((await Promise.all(tables)).flat().map(keyOf));
  return entries.filter((entry) => !recorded.has(keyOf(entry)));
}

export function transferKey(of: Pick<Transfer, "chain" | "tx_id" | "log_index">): string {
  return `${of.chain} ${of.tx_id} ${of.log_index}`;
}

export function findSetAsideTransfer(
  session: Session,
  account_id: string,
  id: string,
): Promise<SetAsideTransfer | undefined> {
  return findRow(session, "set_aside_transfers", { account_id, id });
}
