import Type from "typebox";
import { findMember } from "../../accounts/audited/find-member.ts";
import {
  assertActiveMember,
  listActiveMembers,
} from "../../accounts/member-callers/authenticate-member.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { type KycStatus, nameOfUser } from "../../users/model.ts";
import { findUsers, openUsers } from "../../users/store.ts";
import { DECISION_NAMES } from "./decisions.ts";
import { describeReview } from "./describe-review.ts";
import { loadReview, loadReviewVersion } from "./load-review.ts";
import { type ReviewDeps, type Reviewer, reviewKyc } from "./review-kyc.ts";
import { listReviews, type QueuePlace } from "./review-store.ts";

type MemberReviewDeps = ReviewDeps & Pick<ModuleCore, "operator_id" | "wake">;

const ROWS_MAX = 50;
/** The states that the queue can show: what waits for a reviewer, and what was decided. */
const QUEUES = [
  ...(["awaiting_manual_review", "retry_required", "approved", "suspended"] as const),
  ...(["failed", "retry_denied"] as const),
] satisfies KycStatus[];
const QueueQuery = closedObject({
  status: Type.Optional(Type.Enum(QUEUES)),
  since: Type.Optional(Type.String({ maxLength: 40 })),
  after: Type.Optional(Type.String({ maxLength: 40 })),
});
export const REVIEWS_PATH = "/dashboard/api/reviews";
const SHARED = {
  tag: "Dashboard",
  members_only: true,
  answer: Type.Unknown(),
  errors: [],
} as const;

/** What the dashboard's page of identity reviews reads, and the reviewer's decision. */
export function addMemberReviewRoutes(addRoute: AddRoute, deps: MemberReviewDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: REVIEWS_PATH,
    operation: "listKycReviews",
    summary: "List identity reviews",
    description:
      "The users whom the member may review: those who wait, the longest first, or those who " +
      "were decided on, the newest first.",
    query: QueueQuery,
    handle: async ({ caller, query, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const reviewer = await reviewerOf(deps, caller);
      const status = query.status ?? "awaiting_manual_review";
      const place = readPlace(query);
      const order = status === "awaiting_manual_review" ? "oldest_first" : "newest_first";
      const rows = await listReviews(deps.database, reviewer, status, order, place, ROWS_MAX + 1);
      const shown = rows.slice(0, ROWS_MAX);
      const names = await nameAll(deps, shown);
      return JSON.stringify({
        reviews: shown.map((row) => ({ ...row, name: names.get(row.user_id) ?? "" })),
        has_more: rows.length > ROWS_MAX,
      });
    },
  });
  addOneRoutes(addRoute, deps);
}

function addOneRoutes(addRoute: AddRoute, deps: MemberReviewDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: `${REVIEWS_PATH}/:account_id/:user_id`,
    operation: "showKycReview",
    summary: "Show an identity review",
    description: "Data and files in clear; the view is recorded in the audit log.",
    handle: async ({ caller, params: { account_id, user_id } }) => {
      const reviewer = await reviewerOf(deps, caller);
      const review = await loadReview(deps, reviewer, { account_id, user_id });
      return JSON.stringify(describeReview(review, reviewer.person_id));
    },
  });

  addRoute({
    ...SHARED,
    method: "GET",
    path: `${REVIEWS_PATH}/:account_id/:user_id/version`,
    operation: "showKycReviewVersion",
    summary: "Show the version of an identity review",
    description: "Another one when the user, a proposal or a reviewer's act has changed it.",
    handle: async ({ caller, params: { account_id, user_id } }) => {
      const reviewer = await reviewerOf(deps, caller);
      const version = await loadReviewVersion(deps, reviewer, { account_id, user_id });
      return JSON.stringify({ version });
    },
  });

  addRoute({
    ...SHARED,
    method: "POST",
    path: `${REVIEWS_PATH}/:account_id/:user_id`,
    operation: "decideKycReview",
    summary: "Decide on a user's identity",
    description: "`seen` names what was shown: a decision applies to nothing else.",
    body: closedObject({
      decision: Type.Enum([...DECISION_NAMES]),
      comment: Type.Optional(Type.String()),
      seen: Type.String(),
    }),
    body_example: { decision: "approve", seen: "as shown" },
    handle: async ({ caller, params: { account_id, user_id }, body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const reviewer = await reviewerOf(deps, caller);
      const outcome = await reviewKyc(
        deps,
        reviewer,
        { account_id, user_id },
        {
          decision: body.decision!,
          comment: (body.comment ?? "").trim(),
          seen: body.seen!,
        },
        (tx) => assertActiveMember(tx, caller, realTime(deps.clock), account_id),
      );
      deps.wake();
      return JSON.stringify({ outcome });
    },
  });
}

/** The calling member as they are now: the session goes on, and the role is read again. */
async function reviewerOf(
  { database, clock, operator_id }: MemberReviewDeps,
  { account_id, credential_id, actor }: Caller,
): Promise<Reviewer> {
  const person_id = actor?.split(":")[1] ?? "";
  const [active] = await listActiveMembers(database, [credential_id], realTime(clock));
  const member = active && (await findMember(database, account_id, person_id));
  if (!member) throw new Refusal("unauthorized", "This session has ended. Sign in again.");
  return { account_id, person_id, role: member.role, is_operator: account_id === operator_id };
}

/** Where the previous page ended; anything invalid starts from the beginning. */
function readPlace({ since, after }: { since?: string; after?: string }): QueuePlace | null {
  const updated_at = new Date(since ?? "");
  if (!after || !isId(after) || Number.isNaN(updated_at.getTime())) return null;
  return { updated_at, user_id: after };
}

async function nameAll(
  { database, keyring }: MemberReviewDeps,
  rows: readonly { account_id: string; user_id: string }[],
): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map();
  const users = await openUsers(database, keyring, await findUsers(database, rows));
  return new Map(users.map((user) => [user.id, nameOfUser(user)]));
}
