import { recordAudit } from "../access/audit.ts";
import type { Actor } from "../access/model.ts";
import type { FileType } from "../partners/files/judge-file.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { OfframpRule } from "./change-offramps.ts";
import { isBeforePayout, type Offramp } from "./model.ts";
import { changeOfframp } from "./record-changes.ts";
import { updateAssessmentsDue } from "./store.ts";
import { SWEEP_DOCUMENTS_TASK } from "./task-kinds.ts";

export type NewDocument = { version: string; hash: Buffer; type: FileType };

/** Longer than any upload may take: a version that young may belong to one under way. */
export const SWEPT_AFTER_MS = 5 * 60 * 1000;

/** An uploaded file takes the place of whatever document the offramp had. */
export function attachDocuments(
  writeMessage: (message: string) => string,
): OfframpRule<NewDocument, Map<string, string>> {
  return {
    name: "attach-documents",
    load: async (_tx, commands) =>
      new Map(commands.map(({ api_key_id, input }) => [input.offramp_id, api_key_id])),
    decide: (entry, { input }, _extra, now) => {
      if (!isBeforePayout(entry.offramp.status)) {
        const message = "The payout is under way; its document can no longer be changed.";
        return [{ field: "offramp_id", code: "offramp_not_editable", message }];
      }
      return changeOfframp(entry, documentChange(entry.offramp, "upload", input.wish), now);
    },
    record: (tx, changes, callers, now) => {
      for (const { offramp } of changes) {
        recordDocument(tx, offramp, `api_key:${callers.get(offramp.id)}`, now);
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
  const was_rejected = offramp.document_status === "rejected";
  return {
    document_status: "not_checked",
    document_source,
    document_file: version,
    document_hash: hash,
    document_type: type,
    document_version: offramp.document_version + 1,
    // The message told of the document that is gone.
    ...(was_rejected ? { status_message: null } : {}),
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
