import { recordAudit } from "../../accounts/audit.ts";
import { type Actor, actorOf } from "../../accounts/model.ts";
import { listDocumentReviewers } from "../../accounts/store.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { OfframpRule } from "../change-offramps.ts";
import { isBeforePayout, type Offramp } from "../model.ts";
import { reassessOfframps } from "../reassess-offramps.ts";
import { advanceOfframp, type ChangedOfframp } from "../record-changes.ts";
import type { KeyedOfframp } from "../store.ts";
import { deleteRejectedDocument, insertRejectedDocument } from "./rejected-document-store.ts";
import { NOT_DELEGATED } from "./reviewed-account.ts";

export type Review = {
  status: "approved" | "rejected" | null;
  comment: string | null;
  /** Hash of the reviewed file, where the decision is applied later than the review. */
  document_hash?: string | null;
  /** Approves a rejected file; only members may do so. */
  overrides_rejection?: boolean;
};

type Reviews = {
  /** The accounts that may review their own documents now. */
  reviewers: ReadonlySet<string>;
  /** Who made which change, and why: one offramp may be reviewed several times in a set. */
  made: Map<ChangedOfframp, { actor: Actor; comment: string | null }>;
};

/** A person's decision on a document; it names the hash of the reviewed file. */
export const reviewDocuments: OfframpRule<Review, Reviews> = {
  name: "review-documents",
  load: async (tx, commands) => {
    const account_ids = commands.map(({ account_id }) => account_id);
    return { reviewers: await listDocumentReviewers(tx, account_ids), made: new Map() };
  },
  decide: (entry, command, { reviewers, made }, now) => {
    const { offramp } = entry;
    const refuse = (message: string) => ({
      problems: [{ field: "offramp_id", code: "invalid_transition" as const, message }],
    });
    // The delegation may have ended since a proposal was made.
    if (!isByOperator(command) && !reviewers.has(command.account_id)) return refuse(NOT_DELEGATED);
    if (!isBeforePayout(offramp.status))
      return refuse("The payout has already started; the document can no longer be reviewed.");
    if (offramp.document_status === null)
      return refuse("There is no document to review yet; upload one first.");
    const { status, comment, document_hash, overrides_rejection } = command.input.requested;
    if (document_hash && document_hash !== offramp.document_hash?.toString("hex")) {
      return refuse("The document was replaced since you opened it; review the new one.");
    }
    if (status === null) return { problems: [] };
    if (status === "approved" && offramp.document_file === null) {
      return refuse("The document has not been fetched yet; wait for it, or upload the file.");
    }
    const is_rejected = offramp.document_status === "rejected";
    if (status === "approved" && is_rejected && !overrides_rejection) {
      return refuse(
        "This file was rejected: upload another one, or have a member approve it with a reason " +
          "on /dashboard/documents (or by sliproad documents approve).",
      );
    }
    const change =
      status === "rejected"
        ? rejectDocument(entry, comment ?? REJECTED, now)
        : advanceOfframp(entry, { ...withoutRejection(offramp), document_status: status }, now);
    made.set(change, { actor: actorOf(command), comment });
    return { value: change };
  },
  record: (tx, changes, { made }, now) => {
    for (const change of changes) {
      const { account_id, id, document_status, document_hash } = change.offramp;
      const { actor, comment } = made.get(change)!;
      recordAudit(
        tx,
        {
          account_id,
          actor,
          action: document_status === "rejected" ? "document.rejected" : "document.approved",
          record: `offramp:${id}`,
          reason: comment ?? "",
          detail: { hash: document_hash?.toString("hex") ?? null },
        },
        now,
      );
      if (document_hash) {
        const file = { account_id, offramp_id: id, hash: document_hash };
        if (document_status === "rejected") insertRejectedDocument(tx, file, now);
        else deleteRejectedDocument(tx, file);
      }
      reassessOfframps(tx, account_id, [id], now);
    }
  },
};

/** Whether the operator's key or member reviews, or is one of the two who confirmed the review. */
function isByOperator({ account_id, actor_account_id, operator_approval }: Command<unknown>) {
  return (actor_account_id ?? account_id) !== account_id || operator_approval === true;
}

const REJECTED = "The supporting document was rejected. Upload another one.";

/** An offramp that waits to be paid keeps waiting, with the reason; others keep their status. */
export function rejectDocument(entry: KeyedOfframp, reason: string, now: Date): ChangedOfframp {
  const { status, funded_at, details } = entry.offramp;
  const change: Partial<Offramp> = {
    document_status: "rejected",
    details: { ...details, document_comment: reason },
  };
  // While the deposit is short, the message says how much to send; the reason follows later.
  const is_short = status === "ongoing_checks" && funded_at === null;
  if (!is_short) change.status_message = reason;
  if (status === "pending_internal_assessment") change.status = "ongoing_checks";
  return advanceOfframp(entry, change, now);
}

/** Clears the message of the rejection, and no other message. */
export function withoutRejection({ status_message, details }: Offramp): Partial<Offramp> {
  const { document_comment, ...rest } = details;
  if (!document_comment) return {};
  const is_shown = status_message === document_comment;
  return { details: rest, ...(is_shown ? { status_message: null } : {}) };
}
