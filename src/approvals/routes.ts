import type { FastifyInstance } from "fastify";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { cutPage, requirePage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import {
  ProposalAnswer,
  ProposalListQuery,
  ProposalsAnswer,
  type ReadableProposal,
  renderProposal,
  renderProposals,
} from "./render.ts";
import { findContents, findProposal, listProposals, type SealedProposal } from "./store.ts";

type ProposalRouteDeps = { database: Database; keyring: Keyring; public_url: () => string };

const TAG = "Proposals";
const APPROVALS_PATH = "/dashboard/approvals";

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

/** Where proposals had their page: links in old messages lead to Approvals. */
export function addFormerPages(app: FastifyInstance): void {
  app.get("/dashboard/proposals", (_request, reply) => reply.redirect(APPROVALS_PATH));
  app.get("/dashboard/proposals/:proposal_id/payouts", (request, reply) => {
    const { proposal_id = "" } = request.params as Record<string, string>;
    return reply.redirect(isId(proposal_id) ? `${APPROVALS_PATH}/${proposal_id}` : APPROVALS_PATH);
  });
}
