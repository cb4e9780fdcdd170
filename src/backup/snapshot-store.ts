import type { FileKey } from "../partners/files/file-store.ts";
import type { TableColumns } from "../platform/db/copy-connection.ts";
import type { Session } from "../platform/db/database.ts";
import type { AppliedMigration, SequenceState } from "./model.ts";

export type TableRow = TableColumns & { columns: string[]; refers_to: string[] };

/** All tables of ours, with their columns and the tables that they refer to. */
export function listTables(session: Session): Promise<TableRow[]> {
  return session.query(
    `select c.relname::text as name,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         order by a.attnum) as columns,
       array(select distinct r.relname::text from pg_constraint k
         join pg_class r on r.oid = k.confrelid
         where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as refers_to
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
     order by c.relname`,
  );
}

/** Nobody changes the schema while they are read. */
export async function lockTables(session: Session, tables: readonly TableColumns[]): Promise<void> {
  if (tables.length === 0) return;
  await session.query(`lock table ${listNames(tables)} in access share mode`);
}

export function listAppliedMigrations(session: Session): Promise<AppliedMigration[]> {
  return session.query("select name, checksum from migrations order by name");
}

/** The master keys that a key of this database is wrapped by. */
export async function listMasterKeyIds(session: Session): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select master_key_id as id from installation union
     select master_key_id from account_keys order by 1`,
  );
  return rows.map(({ id }) => id);
}

/** Sequences are not part of a snapshot: they are at least as far as its rows. */
export async function listSequences(session: Session): Promise<SequenceState[]> {
  const names = await session.query<{ name: string }>(
    `select relname::text as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'S' order by relname`,
  );
  const states: SequenceState[] = [];
  for (const { name } of names) {
    const [row] = await session.query<Omit<SequenceState, "name">>(
      `select last_value::text, is_called from public.${quote(name)}`,
    );
    states.push({ name, ...row! });
  }
  return states;
}

export async function updateSequence(
  session: Session,
  { name, last_value, is_called }: SequenceState,
): Promise<void> {
  await session.query("select setval($1::regclass, $2, $3)", [
    `public.${quote(name)}`,
    last_value,
    is_called,
  ]);
}

const NAMED_FILES = `
  select account_id, id as record_id, file as version from documents
  union select account_id, user_id, file::text from kyc_files
  union select account_id, id, file from exports where file is not null
  union select account_id, id, document_file from offramps
    where document_file is not null and document_id is null`;
const FILES_PER_STEP = 1_000;

/** Every file that a record names, in steps; within one transaction. */
export async function* listNamedFiles(session: Session): AsyncGenerator<FileKey> {
  await session.query(`declare named_files cursor for ${NAMED_FILES} order by 1, 2, 3`);
  for (;;) {
    const rows = await session.query<FileKey>(`fetch ${FILES_PER_STEP} from named_files`);
    yield* rows;
    if (rows.length < FILES_PER_STEP) break;
  }
  await session.query("close named_files");
}

/** Whether a record names this file now. */
export async function existsNamedFile(session: Session, key: FileKey): Promise<boolean> {
  const { account_id, record_id, version } = key;
  const rows = await session.query(
    `select from (${NAMED_FILES}) as named
     where account_id = $1 and record_id = $2 and version = $3`,
    [account_id, record_id, version],
  );
  return rows.length > 0;
}

/** What a migration inserts into a new database: no reason to call it used. */
const FILLED_BY_MIGRATIONS = ["migrations", "leaving_counts"];

/** A table that somebody has written to. */
export async function findUsedTable(
  session: Session,
  tables: readonly TableColumns[],
): Promise<string | undefined> {
  for (const { name } of tables) {
    if (FILLED_BY_MIGRATIONS.includes(name)) continue;
    const rows = await session.query(`select from public.${quote(name)} limit 1`);
    if (rows.length > 0) return name;
  }
  return undefined;
}

export async function deleteAllRows(
  session: Session,
  tables: readonly TableColumns[],
): Promise<void> {
  await session.query(`truncate ${listNames(tables)}`);
}

/** Now rather than at the commit, which must not fail for a reason that we can know before. */
export async function updateConstraintsChecked(session: Session): Promise<void> {
  await session.query("set constraints all immediate");
}

function listNames(tables: readonly TableColumns[]): string {
  return tables.map(({ name }) => `public.${quote(name)}`).join(", ");
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
