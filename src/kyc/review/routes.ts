import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  addPageScope,
  type PageDeps,
  readField,
  readNotice,
  requireConfirmed,
  requireSession,
  sendFile,
  sendPage,
} from "../../accounts/page-scope.ts";
import type { FileStore } from "../../partners/files/file-store.ts";
import { Refusal } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import type { UserKey } from "../../users/store.ts";
import { openKycFile } from "../kyc-file.ts";
import { DECISION_NAMES } from "./decisions.ts";
import { loadReview, loadReviewFile } from "./load-review.ts";
import { QUEUE_PATH, QUEUES, type Queue, queuePage, reviewPage, reviewPath } from "./pages.ts";
import { type ReviewDeps, type ReviewOutcome, reviewKyc } from "./review-kyc.ts";
import { listReviews, type QueuePlace } from "./review-store.ts";

type ReviewPageDeps = PageDeps & ReviewDeps & { files: FileStore; wake: () => void };

const ROWS_MAX = 100;
/** The latest time that a Date can represent. */
const LAST_MS = 8.64e15;
const NOTICES: Readonly<Record<ReviewOutcome, string>> = {
  decided: "Decision saved. It is recorded in the audit log.",
  proposed: "Proposed. Another member must confirm it before it takes effect.",
  confirmed: "Your confirmation is saved. Another member must confirm it too.",
  returned: "Your decision differs, so the proposal was withdrawn. A new decision is needed.",
};

/** The pages where reviewers decide on the identity of users. */
export function addReviewPages(app: FastifyInstance, deps: ReviewPageDeps): void {
  const reviewer = { onRequest: requireSession("review_kyc") };
  const voting = { onRequest: [requireSession("review_kyc"), requireConfirmed(deps)] };
  addPageScope(app, deps, (scope) => {
    scope.get(QUEUE_PATH, reviewer, async (request, reply) => {
      const session = request.member!;
      const queue = readQueue(request);
      const after = readPlace(request);
      const rows = await listReviews(deps.database, session, queue, after, ROWS_MAX + 1);
      const shown = rows.slice(0, ROWS_MAX);
      const last = rows.length > ROWS_MAX ? shown.at(-1) : undefined;
      return sendPage(reply, queuePage({ mode: deps.mode, session }, queue, shown, last));
    });

    scope.get(`${QUEUE_PATH}/:account_id/:user_id`, reviewer, (request, reply) => {
      const text = readNotice(request, NOTICES);
      return showReview(deps, request, reply, text ? { text, is_problem: false } : null);
    });

    scope.post(`${QUEUE_PATH}/:account_id/:user_id`, voting, (request, reply) =>
      decide(deps, request, reply),
    );

    scope.get(`${QUEUE_PATH}/:account_id/:user_id/files/:file_id`, reviewer, (request, reply) =>
      showFile(deps, request, reply),
    );
  });
}

async function decide(
  deps: ReviewPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const key = readKey(request);
  const wanted = readField(request, "decision");
  const decision = DECISION_NAMES.find((name) => name === wanted);
  if (!decision) throw new Refusal("record_invalid", "Choose a decision.");
  const comment = readField(request, "comment").trim();
  try {
    const review = { decision, comment, seen: readField(request, "seen") };
    const outcome = await reviewKyc(deps, request.member!, key, review);
    deps.wake();
    return reply.redirect(`${reviewPath(key)}?done=${outcome}`, 303);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "record_not_found") throw error;
    const text = error.problems[0]?.message ?? error.message;
    const notice = { text, is_problem: true };
    return showReview(deps, request, reply, notice, comment, error.status);
  }
}

async function showReview(
  deps: ReviewPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  notice: { text: string; is_problem: boolean } | null,
  comment = "",
  status = 200,
): Promise<FastifyReply> {
  const session = request.member!;
  const review = await loadReview(deps, session, readKey(request));
  const shown = reviewPage({ mode: deps.mode, session }, review, notice, comment);
  return sendPage(reply, shown, status);
}

async function showFile(
  deps: ReviewPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { file_id } = request.params as { file_id: string };
  if (!isId(file_id)) throw new Refusal("record_not_found");
  const key = readKey(request);
  const { file, subject_key } = await loadReviewFile(deps, request.member!, key, file_id);
  const content = await openKycFile(deps.files, key, file.file, subject_key);
  return sendFile(reply, file.slot, file.type, content);
}

function readKey(request: FastifyRequest): UserKey {
  const { account_id, user_id } = request.params as UserKey;
  if (!isId(account_id) || !isId(user_id)) throw new Refusal("record_not_found");
  return { account_id: account_id.toLowerCase(), user_id: user_id.toLowerCase() };
}

/** Where the previous page ended; anything invalid starts from the beginning. */
function readPlace(request: FastifyRequest): QueuePlace | null {
  const { since, after } = request.query as Record<string, unknown>;
  const ms = Number(since);
  if (typeof after !== "string" || !isId(after) || !(ms > 0 && ms < LAST_MS)) return null;
  return { updated_at: new Date(ms), user_id: after };
}

function readQueue(request: FastifyRequest): Queue {
  const { status } = request.query as Record<string, unknown>;
  const known = (Object.keys(QUEUES) as Queue[]).find((name) => name === status);
  return known ?? "awaiting_manual_review";
}
