import { createHash } from "node:crypto";
import { recordAudit } from "../access/audit.ts";
import { type Account, REVIEWER_ROLES } from "../access/model.ts";
import type { MemberSession } from "../access/sessions.ts";
import { findAccountById } from "../access/store.ts";
import { hasForbiddenCharacters, isLongerThan } from "../catalogue/text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database, Transaction } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import type { User } from "../users/model.ts";
import type { UserKey } from "../users/store.ts";
import { findLastApplication, listKycFiles } from "./application-store.ts";
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
import { withSwift } from "./model.ts";
import {
  type LockedUser,
  lockKycUser,
  type MoveDeps,
  recordJudgement,
  recordKycs,
} from "./move-kyc.ts";
import { deleteProposal, findProposal, updateProposal } from "./proposal-store.ts";

export type ReviewDeps = MoveDeps & { database: Database; clock: Clock };

export type Review = {
  decision: Decision;
  comment: string;
  /** The version of the user that was shown: nobody decides on what they have not seen. */
  seen: string;
};

/** `proposed` waits for a second member; `returned`: the second did not agree with the first. */
export type ReviewOutcome = "decided" | "proposed" | "returned";

/** The operator's members review all accounts; an account's own, where it was delegated. */
export function mayReview(member: MemberSession, account: Account): boolean {
  if (!REVIEWER_ROLES.includes(member.role)) return false;
  return member.is_operator || (member.account_id === account.id && account.kyc_review_by_account);
}

/** Changes with every move of the state and with every change of the user's data. */
export function versionOf({ sequence, identity }: User): string {
  const digest = createHash("sha256").update(JSON.stringify(identity)).digest("base64url");
  return `${sequence}-${digest}`;
}

/** A member's decision on a user, with its comment in the audit log. */
export function reviewKyc(
  deps: ReviewDeps,
  member: MemberSession,
  key: UserKey,
  review: Review,
): Promise<ReviewOutcome> {
  checkComment(review);
  return deps.database.transaction(async (tx) => {
    const account = await findAccountById(tx, key.account_id);
    const locked = await lockKycUser(tx, deps.keyring, key);
    if (!account || !locked || !mayReview(member, account)) throw new Refusal("record_not_found");
    const { user, subject_key } = locked;
    const possible = decisionsFor(user.kyc, deps.swift_clearance);
    if (versionOf(user) !== review.seen || !possible.includes(review.decision)) {
      throw new Refusal("invalid_transition", OUT_OF_DATE);
    }
    const now = deps.clock.now();
    const evidence = await readEvidence(tx, key, subject_key);
    const by: Act = { ...deps, tx, member, key, now, evidence };
    if (!account.kyc_four_eyes || !needsTwo(review.decision)) {
      return decide(by, locked, review.decision, review.comment, review.comment);
    }
    const found = await findProposal(tx, key, subject_key);
    const proposal = found?.user_sequence === user.sequence ? found : undefined;
    if (!proposal) return propose(by, locked, review);
    if (proposal.person_id === member.person_id) {
      throw new Refusal("insufficient_scope", NOT_THE_SAME);
    }
    if (proposal.decision !== review.decision) return sendBack(by, review);
    // The person reads what was proposed; why the second agreed stands in the log.
    return decide(by, locked, review.decision, proposal.comment, review.comment);
  });
}

const OUT_OF_DATE =
  "This person's data or state has changed since you opened the page, so nothing was done. " +
  "Look again.";
const NOT_THE_SAME =
  "You proposed this yourself, so nothing was done. Another member has to confirm it.";

type Act = Pick<MoveDeps, "swift_clearance"> & {
  tx: Transaction;
  member: MemberSession;
  key: UserKey;
  now: Date;
  evidence: Record<string, string>;
};

function decide(
  by: Act,
  locked: LockedUser,
  decision: Decision,
  told: string,
  reason: string,
): ReviewOutcome {
  if (isSwiftDecision(decision)) {
    const { currency, to } = SWIFT_DECISIONS[decision];
    const kyc = withSwift(locked.user.kyc, [currency], to);
    if (!kyc) throw new Refusal("invalid_transition", OUT_OF_DATE);
    recordKycs(by.tx, locked, [kyc], by.now);
  } else {
    const comment = needsComment(decision) ? told : null;
    recordJudgement(by.tx, by, locked, [DECISIONS[decision].to], comment, by.now);
  }
  deleteProposal(by.tx, by.key);
  record(by, `kyc.${decision}`, reason);
  return "decided";
}

function propose(by: Act, { user, subject_key }: LockedUser, review: Review): ReviewOutcome {
  const { decision, comment } = review;
  const { person_id } = by.member;
  const { sequence: user_sequence } = user;
  const proposal = { ...by.key, decision, comment, person_id, user_sequence, created_at: by.now };
  updateProposal(by.tx, proposal, subject_key);
  record(by, `kyc.propose_${decision}`, comment);
  return "proposed";
}

function sendBack(by: Act, { decision, comment }: Review): ReviewOutcome {
  deleteProposal(by.tx, by.key);
  record(by, "kyc.send_back", comment, { wanted: decision });
  return "returned";
}

function record(
  by: Act,
  action: string,
  reason: string,
  detail: Record<string, string> = {},
): void {
  const { account_id, user_id } = by.key;
  recordAudit(
    by.tx,
    {
      account_id,
      actor: `member:${by.member.person_id}`,
      action,
      record: `user:${user_id}`,
      reason,
      detail: { ...by.evidence, ...detail },
    },
    by.now,
  );
}

/** What was looked at: the application and the hash of each of its files. */
async function readEvidence(
  tx: Transaction,
  key: UserKey,
  subject_key: Buffer,
): Promise<Record<string, string>> {
  const application = await findLastApplication(tx, key, subject_key);
  if (!application) return {};
  const files = await listKycFiles(tx, key, application.id);
  const hashes = files.map(({ slot, hash }) => [slot, hash.toString("hex")]);
  return { application_id: application.id, ...Object.fromEntries(hashes) };
}

function checkComment({ decision, comment }: Review): void {
  const message =
    comment === "" && needsComment(decision)
      ? "Write a comment: what was wrong, and what the person can do."
      : isLongerThan(comment, COMMENT_LENGTH_MAX)
        ? `Shorten the comment to at most ${COMMENT_LENGTH_MAX} characters.`
        : hasForbiddenCharacters(comment)
          ? "Remove NUL characters and broken Unicode from the comment."
          : null;
  if (message) throw Refusal.of([{ field: "comment", code: "record_invalid", message }]);
}
