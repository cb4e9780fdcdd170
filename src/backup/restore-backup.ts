import { findOperatorId } from "../accounts/store.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import { upsertRestoreHold } from "../partners/hold/hold-store.ts";
import { openRestoreFile } from "../partners/hold/restore-file.ts";
import { systemTime } from "../platform/clock.ts";
import type { Config } from "../platform/config/config.ts";
import { type CopyTransaction, withCopyTransaction } from "../platform/db/copy-connection.ts";
import { type Database, openDatabase } from "../platform/db/database.ts";
import { migrate } from "../platform/db/migrate.ts";
import { refusePooler } from "../platform/db/refuse-pooler.ts";
import { StartupError } from "../platform/startup-error.ts";
import { readParts } from "./archive.ts";
import type { OnPart } from "./check-content.ts";
import type { BackupHead, Sum, Totals } from "./model.ts";
import type { OpenBackup } from "./open-backup.ts";
import type { Part } from "./parts.ts";
import { openRestoredFiles } from "./restored-files.ts";
import {
  deleteAllRows,
  findUsedTable,
  listTables,
  updateConstraintsChecked,
  updateSequence,
} from "./snapshot-store.ts";
import { openSum } from "./sums.ts";

type RestoreDeps = { config: Config; database_url: string; onPart: OnPart };

export type RestoredBackup = { head: BackupHead; totals: Totals };

/**
 * Loads a backup into an empty database and an empty directory, or a bucket: all of it or nothing.
 * Everything that leaves is on hold then, because what left after the backup is not known here.
 */
export async function restoreBackup(
  { archive, key, totals }: OpenBackup,
  deps: RestoreDeps,
): Promise<RestoredBackup> {
  const { config, database_url } = deps;
  await prepareDatabase(database_url);
  const files = await openRestoredFiles(config, archive.head.id);
  try {
    await withCopyTransaction(database_url, "load", async (tx) => {
      const tables = await listTables(tx);
      assertUnused(await findUsedTable(tx, tables));
      await deleteAllRows(tx, tables);
      for await (const part of readParts(archive, key, () => {})) {
        deps.onPart({ step: "parts", of: totals.tables + totals.files + 1 });
        await restorePart(tx, files.store, part);
      }
      await updateConstraintsChecked(tx);
      await holdPayouts(tx, config, archive.head);
      // Files without records are harmless, records without files are not: so the commit follows.
      await files.place();
    });
  } finally {
    await files.discardRest();
  }
  return { head: archive.head, totals };
}

/** Creates the schema where there is none. */
async function prepareDatabase(url: string): Promise<void> {
  const database: Database = openDatabase({ url, connections_max: 2 });
  try {
    await refusePooler(database);
    const tables = await listTables(database);
    const is_ours = tables.some(({ name }) => name === "migrations");
    assertUnused(is_ours ? await findUsedTable(database, tables) : tables[0]?.name);
    await migrate(database, systemTime);
  } finally {
    await database.close();
  }
}

function assertUnused(table: string | undefined): void {
  if (table === undefined) return;
  throw new StartupError(
    `The database is in use (it has the table ${table}, which is not empty or not Sliproad's); ` +
      "a backup is restored only into an empty one.",
  );
}

async function restorePart(tx: CopyTransaction, files: FileStore, part: Part): Promise<void> {
  const { head, content } = part;
  if (head.part === "schema") {
    for await (const _chunk of content);
    for (const sequence of head.sequences) await updateSequence(tx, sequence);
    return;
  }
  if (head.part === "file") {
    const { account_id, record_id, version } = head;
    const { temporary_key } = await files.putTemporary(content, { bytes_max: Infinity });
    await files.promote(temporary_key, { account_id, record_id, version });
    return;
  }
  const given = openSum(head);
  await tx.copyIn(head, summed(content, given));
  const stored = openSum(head);
  for await (const chunk of tx.copyOut(head)) stored.add(chunk);
  assertSame(head.name, given.end(), stored.end());
}

async function* summed(
  content: AsyncIterable<Buffer>,
  sum: { add(chunk: Buffer): void },
): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    sum.add(chunk);
    yield chunk;
  }
}

/** What the database has is what the backup had, to the last character. */
function assertSame(table: string, given: Sum, stored: Sum): void {
  if (given.rows === stored.rows && given.digest === stored.digest) return;
  throw new StartupError(
    `The database did not store the table ${table} as it is in the backup (${stored.rows} of ` +
      `${given.rows} rows); nothing was restored.`,
  );
}

/** Where payouts are counted outside of the database too, the hold knows how many there were. */
async function holdPayouts(tx: CopyTransaction, config: Config, head: BackupHead): Promise<void> {
  const operator_id = await findOperatorId(tx);
  const path = config.restore_check_file;
  const file = path !== undefined && operator_id ? openRestoreFile(path, operator_id) : null;
  const reason = `The database was restored from the backup of ${head.created_at}.`;
  await upsertRestoreHold(tx, { reason, file_count: file?.read()?.count ?? null }, systemTime());
}
