import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FileStore } from "../partners/files/file-store.ts";
import { type FileType, judgeFile } from "../partners/files/judge-file.ts";
import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { sealedSize, sealStream } from "../platform/encryption/sealed-stream.ts";
import { newId } from "../platform/ids.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import { documentChange, type NewDocument, recordDocument } from "./attach-documents.ts";
import { DOCUMENT_BYTES_MAX, documentKey, documentPlace } from "./document-file.ts";
import { isBeforePayout, type Offramp } from "./model.ts";
import { changeOfframp, recordChanges } from "./record-changes.ts";
import type { OfframpRenderer } from "./render.ts";
import { rejectDocument } from "./review-documents.ts";
import { SAMPLE_PDF } from "./sample-document.ts";
import { findOfframps, type KeyedOfframp, lockOfframps, toOfframps } from "./store.ts";

export type FetchDeps = {
  database: Database;
  keyring: Keyring;
  renderer: OfframpRenderer;
  sender: GuardedSender;
  files: FileStore;
  /** In sandbox, hosts under `.test` serve a sample without any network. */
  is_sandbox: boolean;
};

/** When to try again, counted from the first time; after the last the document is rejected. */
const TRIES_AFTER_MS = [3 * 60 * 1000, 10 * 60 * 1000];
const FETCH_TIMEOUT_MS = 30_000;

type Fetched = { document: NewDocument } | { failure: string; is_final: boolean };

class WrongDocumentError extends Error {}

/** Fetches the documents that were named by their address, each on its own. */
export async function fetchDocuments(deps: FetchDeps, set: TaskSet): Promise<void> {
  await Promise.all(set.tasks.map((task) => fetchOne(deps, set, task)));
}

async function fetchOne(deps: FetchDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, id: task.record_id };
  const entry = await read(deps, key);
  const fetched =
    entry && isWanted(entry.offramp) ? await fetchDocument(deps, entry, set.now) : null;
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    const rows = await lockOfframps(tx, [key]);
    const subjects = rows.map((row) => ({ account_id: row.account_id, subject_id: row.user_id }));
    const [current] = toOfframps(rows, await deps.keyring.openSubjects(tx, subjects));
    const is_same = current?.offramp.document_version === entry?.offramp.document_version;
    if (!fetched || !current || !is_same || !isWanted(current.offramp)) {
      return set.finish(tx, tasks);
    }
    if ("document" in fetched) {
      const change = documentChange(current.offramp, "url", fetched.document);
      const changed = changeOfframp(current, change, set.now);
      recordChanges(tx, deps.renderer, [changed], set.now);
      recordDocument(tx, changed.offramp, "worker", set.now);
      return set.finish(tx, tasks);
    }
    const again_at = fetched.is_final ? undefined : nextTry(task, set.now);
    if (again_at) return set.postpone(tx, tasks, again_at);
    const reason = `The supporting document could not be used: ${fetched.failure}`;
    recordChanges(tx, deps.renderer, [rejectDocument(current, reason, set.now)], set.now);
    set.finish(tx, tasks);
  });
}

/** An upload that came meanwhile, or a payout under way, makes the fetch pointless. */
function isWanted(offramp: Offramp): boolean {
  const is_missing = offramp.document_source === "url" && offramp.document_file === null;
  return is_missing && isBeforePayout(offramp.status) && offramp.document_status !== "rejected";
}

function nextTry(task: Task, now: Date): Date | undefined {
  const begun_ms = task.created_at.getTime();
  const next = TRIES_AFTER_MS.find((after_ms) => begun_ms + after_ms > now.getTime());
  return next === undefined ? undefined : new Date(begun_ms + next);
}

async function read(
  { database, keyring }: FetchDeps,
  key: { account_id: string; id: string },
): Promise<KeyedOfframp | undefined> {
  const rows = await findOfframps(database, [key]);
  const subjects = rows.map((row) => ({ account_id: row.account_id, subject_id: row.user_id }));
  const [entry] = toOfframps(rows, await keyring.openSubjects(database, subjects));
  return entry;
}

async function fetchDocument(deps: FetchDeps, entry: KeyedOfframp, now: Date): Promise<Fetched> {
  const url = entry.offramp.details.submitted_url ?? "";
  const host = URL.parse(url)?.hostname ?? "";
  if (deps.is_sandbox && (host === "test" || host.endsWith(".test"))) {
    return { document: await store(deps, entry, Readable.from([SAMPLE_PDF]), now) };
  }
  let document: NewDocument | undefined;
  try {
    const answer = await deps.sender.send({
      method: "GET",
      url,
      headers: { accept: "application/pdf, image/jpeg, image/png" },
      max_answer_bytes: DOCUMENT_BYTES_MAX,
      whole_timeout_ms: FETCH_TIMEOUT_MS,
      on_body: async (body) => {
        document = await store(deps, entry, body, now);
      },
    });
    if (document) return { document };
    if ("failure" in answer) {
      const is_final = ["refused_address", "too_large", "redirect"].includes(answer.failure);
      return { failure: answer.message, is_final };
    }
    return { failure: `its address answered with status ${answer.status}.`, is_final: false };
  } catch (error) {
    if (!(error instanceof WrongDocumentError)) throw error;
    return { failure: error.message, is_final: true };
  }
}

/** Seals what arrives into the file store, once its first bytes show that it is a document. */
async function store(
  { files }: FetchDeps,
  { offramp, key }: KeyedOfframp,
  body: Readable,
  now: Date,
): Promise<NewDocument> {
  const hash = createHash("sha256");
  let type: FileType | null = null;
  async function* judged(content: AsyncIterable<Buffer>) {
    let head = Buffer.alloc(0);
    for await (const chunk of content) {
      hash.update(chunk);
      if (type !== null) {
        yield chunk;
        continue;
      }
      head = Buffer.concat([head, chunk]);
      if (head.length < 8) continue;
      type = judgeFile(head);
      if (type === null) throw new WrongDocumentError("it is not a PDF, JPG or PNG file.");
      yield head;
    }
    if (type === null) throw new WrongDocumentError("it is not a PDF, JPG or PNG file.");
  }
  const limits = { bytes_max: sealedSize(DOCUMENT_BYTES_MAX) };
  const sealing = sealStream(key, documentPlace(offramp));
  const { temporary_key } = await pipeline(body, judged, sealing, (sealed: AsyncIterable<Buffer>) =>
    files.putTemporary(sealed, limits),
  );
  const version = newId(now);
  await files.promote(temporary_key, documentKey(offramp, version));
  return { version, hash: hash.digest(), type: type! };
}
