import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { assertActiveSession } from "../accounts/member-callers/authenticate-member.ts";
import {
  addPageScope,
  type PageDeps,
  readField,
  readNotice,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../accounts/page-scope.ts";
import { reasonProblems } from "../catalogue/text.ts";
import { runOnce } from "../platform/commands/run-once.ts";
import { Refusal } from "../platform/errors.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import { FIRST_ID, isId, newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { decideMatches } from "./decide-matches.ts";
import type { MatchDecision } from "./model.ts";
import { type Notice, QUEUES, type Queue, SCREENING_PATH, screeningPage } from "./pages.ts";
import { findMatch, listMatches, toMatches } from "./store.ts";

type ScreeningPageDeps = PageDeps & Pick<ModuleCore, "keyring" | "wake">;

const SHOWN_MAX = 20;
const NOTICES: Readonly<Record<MatchDecision, string>> = {
  clear: "Cleared. It stays so until the person or the entry changes.",
  confirm: "Confirmed. The person's money stays held.",
};

/** The page on which the operator's members compare a person with the entry of a list. */
export function addScreeningPages(app: FastifyInstance, deps: ScreeningPageDeps): void {
  const may_review = [requireSession("review_screening"), requireOperator];
  const reviewer = { onRequest: may_review };
  const deciding = { onRequest: [...may_review, requireConfirmed(deps, SCREENING_PATH)] };
  addPageScope(app, deps, (scope) => {
    scope.get(SCREENING_PATH, reviewer, (request, reply) => {
      const text = readNotice(request, NOTICES);
      return show(deps, request, reply, text ? { text, is_problem: false } : null);
    });
    scope.post(`${SCREENING_PATH}/:match_id`, deciding, (request, reply) =>
      decide(deps, request, reply),
    );
  });
}

/** The accounts themselves must not learn who is on a list. */
async function requireOperator(request: FastifyRequest): Promise<void> {
  if (!request.member?.is_operator) throw new Refusal("record_not_found");
}

async function show(
  { database, keyring, mode }: ScreeningPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  notice: Notice | null,
  status = 200,
): Promise<FastifyReply> {
  const { after, status: wanted } = request.query as Record<string, unknown>;
  const queue = (Object.keys(QUEUES) as Queue[]).find((name) => name === wanted) ?? "open";
  const starting_after = typeof after === "string" && isId(after) ? { starting_after: after } : {};
  const { page } = readPage({ limit: SHOWN_MAX, ...starting_after });
  const { rows, has_more } = cutPage(await listMatches(database, { status: queue }, page), page);
  const matches = toMatches(rows, await keyring.openUserKeys(database, rows));
  const last_id = has_more ? rows.at(-1)!.id : null;
  const session = request.member!;
  return sendPage(reply, screeningPage({ mode, session, queue, matches, last_id, notice }), status);
}

async function decide(
  deps: ScreeningPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { match_id } = request.params as { match_id: string };
  const action = readField(request, "action");
  if (!isId(match_id)) throw new Refusal("record_not_found");
  if (action !== "clear" && action !== "confirm") {
    throw new Refusal("record_invalid", "Choose a decision.");
  }
  const reason = readField(request, "reason").trim();
  const member = request.member!;
  const { person_id, account_id: actor_account_id } = member;
  const id = match_id.toLowerCase();
  const { account_id = actor_account_id } = (await findMatch(deps.database, id)) ?? {};
  const now = deps.clock.now();
  const use_case = decideMatches(deps.keyring, action);
  const command = {
    id: newId(now),
    account_id,
    actor_account_id,
    // No key has this id.
    credential_id: FIRST_ID,
    input: { match_id: id, reason, problems: reasonProblems(reason, []) },
    idempotency: null,
    actor: `member:${person_id}` as const,
  };
  const verdict = await deps.database.transaction(async (tx) => {
    await assertActiveSession(tx, member, realTime(deps.clock), account_id);
    return runOnce(tx, use_case, command, now);
  });
  if ("refusal" in verdict) {
    const { refusal } = verdict;
    if (refusal.code === "record_not_found") throw refusal;
    return show(deps, request, reply, { text: refusal.sentence, is_problem: true }, refusal.status);
  }
  deps.wake();
  return reply.redirect(`${SCREENING_PATH}?done=${action}`, 303);
}
