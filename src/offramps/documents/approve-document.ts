import type { Clock } from "../../platform/clock.ts";
import { runOnce } from "../../platform/commands/run-once.ts";
import type { Database } from "../../platform/db/database.ts";
import { FIRST_ID, newId } from "../../platform/ids.ts";
import { type ApprovedChangeDeps, reviewWithApproval } from "../approved-changes.ts";
import { findOfframps } from "../store.ts";
import type { Review } from "./review-documents.ts";

export type ApproveDocumentDeps = ApprovedChangeDeps & { database: Database; clock: Clock };

/** The file that was approved, or is once two members have confirmed the proposal. */
export type DocumentApproval = {
  offramp_id: string;
  supporting_document: { status: string; hash: string };
  proposal_id: string | null;
};

/**
 * Approves the document that an offramp has now, a rejected one included, as a person with a
 * reason. Above the approval amount it becomes a proposal. Undefined where there is no offramp.
 */
export async function approveDocument(
  deps: ApproveDocumentDeps,
  key: { account_id: string; id: string },
  given: {
    reason: string;
    /** Of the file that was looked at; undefined stands for the one that is there now. */
    document_hash: string | undefined;
    actor: `member:${string}` | "command line";
  },
): Promise<DocumentApproval | undefined> {
  const { database, clock } = deps;
  const [row] = await findOfframps(database, [key]);
  if (!row) return undefined;
  // What was replaced since this line is refused: the hash is that of the file named here.
  const hash = given.document_hash ?? row.document_hash?.toString("hex");
  const requested: Review = {
    status: "approved",
    comment: given.reason,
    overrides_rejection: true,
    ...(hash ? { document_hash: hash } : {}),
  };
  const now = clock.now();
  const command = {
    id: newId(now),
    account_id: key.account_id,
    // No key has this id.
    credential_id: FIRST_ID,
    input: { user_id: null, quote_id: null, offramp_id: key.id, requested, problems: [] },
    idempotency: null,
    actor: given.actor,
  };
  const review = reviewWithApproval(deps);
  const verdict = await database.transaction((tx) => runOnce(tx, review, command, now));
  if ("refusal" in verdict) throw verdict.refusal;
  const { output } = verdict;
  const proposal_id = "proposed" in output ? output.proposed.proposal.id : null;
  const status = proposal_id === null ? "approved" : (row.document_status ?? "not_checked");
  return { offramp_id: key.id, supporting_document: { status, hash: hash! }, proposal_id };
}
