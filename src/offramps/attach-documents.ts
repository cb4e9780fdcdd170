import { recordAudit } from "../access/audit.ts";
import type { Actor } from "../access/model.ts";
import type { FileType } from "../partners/files/judge-file.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { OfframpRule } from "./change-offramps.ts";
import { isBeforePayout, type Offramp } from "./model.ts";
import { type ChangedOfframp, changeOfframp } from "./record-changes.ts";
import { withoutRejection } from "./review-documents.ts";
import { updateAssessmentsDue } from "./store.ts";
import { SWEEP_DOCUMENTS_TASK } from "./task-kinds.ts";

export type NewDocument = { version: string; hash: Buffer; type: FileType };

/** Longer than any upload may take: a version that young may belong to one under way. */
export const SWEPT_AFTER_MS = 5 * 60 * 1000;

/** Whose upload made which change: one offramp may get several in a set. */
type Uploaders = Map<ChangedOfframp, Actor>;

/** An uploaded file takes the place of whatever document the offramp had. */
export function attachDocuments(
  writeMessage: (message: string) => string,
): OfframpRule<NewDocument, Uploaders> {
  return {
    name: "attach-documents",
    load: async () => new Map(),
    decide: (entry, { credential_id, input }, uploaders, now) => {
      if (!isBeforePayout(entry.offramp.status)) {
        const message = "The payout is under way; its document can no longer be changed.";
        return [{ field: "offramp_id", code: "offramp_not_editable", message }];
      }
      const wanted = documentChange(entry.offramp, "upload", input.wish);
      const change = changeOfframp(entry, wanted, now);
      uploaders.set(change, `api_key:${credential_id}`);
      return change;
    },
    record: (tx, changes, uploaders, now) => {
      for (const change of changes) {
        recordDocument(tx, change.offramp, uploaders.get(change)!, now);
      }
    },
    render: () => writeMessage("The supporting document was uploaded successfully."),
  };
}

/** What changes of an offramp when a copy of its document is in the store. */
export function documentChange(
  offramp: Offramp,
  document_source: "url" | "upload",
  { version, hash, type }: NewDocument,
): Partial<Offramp> {
  return {
    ...withoutRejection(offramp),
    document_status: "not_checked",
    document_source,
    document_file: version,
    document_hash: hash,
    document_type: type,
    document_version: offramp.document_version + 1,
  };
}

/** The hash of every document stays on record, whatever becomes of the file. */
export function recordDocument(tx: Transaction, offramp: Offramp, actor: Actor, now: Date): void {
  const { account_id, id } = offramp;
  recordAudit(
    tx,
    {
      account_id,
      actor,
      action: "document.attach",
      record: `offramp:${id}`,
      reason: offramp.document_source === "url" ? "fetched from its address" : "uploaded",
      detail: {
        hash: offramp.document_hash?.toString("hex") ?? null,
        version: offramp.document_version,
      },
    },
    now,
  );
  updateAssessmentsDue(tx, { account_id, offramp_id: id }, now);
  enqueueTasks(tx, [
    {
      account_id,
      id: newId(now),
      kind: SWEEP_DOCUMENTS_TASK,
      record_id: id,
      due_at: new Date(now.getTime() + SWEPT_AFTER_MS),
      created_at: now,
    },
  ]);
}
