import { findAccountById } from "../accounts/store.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import { FileMissingError } from "../partners/files/file-store.ts";
import { type FileFault, inspectFile } from "../partners/files/inspect-file.ts";
import { judgeFile } from "../partners/files/judge-file.ts";
import type { IdentityApplication } from "../partners/identity/port.ts";
import type { Transaction } from "../platform/db/database.ts";
import { DecryptionError } from "../platform/encryption/cipher.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { UserKey } from "../users/store.ts";
import {
  findApplicationUser,
  findLastApplication,
  type KycApplication,
  type KycFile,
  listKycFiles,
} from "./application-store.ts";
import { applyIdentityResults, OPEN, type ResultDeps } from "./apply-identity-results.ts";
import { findMissing } from "./check-identity.ts";
import type { Slot, Submitted } from "./fields.ts";
import { FAULTS } from "./form/attach-file.ts";
import { openKycFile } from "./kyc-file.ts";
import { findKycUser, lockKycUser, type OpenUser, recordMoves } from "./move-kyc.ts";

export type ApplicationAssessDeps = ResultDeps & { files: FileStore };

type Opened = OpenUser & {
  key: UserKey;
  application: KycApplication & { submitted: Submitted };
  files: KycFile[];
};

/**
 * Prechecks an application and sends it to the identity provider: one transaction records the
 * prechecks, then the call is made, then its answer is recorded. After an interruption it continues
 * from there.
 */
export async function assessApplication(
  deps: ApplicationAssessDeps,
  set: TaskSet,
  task: Task,
): Promise<void> {
  const opened = await open(deps, task);
  if (opened?.user.kyc.general.status === "pending_assessment") {
    const advice = await findAdvice(deps, opened, set.now);
    await deps.database.transaction(async (tx) => {
      if ((await set.lock(tx, [task])).length > 0)
        await recordPrechecks(tx, deps, opened, advice, set.now);
    });
  }
  const sent = await open(deps, task);
  // Also one with a result: a further one that could not be applied is returned again.
  if (sent && OPEN.includes(sent.user.kyc.general.status)) {
    const results = await deps.identity.submit(toIdentityApplication(deps, sent));
    await applyIdentityResults(deps, results, set.now);
  }
  await deps.database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
}

/** The application of the task with all its data; undefined when it is out of date. */
async function open(deps: ApplicationAssessDeps, task: Task): Promise<Opened | undefined> {
  const { database, keyring } = deps;
  const { account_id } = task;
  const user_id = await findApplicationUser(database, account_id, task.record_id);
  if (user_id === undefined) return undefined;
  const key = { account_id, user_id };
  const found = await findKycUser(database, keyring, key);
  const last = found && (await findLastApplication(database, key, found.subject_key));
  if (!found || last?.id !== task.record_id || last.submitted === null) return undefined;
  const files = await listKycFiles(database, key, last.id);
  return { key, ...found, application: { ...last, submitted: last.submitted }, files };
}

/** What the applicant must fix before a review; empty when nothing. */
async function findAdvice(
  deps: ApplicationAssessDeps,
  opened: Opened,
  now: Date,
): Promise<string[]> {
  const { user, application, files, key } = opened;
  const { values, known, other_names } = application.submitted;
  const today = now.toISOString().slice(0, 10);
  const problems = findMissing(deps.catalogue, user.beneficiary_type, values, known, today);
  const advice = problems.map(({ field, message }) => `${nameOf(field)}: ${message}`);
  if (other_names.length > 0) {
    const account = await findAccountById(deps.database, key.account_id);
    advice.push(
      `The name differs from the one that ${account?.name} has for you. Write it as they have ` +
        "it, or ask them to correct theirs.",
    );
  }
  for (const file of files) {
    const fault = await findFault(deps, opened, file);
    if (fault) advice.push(`${SLOT_NAMES[file.slot]}: ${FAULTS[fault]}`);
  }
  return advice;
}

/** Reads the file as a reviewer will: complete, authentic, and of the declared type. */
async function findFault(
  { files }: ApplicationAssessDeps,
  { key, subject_key }: Opened,
  { file, type }: KycFile,
): Promise<FileFault | null> {
  try {
    const content = await openKycFile(files.openRead, key, file, subject_key);
    let head = Buffer.alloc(0);
    const watched = async function* () {
      for await (const part of content as AsyncIterable<Buffer>) {
        if (head.length < 8) head = Buffer.concat([head, part]);
        yield part;
      }
    };
    const fault = await inspectFile(type, watched(), key.account_id).finally(() =>
      content.destroy(),
    );
    return judgeFile(head) === type ? fault : "malformed";
  } catch (error) {
    if (error instanceof FileMissingError || error instanceof DecryptionError) return "malformed";
    throw error;
  }
}

const PASSED = ["prechecks_completed", "application_queued"] as const;

/** Prechecks have no final status of their own: a retry is reached through the legal moves. */
async function recordPrechecks(
  tx: Transaction,
  deps: ApplicationAssessDeps,
  { key }: Opened,
  advice: readonly string[],
  now: Date,
): Promise<void> {
  const locked = await lockKycUser(tx, deps.keyring, key);
  if (locked?.user.kyc.general.status !== "pending_assessment") return;
  if (advice.length === 0) recordMoves(tx, locked, PASSED, null, now);
  else recordMoves(tx, locked, [...PASSED, "retry_required"], advice.join(" "), now);
}

function toIdentityApplication(
  { files: store }: ApplicationAssessDeps,
  { key, user, subject_key, application, files }: Opened,
): IdentityApplication {
  return {
    ...key,
    application_id: application.id,
    beneficiary_type: user.beneficiary_type,
    identity: application.submitted.values,
    files: files.map(({ slot, type, file }) => ({
      slot,
      type,
      read: () => openKycFile(store.openRead, key, file, subject_key),
    })),
  };
}

const SLOT_NAMES: Readonly<Record<Slot, string>> = {
  document_front: "Front of the document",
  document_back: "Back of the document",
  selfie: "Selfie",
  registration_document: "Registration document",
};

/** `identity.date_of_birth` → `Date of birth`. */
function nameOf(field: string): string {
  const words = (field.split(".").at(-1) ?? field).replaceAll("_", " ");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}
