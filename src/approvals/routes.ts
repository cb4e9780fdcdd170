import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { assertActiveSession } from "../accounts/member-callers/authenticate-member.ts";
import {
  addPageScope,
  type PageDeps,
  readField,
  requireConfirmed,
  requireSession,
  sendPage,
} from "../accounts/page-scope.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { cutPage, requirePage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { loadProposals } from "./load-proposals.ts";
import type { VoteChoice } from "./model.ts";
import { PROPOSALS_PATH, proposalsPage, type RecordPages } from "./page.ts";
import {
  ProposalAnswer,
  ProposalListQuery,
  ProposalsAnswer,
  type ReadableProposal,
  renderProposal,
  renderProposals,
} from "./render.ts";
import { findContents, findProposal, listProposals, type SealedProposal } from "./store.ts";
import { voteOnProposal } from "./votes/vote-on-proposal.ts";

type ProposalPageDeps = PageDeps & {
  keyring: Keyring;
  record_pages: RecordPages;
  /** Makes a worker of this process look for tasks at once. */
  wake: () => void;
};

type ProposalRouteDeps = { database: Database; keyring: Keyring; public_url: () => string };

const TAG = "Proposals";

/** An account's own proposals, over the API. */
export function addProposalRoutes(addRoute: AddRoute, deps: ProposalRouteDeps): void {
  const { database, public_url } = deps;
  addRoute({
    method: "GET",
    path: "/proposals",
    operation: "listProposals",
    summary: "List proposals",
    description:
      "Requests and decisions that wait for two people, and the outcome of earlier ones.",
    tag: TAG,
    query: ProposalListQuery,
    answer: ProposalsAnswer,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const statuses = query.status && [query.status];
      const listed = await listProposals(database, caller.account_id, statuses, page);
      const { rows, has_more } = cutPage(listed, page);
      return renderProposals(await readable(deps, rows), has_more, public_url());
    },
  });

  addRoute({
    method: "GET",
    path: "/proposals/:proposal_id",
    operation: "showProposal",
    summary: "Show a proposal",
    description:
      "Shows what members see before they vote, how many confirmed it and, once it ran, its " +
      "outcome.",
    tag: TAG,
    answer: ProposalAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const proposal = await findProposal(database, caller.account_id, params.proposal_id);
      if (!proposal) throw Refusal.of([...problems, notFound("proposal_id")]);
      if (problems.length > 0) throw Refusal.of(problems);
      const [shown] = await readable(deps, [proposal]);
      return renderProposal(shown!, public_url());
    },
  });
}

async function readable(
  { database, keyring }: ProposalRouteDeps,
  rows: readonly SealedProposal[],
): Promise<ReadableProposal[]> {
  const contents = await findContents(database, keyring, rows);
  return rows.map((proposal) => ({ proposal, content: contents.get(proposal.id) }));
}

/** The pages where members view proposals and vote. */
export function addProposalPages(app: FastifyInstance, deps: ProposalPageDeps): void {
  const signed_in = { onRequest: requireSession() };
  const voting = { onRequest: [requireSession(), requireConfirmed(deps, PROPOSALS_PATH)] };
  addPageScope(app, deps, (scope) => {
    scope.get(PROPOSALS_PATH, signed_in, (request, reply) => show(deps, request, reply, null));
    for (const verdict of ["confirm", "reject"] as const) {
      scope.post(`${PROPOSALS_PATH}/:proposal_id/${verdict}`, voting, (request, reply) =>
        vote(deps, request, reply, verdict),
      );
    }
  });
}

async function vote(
  deps: ProposalPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  verdict: VoteChoice,
): Promise<FastifyReply> {
  const { proposal_id = "" } = request.params as Record<string, string>;
  const reason = withoutControls(readField(request, "reason"));
  const seen = readField(request, "seen");
  try {
    const member = request.member!;
    await voteOnProposal(deps, member, { proposal_id, verdict, reason, seen }, (tx) =>
      assertActiveSession(tx, member, realTime(deps.clock)),
    );
  } catch (error) {
    // Too late, or incomplete: show the error on the page with the current state.
    if (!(error instanceof Refusal) || error.code !== "invalid_transition") throw error;
    return show(deps, request, reply, error);
  }
  deps.wake();
  return reply.redirect(PROPOSALS_PATH, 303);
}

async function show(
  deps: ProposalPageDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal | null,
): Promise<FastifyReply> {
  const session = request.member!;
  const { starting_after, by: proposer } = request.query as Record<string, unknown>;
  const by = typeof proposer === "string" && !/\0/.test(proposer) ? proposer : null;
  const after = typeof starting_after === "string" && isId(starting_after) ? starting_after : null;
  const load = (list: "waiting" | "decided", starting_after: string | null, by: string | null) =>
    loadProposals(deps, session, { list, starting_after, by });
  const [view, ended] = await Promise.all([
    load("waiting", after, by),
    load("decided", null, null),
  ]);
  const problem = refusal?.message ?? null;
  const { mode, record_pages } = deps;
  const shown = proposalsPage({ mode, session, view, ended, by, record_pages, problem });
  return sendPage(reply, shown, refusal?.status ?? 200);
}

/** Removes control characters, which cannot be typed into a one-line field. */
function withoutControls(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, " ")
    .trim();
}
