import { findMember } from "../../accounts/audited/find-member.ts";
import { assertWaited } from "../../approvals/votes/voters.ts";
import type { Clock } from "../../platform/clock.ts";
import { runOnce } from "../../platform/commands/run-once.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { FIRST_ID, newId } from "../../platform/ids.ts";
import { type ApprovedReviewDeps, reviewWithApproval } from "../approved-changes.ts";
import { findOfframps } from "../store.ts";
import type { Review } from "./review-documents.ts";

export type ApproveDocumentDeps = ApprovedReviewDeps & { database: Database; clock: Clock };

/** The approved file, or the file that is approved once two members confirm the proposal. */
export type DocumentApproval = {
  offramp_id: string;
  supporting_document: { status: string; hash: string };
  proposal_id: string | null;
};

/** Proposing is a vote. */
async function assertMayPropose(
  tx: Transaction,
  { actor, reviewer_account_id }: { actor: string; reviewer_account_id: string },
  now: Date,
): Promise<void> {
  const person_id = /^member:(.+)$/.exec(actor)?.[1];
  const member = person_id && (await findMember(tx, reviewer_account_id, person_id));
  if (member) await assertWaited(tx, member, now);
}

/**
 * Approves an offramp's current document, even a rejected one, as a person with a reason. Above the
 * approval amount it becomes a proposal. Undefined when the offramp does not exist.
 */
export async function approveDocument(
  deps: ApproveDocumentDeps,
  key: { account_id: string; id: string },
  given: {
    reason: string;
    /** Hash of the reviewed file; undefined means the current file. */
    document_hash: string | undefined;
    actor: `member:${string}` | "command line";
    /** The account that reviews: the offramp's, or the operator's. */
    reviewer_account_id: string;
  },
  /** Refuses a session that has ended since. */
  assertSession: (tx: Transaction) => Promise<unknown> = async () => {},
): Promise<DocumentApproval | undefined> {
  const { database, clock } = deps;
  const [row] = await findOfframps(database, [key]);
  if (!row) return undefined;
  // A file that is replaced after this line is refused, because its hash differs.
  const hash = given.document_hash ?? row.document_hash?.toString("hex");
  const requested: Review = {
    status: "approved",
    comment: given.reason,
    // A file that was rejected meanwhile needs a reason.
    overrides_rejection: given.reason !== "",
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
    actor_account_id: given.reviewer_account_id,
  };
  const review = reviewWithApproval(deps);
  const verdict = await database.transaction(async (tx) => {
    await assertSession(tx);
    const outcome = await runOnce(tx, review, command, now);
    const is_proposed = "output" in outcome && "proposed" in outcome.output;
    // Throwing undoes the proposal.
    if (is_proposed) await assertMayPropose(tx, given, now);
    return outcome;
  });
  if ("refusal" in verdict) throw verdict.refusal;
  const { output } = verdict;
  const proposal_id = "proposed" in output ? output.proposed.proposal.id : null;
  const status = proposal_id === null ? "approved" : (row.document_status ?? "not_checked");
  return { offramp_id: key.id, supporting_document: { status, hash: hash! }, proposal_id };
}
