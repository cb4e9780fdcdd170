import { recordAudit } from "../../accounts/audit.ts";
import type { Account } from "../../accounts/model.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { mayReviewKyc } from "../../accounts/roles.ts";
import { findAccountById, listMembersById } from "../../accounts/store.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { User } from "../../users/model.ts";
import type { UserKey } from "../../users/store.ts";
import { findKycFile, type KycApplication, type KycFile } from "../application-store.ts";
import { recordValues, type Values } from "../fields.ts";
import { findKycUser } from "../move-kyc.ts";
import { type Decision, decisionsFor } from "./decisions.ts";
import { withoutOperators } from "./operator-stops.ts";
import { CHANGED, findProposedDecision, type ProposedDecision } from "./proposed-decision.ts";
import type { ReviewDeps, Reviewer } from "./review-kyc.ts";
import { listPastDecisions, type PastDecision } from "./review-note-store.ts";
import { findLastProposal, findReviewVersion } from "./review-store.ts";
import { digestSeen, readPapers } from "./seen.ts";

export type LoadedReview = {
  account: Account;
  user: User;
  /** Null when none was submitted, or it has been deleted. */
  application: KycApplication | null;
  values: Partial<Values>;
  files: KycFile[];
  proposed: ProposedDecision | null;
  /** The last proposal, if something changed after it was created: it no longer counts. */
  void_summary: string | null;
  past: PastDecision[];
  /** Of reviewers, by their ids; nobody else's account is named to a member. */
  names: ReadonlyMap<string, string>;
  /** Sent with the decision, which applies only to the data shown here. */
  seen: string;
  /** The decisions possible now. */
  decisions: Decision[];
};

/** A user in clear, for a permitted reviewer; the view is recorded in the audit log. */
export function loadReview(
  deps: ReviewDeps,
  member: Reviewer,
  key: UserKey,
): Promise<LoadedReview> {
  return deps.database.transaction(async (tx) => {
    const { account, user, subject_key } = await openForReview(tx, deps, member, key);
    const { application, files } = await readPapers(tx, key, subject_key);
    const seen = digestSeen({ user, subject_key }, { application, files });
    const found = await findProposedDecision(tx, deps.keyring, key);
    const stands = found?.seen === seen;
    const may_be_void = account.kyc_two_person_approval && !stands;
    const last = may_be_void ? await findLastProposal(tx, key) : null;
    const is_void = last?.status === "pending" || last?.outcome === CHANGED;
    const submitted = application?.submitted?.values ?? {};
    const past = await listPastDecisions(tx, key, subject_key);
    const names = await loadNames(
      tx,
      deps,
      [member.account_id, key.account_id],
      [
        ...past.map(({ actor }) => personOf(actor)),
        ...(found?.proposal.votes ?? []).map(({ voter }) => voter.person_id),
      ],
    );
    recordRead(tx, deps, member, key, "kyc.read", { application_id: application?.id ?? null });
    return {
      account,
      user,
      application,
      values: { ...recordValues(user.beneficiary_type, user.identity), ...submitted },
      files,
      proposed: stands ? found : null,
      void_summary: last && is_void ? last.summary : null,
      past,
      names,
      seen,
      decisions: await withoutOperators(
        tx,
        member,
        key,
        decisionsFor(user.kyc, deps.swift_clearance),
      ),
    };
  });
}

/** Changes with all that a review shows; it is no view of the data itself. */
export function loadReviewVersion(
  deps: ReviewDeps,
  member: Reviewer,
  key: UserKey,
): Promise<string> {
  return deps.database.transaction(async (tx) => {
    await openAccount(tx, member, key);
    const version = await findReviewVersion(tx, key);
    if (version === undefined) throw new Refusal("record_not_found");
    return version;
  });
}

/** One of the files, with its key. */
export function loadReviewFile(
  deps: ReviewDeps,
  member: Reviewer,
  key: UserKey,
  file_id: string,
): Promise<{ file: KycFile; subject_key: Buffer }> {
  return deps.database.transaction(async (tx) => {
    const { subject_key } = await openForReview(tx, deps, member, key);
    const file = await findKycFile(tx, key, file_id);
    // Files that are not yet submitted must not be shown.
    if (!file || file.application_id === null) throw new Refusal("record_not_found");
    const detail = { slot: file.slot, hash: file.hash.toString("hex") };
    recordRead(tx, deps, member, key, "kyc.read_file", detail);
    return { file, subject_key };
  });
}

async function openForReview(
  tx: Transaction,
  { keyring }: ReviewDeps,
  member: Reviewer,
  key: UserKey,
) {
  const account = await openAccount(tx, member, key);
  const found = await findKycUser(tx, keyring, key);
  if (!found) throw new Refusal("record_not_found");
  return { account, ...found };
}

async function openAccount(tx: Transaction, member: Reviewer, { account_id }: UserKey) {
  const account = await findAccountById(tx, account_id);
  // A member without permission must not learn whether the record exists.
  if (!account || !mayReviewKyc(member, account)) throw new Refusal("record_not_found");
  return account;
}

export function personOf(actor: string): string {
  return actor.slice(actor.indexOf(":") + 1);
}

async function loadNames(
  tx: Transaction,
  { index_key }: ReviewDeps,
  account_ids: string[],
  person_ids: readonly string[],
): Promise<Map<string, string>> {
  const people = await listMembersById(tx, account_ids, [...new Set(person_ids)].filter(isId));
  return new Map(
    people.map(({ person_id, email }) => [person_id, openEmail(index_key, person_id, email)]),
  );
}

function recordRead(
  tx: Transaction,
  deps: ReviewDeps,
  member: Reviewer,
  { account_id, user_id }: UserKey,
  action: "kyc.read" | "kyc.read_file",
  detail: Record<string, string | null>,
): void {
  const actor = `member:${member.person_id}` as const;
  const entry = { account_id, actor, action, record: `user:${user_id}`, reason: "", detail };
  recordAudit(tx, entry, deps.clock.now());
}
