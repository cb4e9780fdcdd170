import type { FileType } from "../partners/files/judge-file.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import {
  distinctSetOf,
  findRow,
  insertRow,
  insertRows,
  type RecordKey,
} from "../platform/db/rows.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { UserKey } from "../users/store.ts";
import type { IdentityFieldName, Slot, Submitted, Values } from "./fields.ts";
import { deleteNotesOf } from "./review/review-note-store.ts";

/** What was typed on the page, and in which visit: only that visit sees it in clear again. */
export type KycDraft = Partial<
  Record<IdentityFieldName, { value: string | null; visit_id: string }>
>;

export type KycApplication = {
  account_id: string;
  id: string;
  user_id: string;
  submitted_at: Date;
  decided_at: Date | null;
  /** Null once deleted. */
  submitted: Submitted | null;
};

export type KycFile = {
  account_id: string;
  id: string;
  user_id: string;
  /** Null while the file belongs to the draft. */
  application_id: string | null;
  slot: Slot;
  file: string;
  visit_id: string | null;
  type: FileType;
  size: number;
  hash: Buffer;
  uploaded_at: Date;
};

type ApplicationRow = Omit<KycApplication, "submitted"> & { content: Buffer | null };

const DRAFT = sealedJson<KycDraft>("kyc_drafts", "content");
const SUBMITTED = sealedJson<KycApplication["submitted"]>("kyc_applications", "content");

export async function findKycDraft(
  session: Session,
  key: UserKey,
  subject_key: Buffer,
): Promise<KycDraft> {
  const [row] = await session.query<{ content: Buffer }>(
    "select content from kyc_drafts where account_id = $1 and user_id = $2",
    [key.account_id, key.user_id],
  );
  return row ? DRAFT.open(subject_key, draftKey(key), row.content) : {};
}

export function updateKycDraft(
  tx: Transaction,
  key: UserKey,
  draft: KycDraft,
  subject_key: Buffer,
  now: Date,
): void {
  const content = DRAFT.seal(subject_key, draftKey(key), draft);
  tx.write(
    `insert into kyc_drafts (account_id, user_id, content, updated_at) values ($1, $2, $3, $4)
     on conflict (account_id, user_id)
       do update set content = excluded.content, updated_at = excluded.updated_at`,
    [key.account_id, key.user_id, content, now],
  );
}

/** Deletes the draft and its files. */
export function deleteKycDraft(tx: Transaction, { account_id, user_id }: UserKey): void {
  tx.write("delete from kyc_drafts where account_id = $1 and user_id = $2", [account_id, user_id]);
  tx.write(
    "delete from kyc_files where account_id = $1 and user_id = $2 and application_id is null",
    [account_id, user_id],
  );
}

export function insertApplication(
  tx: Transaction,
  application: KycApplication,
  subject_key: Buffer,
): void {
  const { account_id, id, user_id, submitted_at, submitted } = application;
  const content = SUBMITTED.seal(subject_key, application, submitted);
  insertRow(tx, "kyc_applications", { account_id, id, user_id, content, submitted_at });
}

/** The latest application of a user. */
export async function findLastApplication(
  session: Session,
  key: UserKey,
  subject_key: Buffer,
): Promise<KycApplication | undefined> {
  const [row] = await session.query<ApplicationRow>(
    `select account_id, id, user_id, content, submitted_at, decided_at from kyc_applications
     where account_id = $1 and user_id = $2 order by id desc limit 1`,
    [key.account_id, key.user_id],
  );
  return row && toApplication(row, subject_key);
}

/** What the businesses among these users submitted last, by user. */
export async function listBusinessValues(
  session: Session,
  users: readonly UserKey[],
  keys: SubjectKeys,
): Promise<Map<string, Partial<Values>>> {
  const wanted = distinctSetOf(session, "wanted", "account_id uuid, user_id uuid", users);
  const rows = await session.query<ApplicationRow>(
    `select last.* from users
     join ${wanted.from} on users.account_id = wanted.account_id and users.id = wanted.user_id
     cross join lateral (
       select account_id, id, user_id, content, submitted_at, decided_at from kyc_applications as a
       where a.account_id = users.account_id and a.user_id = users.id
       order by a.id desc limit 1) as last
     where users.beneficiary_type = 'business' and last.content is not null`,
    wanted.values,
  );
  return new Map(
    rows.flatMap((row) => {
      const key = keys.get(row.account_id, row.user_id);
      const values = key && toApplication(row, key).submitted?.values;
      return values ? [[row.user_id, values] as const] : [];
    }),
  );
}

export async function findApplicationUser(
  session: Session,
  account_id: string,
  id: string,
): Promise<string | undefined> {
  const [row] = await session.query<{ user_id: string }>(
    "select user_id from kyc_applications where account_id = $1 and id = $2",
    [account_id, id],
  );
  return row?.user_id;
}

/**
 * Sets the decision time of applications not yet deleted; null restarts the retention period at the
 * next decision.
 */
export function updateApplicationsDecided(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  decided_at: Date | null,
): void {
  tx.write(
    `update kyc_applications set decided_at = $3
     where account_id = $1 and user_id = $2 and deleted_at is null`,
    [account_id, user_id, decided_at],
  );
}

/** Whether data of an application is stored. */
export async function existsApplicationData(session: Session, key: UserKey): Promise<boolean> {
  const rows = await session.query(
    `select 1 from kyc_applications
     where user_id = $2 and account_id = $1 and deleted_at is null limit 1`,
    [key.account_id, key.user_id],
  );
  return rows.length > 0;
}

/** Deletes everything about an erased person, except that there were applications. */
export function deleteKycDataOf(tx: Transaction, key: UserKey, now: Date): void {
  deleteKycDraft(tx, key);
  deleteApplicationData(tx, key, null, now);
  deleteNotesOf(tx, key);
}

/** Deletes data and files of applications decided by then; their rows are kept. */
export function deleteApplicationData(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  decided_by: Date | null,
  now: Date,
): void {
  const which = `account_id = $1 and user_id = $2 and deleted_at is null
    and ($3::timestamptz is null or decided_at <= $3)`;
  tx.write(
    `delete from kyc_files where account_id = $1 and user_id = $2
       and application_id in (select id from kyc_applications where ${which})`,
    [account_id, user_id, decided_by],
  );
  tx.write(`update kyc_applications set content = null, deleted_at = $4 where ${which}`, [
    account_id,
    user_id,
    decided_by,
    now,
  ]);
}

/** The files of the draft, or of one application. */
export function listKycFiles(
  session: Session,
  { account_id, user_id }: UserKey,
  application_id: string | null,
): Promise<KycFile[]> {
  return session.query<KycFile>(
    `select * from kyc_files where account_id = $1 and user_id = $2
       and application_id is not distinct from $3 order by slot`,
    [account_id, user_id, application_id],
  );
}

export function findKycFile(
  session: Session,
  { account_id, user_id }: UserKey,
  id: string,
): Promise<KycFile | undefined> {
  return findRow(session, "kyc_files", { account_id, user_id, id });
}

/** The versions in the file store that a record still refers to. */
export async function listNamedFiles(
  session: Session,
  { account_id, user_id }: UserKey,
): Promise<Set<string>> {
  const rows = await session.query<{ file: string }>(
    "select distinct file from kyc_files where account_id = $1 and user_id = $2",
    [account_id, user_id],
  );
  return new Set(rows.map((row) => row.file));
}

/** Not covered: the application, to which a draft's files move when it is sent. */
export const KYC_FILES = vouchedTable(
  "kyc_files",
  ["account_id", "id"],
  ["user_id", "slot", "file", "visit_id", "type", "size", "hash", "uploaded_at"],
);

export function insertKycFiles(tx: Transaction, files: readonly KycFile[]): void {
  insertRows(
    tx,
    "kyc_files",
    `account_id uuid, id uuid, user_id uuid, application_id uuid, slot text, file uuid,
     visit_id uuid, type text, size integer, hash bytea, uploaded_at timestamptz, mac bytea`,
    KYC_FILES.withMacs(tx, files),
  );
}

export function deleteDraftFile(tx: Transaction, key: UserKey, slot: Slot): void {
  tx.write(
    `delete from kyc_files where account_id = $1 and user_id = $2 and slot = $3
       and application_id is null`,
    [key.account_id, key.user_id, slot],
  );
}

/** Moves the draft's files to the application. */
export function updateFilesSubmitted(
  tx: Transaction,
  { account_id, user_id }: UserKey,
  application_id: string,
): void {
  tx.write(
    `update kyc_files set application_id = $3
     where account_id = $1 and user_id = $2 and application_id is null`,
    [account_id, user_id, application_id],
  );
}

/** False when this result was already recorded. */
export async function insertResult(
  tx: Session,
  result: { account_id: string; application_id: string; result_id: string; outcome: string },
  is_applied: boolean,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into kyc_results
       (account_id, application_id, result_id, outcome, is_applied, created_at)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing returning result_id`,
    [result.account_id, result.application_id, result.result_id, result.outcome, is_applied, now],
  );
  return rows.length > 0;
}

function toApplication({ content, ...row }: ApplicationRow, subject_key: Buffer): KycApplication {
  return { ...row, submitted: content && SUBMITTED.open(subject_key, row, content) };
}

/** A user has one draft, which has no id of its own. */
function draftKey({ account_id, user_id }: UserKey): RecordKey {
  return { account_id, id: user_id };
}
