import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DocumentFailure, DocumentSource } from "../../partners/documents/port.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { type FileType, judgeFile } from "../../partners/files/judge-file.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { sealedSize, sealStream } from "../../platform/encryption/sealed-stream.ts";
import { Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { gather } from "../../platform/tasks/gather.ts";
import type { SlowWork } from "../../platform/tasks/slow-work.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { isBeforePayout, type Offramp } from "../model.ts";
import { lockQuoteRows } from "../quotes/store.ts";
import { advanceOfframp, type ChangedOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import {
  findOfframps,
  type KeyedOfframp,
  lockOfframps,
  openOfframps,
  updateFetchFailures,
} from "../store.ts";
import { documentChange, type NewDocument, recordFetchedDocuments } from "./attach-documents.ts";
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

/** How long a document waits for others to be recorded with. */
const GATHERED_MS = 100;

/** A task with the offramp that it was fetched for, and what came; null if it is not needed. */
type Result = { task: Task; entry: KeyedOfframp | undefined; fetched: Fetched | null };

/**
 * Fetches documents from their URLs, each independently, and records those together that come at
 * the same time. A set whose hosts are slow leaves its place to the next one.
 */
export async function fetchDocuments(deps: FetchDeps, set: TaskSet, slow: SlowWork): Promise<void> {
  const tasks = await slow.putOff(deps.database, set);
  const entries = await read(deps, tasks);
  const onSlow = () => {
    if (slow.isRoomLeft) set.leavePlace();
  };
  const record = gather<Result>(tasks.length, GATHERED_MS, (results) =>
    recordResults(deps, set, results),
  );
  let left = tasks.length;
  const work = async (task: Task) => {
    const entry = entries.get(task.account_id, task.record_id);
    const fetched = await slow
      .count(task.account_id, onSlow, () => fetchFor(deps, entry, set.now))
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
    left -= 1;
    // Nothing but writing is left to do: the next documents can be fetched meanwhile.
    if (left === 0) set.leavePlace();
    if ("error" in fetched) throw fetched.error;
    return record({ task, entry, fetched: fetched.value });
  };
  const ends = await Promise.allSettled(tasks.map(work));
  // Throw only after all have ended: a fetch still running after a throw would lose its task.
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
}

async function fetchFor(
  deps: FetchDeps,
  entry: KeyedOfframp | undefined,
  now: Date,
): Promise<Fetched | null> {
  return entry && isWanted(entry.offramp) ? fetchDocument(deps, entry, now) : null;
}

async function recordResults(
  deps: FetchDeps,
  set: TaskSet,
  results: readonly Result[],
): Promise<void> {
  const used = await deps.database.transaction((tx) => recordAll(tx, deps, set, results));
  for (const { task, fetched } of results) {
    if (used.has(task) || !fetched || !("document" in fetched)) continue;
    await deps.files.delete(documentKey(toKey(task), fetched.document.version));
  }
}

/** Returns the tasks whose documents were used. */
async function recordAll(
  tx: Transaction,
  { keyring, renderer }: FetchDeps,
  set: TaskSet,
  results: readonly Result[],
): Promise<Set<Task>> {
  const tasks = await set.lock(
    tx,
    results.map(({ task }) => task),
  );
  const quotes = results.flatMap(({ entry }) =>
    entry ? [{ account_id: entry.offramp.account_id, id: entry.offramp.quote_id }] : [],
  );
  // Like an upload: whoever proposes to pay the quote sees the document, or is seen by this.
  await lockQuoteRows(tx, quotes);
  const rows = await lockOfframps(tx, tasks.map(toKey));
  const current = byOfframp(await openOfframps(tx, keyring, rows));
  const of_task = new Map(results.map((result) => [result.task, result]));
  const used = new Set<Task>();
  const changes: ChangedOfframp[] = [];
  const again = new Map<Task, Date>();
  for (const task of tasks) {
    const { fetched } = of_task.get(task)!;
    const entry = current.get(task.account_id, task.record_id);
    if (!fetched || !entry || !isWanted(entry.offramp)) continue;
    used.add(task);
    const next = decideNext(entry, fetched, set.now);
    if ("change" in next) {
      changes.push(next.change);
    } else {
      again.set(task, next.again_at);
      updateFetchFailures(tx, entry.offramp, entry.offramp.document_fetch_failures + 1);
    }
  }
  recordChanges(tx, renderer, changes, set.now);
  const attached = changes.map(({ offramp }) => offramp).filter(({ document_file: file }) => file);
  recordFetchedDocuments(tx, attached, set.now);
  set.postpone(
    tx,
    tasks.filter((task) => again.has(task)),
    (task) => again.get(task)!,
  );
  set.finish(
    tx,
    tasks.filter((task) => !again.has(task)),
  );
  return used;
}

function toKey({ account_id, record_id }: Task): RecordKey {
  return { account_id, id: record_id };
}

/** A newer upload, or a payout in progress, makes the fetch pointless. */
function isWanted(offramp: Offramp): boolean {
  const is_missing = offramp.document_source === "url" && offramp.document_file === null;
  return is_missing && isBeforePayout(offramp.status) && offramp.document_status !== "rejected";
}

/** The offramp with its document or without it; or when to fetch again. */
function decideNext(
  entry: KeyedOfframp,
  fetched: Fetched,
  now: Date,
): { change: ChangedOfframp } | { again_at: Date } {
  const { offramp } = entry;
  if ("document" in fetched) {
    const change = documentChange(offramp, "url", fetched.document);
    return { change: advanceOfframp(entry, change, now) };
  }
  const after_ms = fetched.is_final ? undefined : RETRIES_AFTER_MS[offramp.document_fetch_failures];
  if (after_ms !== undefined) return { again_at: new Date(now.getTime() + after_ms) };
  const reason = `The supporting document could not be used: ${fetched.failure}`;
  return { change: rejectDocument(entry, reason, now) };
}

async function read(
  { database, keyring }: FetchDeps,
  tasks: readonly Task[],
): Promise<AccountMap<KeyedOfframp>> {
  const rows = await findOfframps(database, tasks.map(toKey));
  return byOfframp(await openOfframps(database, keyring, rows));
}

function byOfframp(entries: readonly KeyedOfframp[]): AccountMap<KeyedOfframp> {
  const found = new AccountMap<KeyedOfframp>();
  for (const entry of entries) found.set(entry.offramp.account_id, entry.offramp.id, entry);
  return found;
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
  const { account_id } = offramp;
  const limits = { bytes_max: sealedSize(DOCUMENT_BYTES_MAX), account_id };
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
