import { recordAudit } from "../access/audit.ts";
import type { OfframpRule } from "./change-offramps.ts";
import { isBeforePayout, type Offramp } from "./model.ts";
import { type ChangedOfframp, changeOfframp } from "./record-changes.ts";
import type { KeyedOfframp } from "./store.ts";
import { updateAssessmentsDue } from "./store.ts";

export type Review = { status: "approved" | "rejected" | null; comment: string | null };

type Extra = { reviews: Map<string, { by: string; comment: string | null }> };

/** A person's judgement on a document; it names the hash of the file that was looked at. */
export const reviewDocuments: OfframpRule<Review, Extra> = {
  name: "review-documents",
  load: async (_tx, commands) => ({
    reviews: new Map(
      commands.map(({ api_key_id, input }) => [
        input.offramp_id,
        { by: api_key_id, comment: input.wish.comment },
      ]),
    ),
  }),
  decide: (entry, { input }, _extra, now) => {
    const { offramp } = entry;
    const refuse = (message: string) => [
      { field: "offramp_id", code: "invalid_transition" as const, message },
    ];
    if (!isBeforePayout(offramp.status)) return refuse("The payout is under way already.");
    if (offramp.document_file === null) return refuse("There is no document to review yet.");
    const { status, comment } = input.wish;
    if (status === null) return [];
    if (status === "rejected") return rejectDocument(entry, comment ?? REJECTED, now);
    return changeOfframp(entry, { document_status: "approved", status_message: null }, now);
  },
  record: (tx, changes, { reviews }, now) => {
    for (const { offramp } of changes) {
      const { account_id, id } = offramp;
      const review = reviews.get(id)!;
      recordAudit(
        tx,
        {
          account_id,
          actor: `api_key:${review.by}`,
          action: `document.${offramp.document_status}`,
          record: `offramp:${id}`,
          reason: review.comment ?? "",
          detail: { hash: offramp.document_hash?.toString("hex") ?? null },
        },
        now,
      );
      updateAssessmentsDue(tx, { account_id, offramp_id: id }, now);
    }
  },
};

const REJECTED = "The supporting document was rejected; send another one.";

/** An offramp that waits to be paid goes on waiting, with the reason; one not paid for stays. */
export function rejectDocument(entry: KeyedOfframp, reason: string, now: Date): ChangedOfframp {
  const change: Partial<Offramp> = { document_status: "rejected", status_message: reason };
  if (entry.offramp.status === "pending_internal_assessment") change.status = "ongoing_checks";
  return changeOfframp(entry, change, now);
}
