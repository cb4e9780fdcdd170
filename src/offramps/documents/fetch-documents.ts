import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DocumentFailure, DocumentSource } from "../../partners/documents/port.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileType, judgeFile } from "../../partners/files/judge-file.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { sealedSize, sealStream } from "../../platform/encryption/sealed-stream.ts";
import { Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { SlowWork } from "../../platform/tasks/slow-work.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { isBeforePayout, type Offramp } from "../model.ts";
import { lockQuoteRows } from "../quotes/store.ts";
import { advanceOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import {
  findOfframps,
  type KeyedOfframp,
  lockOfframps,
  openOfframps,
  updateFetchFailures,
} from "../store.ts";
import { documentChange, type NewDocument, recordDocument } from "./attach-documents.ts";
import { DOCUMENT_BYTES_MAX, documentKey, documentPlace } from "./document-file.ts";
import { rejectDocument } from "./review-documents.ts";

export type FetchDeps = Pick<ModuleCore, "database" | "keyring"> & {
  renderer: OfframpRenderer;
  documents: DocumentSource;
  files: FileStore;
};

/** When to try again after the first and the second failure; the third rejects the document. */
const RETRIES_AFTER_MS = [3 * MINUTE_MS, 7 * MINUTE_MS];
/** Enough for every file signature checked. */
const HEAD_BYTES = 8;

const IS_PAGE = "its URL leads to a web page; send the URL of the file itself.";
const WRONG_TYPE = "it is not a PDF, JPG or PNG file.";

type Fetched = { document: NewDocument } | DocumentFailure;

class WrongDocumentError extends Error {}

/**
 * Fetches documents from their URLs, each independently. A set whose hosts are slow leaves its
 * place to the next one.
 */
export async function fetchDocuments(deps: FetchDeps, set: TaskSet, slow: SlowWork): Promise<void> {
  const tasks = await slow.putOff(deps.database, set);
  const onSlow = () => {
    if (slow.isRoomLeft) set.leavePlace();
  };
  const ends = await Promise.allSettled(
    tasks.map((task) => slow.count(task.account_id, onSlow, () => fetchOne(deps, set, task))),
  );
  // Throw only after all have ended: a fetch still running after a throw would lose its task.
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
}

async function fetchOne(deps: FetchDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, id: task.record_id };
  const entry = await read(deps, key);
  const fetched =
    entry && isWanted(entry.offramp) ? await fetchDocument(deps, entry, set.now) : null;
  const is_used = await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return false;
    // Like an upload: whoever proposes to pay the quote sees the document, or is seen by this.
    if (entry) await lockQuoteRows(tx, [{ ...key, id: entry.offramp.quote_id }]);
    const rows = await lockOfframps(tx, [key]);
    const [current] = await openOfframps(tx, deps.keyring, rows);
    const is_wanted = fetched && current && isWanted(current.offramp);
    const again_at = is_wanted ? recordFetched(tx, deps, current, fetched, set.now) : null;
    if (again_at) set.postpone(tx, tasks, again_at);
    else set.finish(tx, tasks);
    return is_wanted;
  });
  if (is_used || !fetched || !("document" in fetched)) return;
  await deps.files.delete(documentKey(key, fetched.document.version));
}

/** A newer upload, or a payout in progress, makes the fetch pointless. */
function isWanted(offramp: Offramp): boolean {
  const is_missing = offramp.document_source === "url" && offramp.document_file === null;
  return is_missing && isBeforePayout(offramp.status) && offramp.document_status !== "rejected";
}

/** Returns the time to fetch again, if it should be. */
function recordFetched(
  tx: Transaction,
  { renderer }: FetchDeps,
  entry: KeyedOfframp,
  fetched: Fetched,
  now: Date,
): Date | null {
  if ("document" in fetched) {
    const change = documentChange(entry.offramp, "url", fetched.document);
    const changed = advanceOfframp(entry, change, now);
    recordChanges(tx, renderer, [changed], now);
    recordDocument(tx, changed.offramp, "worker", now);
    return null;
  }
  const { offramp } = entry;
  const after_ms = fetched.is_final ? undefined : RETRIES_AFTER_MS[offramp.document_fetch_failures];
  if (after_ms === undefined) {
    const reason = `The supporting document could not be used: ${fetched.failure}`;
    recordChanges(tx, renderer, [rejectDocument(entry, reason, now)], now);
    return null;
  }
  updateFetchFailures(tx, offramp, offramp.document_fetch_failures + 1);
  return new Date(now.getTime() + after_ms);
}

async function read(
  { database, keyring }: FetchDeps,
  key: { account_id: string; id: string },
): Promise<KeyedOfframp | undefined> {
  const rows = await findOfframps(database, [key]);
  const [entry] = await openOfframps(database, keyring, rows);
  return entry;
}

async function fetchDocument(deps: FetchDeps, entry: KeyedOfframp, now: Date): Promise<Fetched> {
  let document: NewDocument | undefined;
  let is_page = false;
  try {
    const failure = await deps.documents.fetch({
      account_id: entry.offramp.account_id,
      url: entry.offramp.details.submitted_url ?? "",
      bytes_max: DOCUMENT_BYTES_MAX,
      take: async (body, media_type) => {
        is_page = /html/i.test(media_type);
        document = await store(deps, entry, body, now);
      },
    });
    return failure ?? { document: document! };
  } catch (error) {
    if (error instanceof Refusal && error.code === "file_infected") {
      return { failure: error.message, is_final: true };
    }
    if (!(error instanceof WrongDocumentError)) throw error;
    return { failure: is_page ? IS_PAGE : WRONG_TYPE, is_final: true };
  }
}

/** Encrypts the body into the file store, once its first bytes show an accepted document type. */
async function store(
  { files }: FetchDeps,
  { offramp, key }: KeyedOfframp,
  body: Readable,
  now: Date,
): Promise<NewDocument> {
  const hash = createHash("sha256");
  let type: FileType | null = null;
  const judge = (head: Buffer) => {
    type = judgeFile(head);
    if (type === null) throw new WrongDocumentError("it is of another type");
    return head;
  };
  async function* judged(content: AsyncIterable<Buffer>) {
    let head = Buffer.alloc(0);
    for await (const chunk of content) {
      hash.update(chunk);
      if (type === null) head = Buffer.concat([head, chunk]);
      if (type !== null) yield chunk;
      else if (head.length >= HEAD_BYTES) yield judge(head);
    }
    if (type === null) yield judge(head);
  }
  const limits = { bytes_max: sealedSize(DOCUMENT_BYTES_MAX) };
  const sealing = sealStream(key, documentPlace(offramp));
  const content = files.scan ? files.scan(judged(body)) : judged(body);
  // Read, not piped: an error on our side must not look like an error of the remote body.
  const { temporary_key } = await pipeline(content, sealing, (sealed: AsyncIterable<Buffer>) =>
    files.putTemporary(sealed, limits),
  );
  const version = newId(now);
  await files.promote(temporary_key, documentKey(offramp, version));
  return { version, hash: hash.digest(), type: type! };
}
