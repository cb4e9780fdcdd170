import { recordAudit } from "../../accounts/audit.ts";
import type { AuditAction } from "../../accounts/audit-actions.ts";
import { findMember } from "../../accounts/audited/find-member.ts";
import { mayReviewKyc } from "../../accounts/roles.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import { findAccountById } from "../../accounts/store.ts";
import { endProposal } from "../../approvals/end-proposal.ts";
import type { SealedProposal } from "../../approvals/store.ts";
import { recordVote } from "../../approvals/votes/record-vote.ts";
import { assertWaited } from "../../approvals/votes/voters.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { hasForbiddenCharacters, isLongerThan } from "../../catalogue/text.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { UserKey } from "../../users/store.ts";
import { findBar } from "../check-identity.ts";
import { knownValues } from "../fields.ts";
import { withSwift } from "../model.ts";
import {
  type KycMoveDeps,
  type LockedUser,
  lockKycUser,
  recordJudgement,
  recordKycs,
} from "../move-kyc.ts";
import {
  COMMENT_LENGTH_MAX,
  DECISIONS,
  type Decision,
  decisionsFor,
  isSwiftDecision,
  needsComment,
  needsTwo,
  SWIFT_DECISIONS,
} from "./decisions.ts";
import { markOperator, withoutOperators } from "./operator-stops.ts";
import {
  CHANGED,
  lockProposedDecision,
  type ProposedDecision,
  recordProposedDecision,
} from "./proposed-decision.ts";
import { insertReviewNote } from "./review-note-store.ts";
import { digestSeen, type Papers, readPapers } from "./seen.ts";

export type ReviewDeps = KycMoveDeps & {
  database: Database;
  index_key: Buffer;
  clock: Clock;
  catalogue: Catalogue;
};

/** What a decision needs to know of the member. */
export type Reviewer = Pick<MemberSession, "account_id" | "person_id" | "role" | "is_operator">;

type Review = {
  decision: Decision;
  comment: string;
  /** The version of the user that was shown: reviewers decide only on what they have seen. */
  seen: string;
};

/**
 * `proposed`: waits for a second member. `confirmed`: agreed to, and still waits for another.
 * `returned`: the second member disagreed with the first.
 */
type ReviewOutcome = "decided" | "proposed" | "confirmed" | "returned";

/** Records a member's decision on a user in the audit log; its comment is stored sealed. */
export function reviewKyc(
  deps: ReviewDeps,
  member: Reviewer,
  key: UserKey,
  review: Review,
  /** Refuses a session that has ended since. */
  assertSession: (tx: Transaction) => Promise<unknown>,
): Promise<ReviewOutcome> {
  checkComment(review);
  return deps.database.transaction(async (tx) => {
    await assertSession(tx);
    const account = await findAccountById(tx, key.account_id);
    const locked = await lockKycUser(tx, deps.keyring, key);
    if (!account || !locked || !mayReviewKyc(member, account)) {
      throw new Refusal("record_not_found");
    }
    const { user, subject_key } = locked;
    const possible = decisionsFor(user.kyc, deps.swift_clearance);
    const papers = await readPapers(tx, key, subject_key);
    const seen = digestSeen(locked, papers);
    if (seen !== review.seen || !possible.includes(review.decision)) {
      throw new Refusal("invalid_transition", OUT_OF_DATE);
    }
    const [permitted] = await withoutOperators(tx, member, key, [review.decision]);
    if (permitted === undefined) throw new Refusal("insufficient_scope", OPERATORS);
    const now = deps.clock.now();
    const by: Act = { ...deps, tx, member, key, now, subject_key, evidence: evidenceOf(papers) };
    assertNothingBars(by, locked, papers, review.decision);
    const proposed = await lockProposedDecision(tx, deps.keyring, key);
    if (!account.kyc_two_person_approval || !needsTwo(review.decision)) {
      if (proposed) makeVoid(by, proposed.proposal, "It was decided otherwise.");
      return decide(by, locked, review.decision, review.comment, review.comment);
    }
    if (proposed?.seen === seen) return vote(by, locked, review, proposed);
    if (proposed) makeVoid(by, proposed.proposal, CHANGED);
    return propose(by, locked, review);
  });
}

/** The same decision confirms the proposal, any other rejects it. */
async function vote(
  by: Act,
  locked: LockedUser,
  review: Review,
  { proposal, decision, comment }: ProposedDecision,
): Promise<ReviewOutcome> {
  const verdict = review.decision === decision ? "confirm" : "reject";
  const reason = verdict === "reject" ? "Another reviewer decided otherwise." : "";
  const status = await recordVote(by.tx, proposal, by.member, { verdict, reason }, by.now);
  if (status === "repeated") throw new Refusal("insufficient_scope", NOT_THE_SAME);
  if (status === "rejected") {
    record(by, "kyc.send_back", review.comment, { wanted: review.decision });
    return "returned";
  }
  if (status === "pending") {
    record(by, `kyc.confirm_${decision}`, review.comment);
    return "confirmed";
  }
  const end = { status: "done", outcome: null, actor: actorOf(by) } as const;
  endProposal(by.tx, { ...proposal, status }, end, by.now);
  // The user gets the proposal's comment; the second reviewer's comment is only in the log.
  return decide(by, locked, decision, comment, review.comment);
}

function makeVoid(by: Act, proposal: SealedProposal, outcome: string): void {
  endProposal(by.tx, proposal, { status: "void", outcome, actor: actorOf(by) }, by.now);
}

const OUT_OF_DATE =
  "The user's data or status has changed since you opened the page. Nothing was saved. " +
  "Check the data again.";
const OPERATORS = "The operator has stopped this: only the operator's reviewers can lift it.";
const NOT_THE_SAME = "You proposed this decision. Another member must confirm it.";

type Act = Pick<ReviewDeps, "swift_clearance" | "catalogue" | "keyring"> & {
  tx: Transaction;
  subject_key: Buffer;
  member: Reviewer;
  key: UserKey;
  now: Date;
  evidence: Record<string, string>;
};

async function decide(
  by: Act,
  locked: LockedUser,
  decision: Decision,
  comment_to_user: string,
  note: string,
): Promise<ReviewOutcome> {
  if (isSwiftDecision(decision)) {
    const { currency, to } = SWIFT_DECISIONS[decision];
    const kyc = withSwift(locked.user.kyc, [currency], to);
    if (!kyc) throw new Refusal("invalid_transition", OUT_OF_DATE);
    recordKycs(by.tx, locked, [kyc], by.now);
  } else {
    const comment = needsComment(decision) ? comment_to_user : null;
    await recordJudgement(by.tx, by, locked, [DECISIONS[decision].to], comment, by.now);
  }
  record(by, `kyc.${decision}`, note, markOperator(by.member, by.key));
  return "decided";
}

/** Proposing counts as the first vote. */
async function propose(by: Act, locked: LockedUser, review: Review): Promise<ReviewOutcome> {
  const { decision, comment, seen } = review;
  const { tx, member, now } = by;
  const known = await findMember(tx, member.account_id, member.person_id);
  if (known) await assertWaited(tx, known, now);
  recordProposedDecision(tx, locked, { decision, comment, seen }, member, now);
  record(by, `kyc.propose_${decision}`, comment);
  return "proposed";
}

function actorOf({ member }: Act) {
  return `member:${member.person_id}` as const;
}

/** A log entry outlives the person, so it contains only a digest of the comment. */
function record(
  by: Act,
  action: AuditAction,
  comment: string,
  detail: Record<string, string> = {},
): void {
  const { account_id, user_id } = by.key;
  const { person_id } = by.member;
  const digest: Record<string, string> =
    comment === "" ? {} : { comment_digest: digestComment(by, comment) };
  if (comment !== "") {
    const note = { ...by.key, id: newId(by.now), person_id, action, comment, created_at: by.now };
    insertReviewNote(by.tx, note, by.subject_key);
  }
  recordAudit(
    by.tx,
    {
      account_id,
      actor: actorOf(by),
      action,
      record: `user:${user_id}`,
      reason: "",
      detail: { ...by.evidence, ...digest, ...detail },
    },
    by.now,
  );
}

/** Keyed, so that the comment cannot be guessed once the person is erased. */
function digestComment({ subject_key }: Act, comment: string): string {
  return keyedHash(subject_key, "kyc comment", comment).toString("hex");
}

/** What the reviewer saw: the application and the hash of each of its files. */
function evidenceOf({ application, files }: Papers): Record<string, string> {
  if (!application) return {};
  const hashes = files.map(({ slot, hash }) => [slot, hash.toString("hex")]);
  return { application_id: application.id, ...Object.fromEntries(hashes) };
}

/** Since the submission a country may have been blocked, or the record changed. */
function assertNothingBars(
  { catalogue, now }: Act,
  { user }: LockedUser,
  { application }: Papers,
  decision: Decision,
): void {
  if (isSwiftDecision(decision) || DECISIONS[decision].to !== "approved") return;
  const type = user.beneficiary_type;
  const values = knownValues(type, user.identity, application?.submitted ?? null);
  const bar = findBar(catalogue, type, values, now.toISOString().slice(0, 10));
  if (bar) throw new Refusal("invalid_transition", `Nothing was approved: ${bar}.`);
}

function checkComment({ decision, comment }: Review): void {
  const message =
    comment === "" && needsComment(decision)
      ? "Enter a comment that says what was wrong and what the person can do."
      : isLongerThan(comment, COMMENT_LENGTH_MAX)
        ? `Shorten the comment to at most ${COMMENT_LENGTH_MAX} characters.`
        : hasForbiddenCharacters(comment)
          ? "Remove NUL characters and broken Unicode from the comment."
          : null;
  if (message) throw Refusal.of([{ field: "comment", code: "record_invalid", message }]);
}
