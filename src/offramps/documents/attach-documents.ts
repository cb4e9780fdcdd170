import { type AuditEntry, recordAudit, recordAudits } from "../../accounts/audit.ts";
import { type Actor, actorOf } from "../../accounts/model.ts";
import type { FileType } from "../../partners/files/judge-file.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { OfframpRule } from "../change-offramps.ts";
import { isBeforePayout, type Offramp } from "../model.ts";
import type { Quote } from "../quotes/model.ts";
import { lockQuoteRows } from "../quotes/store.ts";
import { reassessOfframps } from "../reassess-offramps.ts";
import { advanceOfframp, type ChangedOfframp } from "../record-changes.ts";
import { findOfframps } from "../store.ts";
import { SWEEP_DOCUMENTS_TASK } from "../task-kinds.ts";
import { listRejectedDocuments, type RejectedDocument } from "./rejected-document-store.ts";
import { withoutRejection } from "./review-documents.ts";
import { dropLater } from "./upload-documents.ts";

export type NewDocument = { version: string; hash: Buffer; type: FileType };

/** Longer than any upload takes: a newer version may belong to an upload in progress. */
export const SWEPT_AFTER_MS = 5 * MINUTE_MS;

/** Who uploaded, and which version it replaced: a set may upload several files for one offramp. */
type Upload = { actor: Actor; replaced: Offramp };
type Extra = {
  uploads: Map<ChangedOfframp, Upload>;
  rejected: readonly RejectedDocument[];
  quotes: AccountMap<Quote>;
};

/**
 * An uploaded file replaces the offramp's document in any state. Once the payout has begun, the
 * gates depend on the document it began with, and the new one opens none; once two members have
 * approved the payment, the new one needs their approval too. Locks the quote, as the task does
 * that compares what they approved.
 */
export function attachDocuments(
  writeMessage: (message: string) => string,
): OfframpRule<NewDocument, Extra> {
  return {
    name: "attach-documents",
    load: async (tx, commands) => {
      const keys = commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id }));
      const quotes = (await findOfframps(tx, keys)).map(({ account_id, quote_id: id }) => ({
        account_id,
        id,
      }));
      const locked = AccountMap.of(await lockQuoteRows(tx, quotes), (quote) => quote);
      return { uploads: new Map(), rejected: [], quotes: locked };
    },
    loadMore: async (tx, extra, offramps) => ({
      ...extra,
      rejected: await listRejectedDocuments(tx, offramps),
    }),
    decide: (entry, command, { uploads, rejected, quotes }, now) => {
      const { offramp } = entry;
      const { requested } = command.input;
      const is_rejected = rejected.some(
        ({ offramp_id, hash }) => offramp_id === offramp.id && hash.equals(requested.hash),
      );
      if (is_rejected) {
        const message = "This file was rejected for this offramp; upload another one.";
        return { problems: [{ field: "file", code: "record_invalid", message }] };
      }
      const quote = quotes.get(offramp.account_id, offramp.quote_id);
      const document = {
        ...documentChange(offramp, "upload", requested),
        ...callersTime(offramp, now),
        document_after_approval:
          isBeforePayout(offramp.status) && quote?.approval_status === "done",
      };
      const change = advanceOfframp(entry, document, now);
      uploads.set(change, { actor: actorOf(command), replaced: offramp });
      return { value: change };
    },
    record: (tx, changes, { uploads }, now) => {
      for (const change of changes) {
        const { actor, replaced } = uploads.get(change)!;
        recordDocument(tx, change.offramp, actor, now, replaced.document_hash);
        const { account_id, document_id } = replaced;
        if (document_id) dropLater(tx, [{ account_id, id: document_id }], now);
      }
    },
    render: () => writeMessage("The supporting document was uploaded successfully."),
  };
}

/**
 * The time of the operator's review begins again, and what was before it is the caller's: else
 * whoever replaces the file before each decision would keep the rate for as long as they like.
 */
function callersTime({ status, rate_paused_at }: Offramp, now: Date): Partial<Offramp> {
  return rate_paused_at !== null && isBeforePayout(status) ? { rate_paused_at: now } : {};
}

/** The fields that change when a copy of the document is stored. */
export function documentChange(
  offramp: Offramp,
  document_source: "url" | "upload",
  { version, hash, type }: NewDocument,
): Partial<Offramp> {
  return {
    ...withoutRejection(offramp),
    document_status: "not_checked",
    document_source,
    document_id: null,
    document_file: version,
    document_hash: hash,
    document_type: type,
    document_version: offramp.document_version + 1,
  };
}

/** The hash of every document is kept, even after the file is deleted. */
function recordDocument(
  tx: Transaction,
  offramp: Offramp,
  actor: Actor,
  now: Date,
  replaced: Buffer | null = null,
): void {
  auditDocument(tx, offramp, actor, now, replaced);
  followDocuments(tx, [offramp], now);
}

/** The same for a set of documents that were fetched. */
export function recordFetchedDocuments(
  tx: Transaction,
  offramps: readonly Offramp[],
  now: Date,
): void {
  recordAudits(
    tx,
    offramps.map((offramp) => documentAct(offramp, "worker")),
    now,
  );
  followDocuments(tx, offramps, now);
}

function followDocuments(tx: Transaction, offramps: readonly Offramp[], now: Date): void {
  for (const [account_id, own] of Map.groupBy(offramps, (offramp) => offramp.account_id)) {
    reassessOfframps(
      tx,
      account_id,
      own.map(({ id }) => id),
      now,
    );
  }
  sweepLater(tx, offramps, now);
}

/** Before a file is stored, too: should its command never run, nothing else would remove it. */
export function sweepLater(
  tx: Transaction,
  records: readonly RecordKey[],
  now: Date,
  after_ms = SWEPT_AFTER_MS,
): void {
  enqueueTasks(tx, SWEEP_DOCUMENTS_TASK, records, now, new Date(now.getTime() + after_ms));
}

export function auditDocument(
  tx: Transaction,
  offramp: Offramp,
  actor: Actor,
  now: Date,
  replaced: Buffer | null = null,
): void {
  recordAudit(tx, documentAct(offramp, actor, replaced), now);
}

function documentAct(offramp: Offramp, actor: Actor, replaced: Buffer | null = null): AuditEntry {
  const { account_id, id } = offramp;
  return {
    account_id,
    actor,
    action: "document.attach",
    record: `offramp:${id}`,
    reason: reasonOf(offramp),
    detail: {
      hash: offramp.document_hash?.toString("hex") ?? null,
      version: offramp.document_version,
      ...(replaced ? { replaced: replaced.toString("hex") } : {}),
    },
  };
}

function reasonOf({ document_source, document_id, status }: Offramp): string {
  if (document_id !== null) return "uploaded before the offramp was created";
  if (document_source === "url") return "fetched from its URL";
  return isBeforePayout(status) ? "uploaded" : "uploaded after the payout began";
}
