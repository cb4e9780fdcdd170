import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { bodyPlace } from "../events/record-events.ts";
import type { Session } from "../platform/db/database.ts";
import { DecryptionError, open } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import {
  decodeArchive,
  readArchiveFile,
  sha256Of,
  WrongArchiveError,
} from "../retention/archives/archive-file.ts";
import {
  ARCHIVE_ACTION,
  type Archive,
  type ArchivedEvent,
  type ArchivedEventRow,
  type ArchivedRow,
  type ArchiveHead,
  archiveDetail,
  auditRecordOf,
} from "../retention/archives/model.ts";
import { type Check, eachPageAbove } from "./checks.ts";
import { findEventRowFault, findOpenSteps, type Steps } from "./verify-event-rows.ts";

/*
 * Files of old rows. A MAC says who wrote a row of `archives`; that none is missing say their
 * numbers, the digest of the file before, and the sealed audit log.
 */

/** The rows of one account continue each other, and are those that the audit log has. */
export const verifyArchives: Check = async (session, account_id) => {
  let before: Archive | null = null;
  const fault = await eachArchive(session, account_id, async (archives) => {
    const details = await listDetails(session, account_id, archives);
    for (const archive of archives) {
      const wrong: string | null = findRowFault(archive, before, details);
      if (wrong) return `${nameOf(archive)}: ${wrong}`;
      before = archive;
    }
    return null;
  });
  return fault ?? findMissing(session, account_id);
};

function eachArchive(
  session: Session,
  account_id: string,
  check: (archives: readonly Archive[]) => Promise<string | null>,
): Promise<string | null> {
  const query = `select * from archives where account_id = $1 and (table_name, number) > ($2, $3)
    order by table_name, number limit $4`;
  const keyOf = ({ table_name, number }: Archive) => [table_name, number];
  return eachPageAbove<Archive>(
    { session, query, values: [account_id], above: ["", 0n], keyOf },
    check,
  );
}

function nameOf({ table_name, number, account_id }: Archive): string {
  return `archive ${number} of ${table_name} of account ${account_id}`;
}

function findRowFault(
  archive: Archive,
  before: Archive | null,
  details: ReadonlyMap<string, string>,
): string | null {
  const previous = before?.table_name === archive.table_name ? before : null;
  if (archive.number !== (previous?.number ?? 0n) + 1n) return "the archive before it is missing";
  if (!isSame(archive.previous, previous?.sha256 ?? null)) {
    return "it does not continue the archive before it";
  }
  const said = details.get(auditRecordOf(archive));
  return said === JSON.stringify(archiveDetail(archive)) ? null : "it differs from the audit log";
}

function isSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

/** What the audit log says about these; of a record with two entries, nothing. */
async function listDetails(
  session: Session,
  account_id: string,
  archives: readonly Archive[],
): Promise<Map<string, string>> {
  const rows = await session.query<{ record: string; detail: string }>(
    `select record, min(detail) as detail from audit_entries
     where account_id = $1 and action = $2 and record = any($3::text[])
     group by record having count(*) = 1`,
    [account_id, ARCHIVE_ACTION, archives.map(auditRecordOf)],
  );
  return new Map(rows.map(({ record, detail }) => [record, detail]));
}

/** What the audit log has and the table has not. */
async function findMissing(session: Session, account_id: string): Promise<string | null> {
  const [row] = await session.query<{ record: string }>(
    `select e.record from audit_entries e where e.account_id = $1 and e.action = $2
       and not exists (select from archives a where a.account_id = $1
         and 'archive:' || a.table_name || '-' || a.number = e.record)
     order by e.id limit 1`,
    [account_id, ARCHIVE_ACTION],
  );
  if (!row) return null;
  return `${row.record} of account ${account_id} is missing, but nobody removed it`;
}

export async function findArchiveCount(session: Session): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    "select count(*)::integer as count from archives",
  );
  return row!.count;
}

type FileDeps = {
  directory: string;
  key: KeyObject;
  /** If given, bodies are opened. */
  keyring?: Keyring | undefined;
};

/** Every file of an account is there, as it was written, and agrees with the events. */
export async function verifyArchiveFiles(
  session: Session,
  deps: FileDeps,
  account_id: string,
): Promise<string | null> {
  const steps: Steps = new Map();
  const fault = await eachArchive(session, account_id, async (archives) => {
    for (const archive of archives) {
      const fault = await findFileFault(session, deps, archive, steps);
      if (fault) return `${nameOf(archive)} (${archive.name}): ${fault}`;
    }
    return null;
  });
  return fault ?? findOpenSteps(account_id, steps);
}

async function findFileFault(
  session: Session,
  { directory, key, keyring }: FileDeps,
  archive: Archive,
  steps: Steps,
): Promise<string | null> {
  try {
    const bytes = await readArchiveFile(join(directory, archive.name));
    if (bytes === null) return "its file is missing";
    if (!sha256Of(bytes).equals(archive.sha256)) return "its file was changed";
    const { head, rows } = await decodeArchive(bytes, key);
    const fault = findHeadFault(archive, head, rows);
    if (fault) return fault;
    const { account_id, table_name } = archive;
    if (table_name === "events") {
      return await findEventFault(session, keyring, account_id, rows as ArchivedEvent[]);
    }
    if (table_name !== "event_rows") return null;
    return await findEventRowFault(session, account_id, rows as ArchivedEventRow[], steps);
  } catch (error) {
    if (error instanceof WrongArchiveError) return error.message;
    throw error;
  }
}

function findHeadFault(
  archive: Archive,
  head: ArchiveHead,
  rows: readonly ArchivedRow[],
): string | null {
  const is_its =
    head.account_id === archive.account_id &&
    head.table_name === archive.table_name &&
    head.number === archive.number &&
    isSame(head.previous, archive.previous);
  if (!is_its) return "its file is that of another archive";
  const { row_count, first_id, last_id } = archive;
  const is_whole =
    rows.length === row_count && rows[0]?.id === first_id && rows.at(-1)?.id === last_id;
  return is_whole ? null : `its file does not have the ${row_count} rows that were archived`;
}

type KnownEvent = Pick<ArchivedEvent, "id" | "name" | "record_id" | "sequence" | "subject_id">;

/**
 * An event has no digest of its body; the body is encrypted for its event instead, so only the body
 * of this event can be opened. That no event is missing is checked with the sealed log.
 */
async function findEventFault(
  session: Session,
  keyring: Keyring | undefined,
  account_id: string,
  events: readonly ArchivedEvent[],
): Promise<string | null> {
  const known = await session.query<KnownEvent>(
    `select id, name, record_id, sequence, subject_id from events
     where account_id = $1 and id = any($2::uuid[])`,
    [account_id, events.map(({ id }) => id)],
  );
  const known_of = new Map(known.map((event) => [event.id, event]));
  const keyOf = await keyring?.openOwners(
    session,
    events.map(({ subject_id }) => ({ account_id, subject_id })),
  );
  for (const event of events) {
    const found = known_of.get(event.id);
    if (found && !isSameEvent(found, event)) return `event ${event.id} is another one by now`;
    const { subject_id, body } = event;
    const key = keyOf?.({ account_id, subject_id });
    // Without a key, the person was erased.
    if (body === null || !key) continue;
    try {
      open(key, bodyPlace(account_id, event.id), Buffer.from(body, "base64"));
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      return `the body of event ${event.id} cannot be decrypted`;
    }
  }
  return null;
}

function isSameEvent(a: KnownEvent, b: KnownEvent): boolean {
  return (
    a.name === b.name &&
    a.record_id === b.record_id &&
    a.sequence === b.sequence &&
    a.subject_id === b.subject_id
  );
}
