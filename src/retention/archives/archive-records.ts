import type { KeyObject } from "node:crypto";
import { listAccounts } from "../../accounts/store.ts";
import type { Config } from "../../platform/config/config.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { isLockConflict } from "../../platform/db/outages.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { oldestKeptId } from "../../webhooks/trim-events.ts";
import { encodeArchive, lineOf, removeUnfinished, writeArchiveFile } from "./archive-file.ts";
import {
  deleteArchivedDeliveries,
  listOldDeliveries,
  lockOldDeliveries,
} from "./delivery-store.ts";
import { deleteArchivedEventRows, listOldEventRows } from "./event-row-store.ts";
import { listOldEvents, updateBodiesArchived } from "./event-store.ts";
import {
  type Archive,
  type ArchivedEvent,
  type ArchivedEventRow,
  type ArchivedRow,
  type ArchivedTable,
  type ArchiveHead,
  archiveName,
  PAGE_LIMITS,
  type PageLimits,
} from "./model.ts";
import { findLastArchive, insertArchive, lockArchives } from "./store.ts";

/*
 * For each account and table, file after file:
 *
 *   read the next old rows → write the file, flush it → one transaction: delete exactly these rows,
 *   note the file in `archives` and in the audit log
 *
 * Whatever ends it between two steps, the next run goes on: without the transaction the rows are
 * still there and are written again, into the same file if nothing has been added.
 */

type Deps = {
  database: Database;
  config: Pick<Config, "event_retention_days" | "delivery_retention_days">;
  key: KeyObject;
};

type Input = {
  directory: string;
  now: Date;
  limits?: PageLimits;
  /** Called after each file, and after each account. */
  onProgress?: (progress: ArchiveProgress) => void;
};

type ArchiveProgress = { accounts_done: number; accounts: number; files: number };

export type Archived = { files: number; rows: number; bytes: number };

/** Rows of which one changed while its file was written are read again, this often. */
const TRIES_MAX = 5;

/** A table whose old rows are archived. */
type Source = {
  table_name: ArchivedTable;
  days: (config: Deps["config"]) => number;
  list(
    database: Database,
    account_id: string,
    page: PageLimits & { after_id: string; below_id: string },
  ): Promise<ArchivedRow[]>;
  /** After the last file: what is older and still there stays, and is not looked at again. */
  goes_on?: boolean;
  /** False, and nothing is deleted, if these are not the rows any more. */
  remove(tx: Transaction, account_id: string, rows: readonly ArchivedRow[]): Promise<boolean>;
};

const SOURCES: readonly Source[] = [
  {
    table_name: "webhook_deliveries",
    days: ({ delivery_retention_days }) => delivery_retention_days,
    list: listOldDeliveries,
    remove: async (tx, account_id, rows) => {
      const ids = rows.map(({ id }) => id);
      const locked = await lockOldDeliveries(tx, account_id, ids);
      if (locked.map(lineOf).join("") !== rows.map(lineOf).join("")) return false;
      deleteArchivedDeliveries(tx, account_id, ids);
      return true;
    },
  },
  {
    table_name: "events",
    days: ({ event_retention_days }) => event_retention_days,
    list: listOldEvents,
    remove: (tx, account_id, rows) =>
      updateBodiesArchived(tx, account_id, rows as readonly ArchivedEvent[]),
  },
  {
    table_name: "event_rows",
    // Only what has no body and no deliveries any more.
    days: ({ event_retention_days, delivery_retention_days }) =>
      delivery_retention_days === 0 || event_retention_days === 0
        ? 0
        : Math.max(event_retention_days, delivery_retention_days),
    list: listOldEventRows,
    goes_on: true,
    remove: (tx, account_id, rows) =>
      deleteArchivedEventRows(tx, account_id, rows as readonly ArchivedEventRow[]),
  },
];

/** Moves what is past its retention into files; as much memory as one file needs. */
export async function archiveRecords(deps: Deps, input: Input): Promise<Archived> {
  const done: Archived = { files: 0, rows: 0, bytes: 0 };
  const accounts = await listAccounts(deps.database);
  for (const [accounts_done, { id }] of accounts.entries()) {
    const show = () =>
      input.onProgress?.({ accounts_done, accounts: accounts.length, files: done.files });
    show();
    await removeUnfinished(input.directory, id);
    for (const source of SOURCES) {
      await archiveTable(deps, input, id, source, ({ row_count }, bytes) => {
        done.files += 1;
        done.rows += row_count;
        done.bytes += bytes;
        show();
      });
    }
  }
  return done;
}

async function archiveTable(
  deps: Deps,
  { directory, now, limits = PAGE_LIMITS }: Input,
  account_id: string,
  source: Source,
  onFile: (archive: Archive, bytes: number) => void,
): Promise<void> {
  const days = source.days(deps.config);
  if (days === 0) return;
  const below_id = oldestKeptId(days, now);
  const last = source.goes_on
    ? await findLastArchive(deps.database, account_id, source.table_name)
    : undefined;
  let after_id = last?.last_id ?? FIRST_ID;
  for (let tries = 1; ; ) {
    const rows = await source.list(deps.database, account_id, { ...limits, after_id, below_id });
    if (rows.length === 0) return;
    const { archive, bytes } = await writePage(deps, directory, account_id, source, rows, now);
    if (await notePage(deps.database, source, archive, rows)) {
      onFile(archive, bytes);
      after_id = archive.last_id;
      tries = 1;
      continue;
    }
    tries += 1;
    if (tries > TRIES_MAX) {
      throw new StartupError(
        `${source.table_name} of account ${account_id} change while they are archived: another ` +
          "sliproad archive runs, or SLIPROAD_RETENTION is delete for a process of the service.",
      );
    }
  }
}

async function writePage(
  { database, key }: Deps,
  directory: string,
  account_id: string,
  { table_name }: Source,
  rows: readonly ArchivedRow[],
  now: Date,
): Promise<{ archive: Archive; bytes: number }> {
  const last = await findLastArchive(database, account_id, table_name);
  const head: ArchiveHead = {
    ...{ account_id, table_name, number: (last?.number ?? 0n) + 1n },
    ...{ first_id: rows[0]!.id, last_id: rows.at(-1)!.id, row_count: rows.length },
    previous: last?.sha256 ?? null,
  };
  const { bytes, sha256 } = await encodeArchive(head, rows, key);
  const name = archiveName(head, sha256);
  await writeArchiveFile(directory, name, bytes);
  return { archive: { ...head, name, sha256, created_at: now }, bytes: bytes.length };
}

/** False if another run was faster, or a row has changed since it was read. */
function notePage(
  database: Database,
  source: Source,
  archive: Archive,
  rows: readonly ArchivedRow[],
): Promise<boolean> {
  const { account_id, table_name } = archive;
  const undone = new Error("undone");
  return database
    .transaction(async (tx) => {
      await lockArchives(tx, account_id, table_name);
      const last = await findLastArchive(tx, account_id, table_name);
      if ((last?.number ?? 0n) + 1n !== archive.number) throw undone;
      if (!(await source.remove(tx, account_id, rows))) throw undone;
      insertArchive(tx, archive);
      return true;
    })
    .catch((error) => {
      // The erasure of a person may have locked the same deliveries.
      if (error === undone || isLockConflict(error)) return false;
      throw error;
    });
}
