import Type from "typebox";
import { findMember } from "../../accounts/audited/find-member.ts";
import { assertActiveMember } from "../../accounts/member-callers/authenticate-member.ts";
import {
  loadProposals,
  PROPOSAL_LISTS,
  type ProposalsView,
  type ProposalView,
} from "../../approvals/load-proposals.ts";
import { CONFIRMATIONS_NEEDED, lapsesAt, type Voter } from "../../approvals/model.ts";
import { voteOnProposal } from "../../approvals/votes/vote-on-proposal.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";

type ApprovalDeps = Pick<
  ModuleCore,
  "database" | "keyring" | "index_key" | "clock" | "operator_id" | "wake"
>;

const PATH = "/dashboard/api/approvals";
const USD_DIGITS = 2;
const SHARED = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const ListQuery = closedObject({
  list: Type.Optional(Type.Enum([...PROPOSAL_LISTS])),
  starting_after: Type.Optional(Type.String()),
  /** Who proposed them, as `member:<id>`. */
  by: Type.Optional(Type.String({ maxLength: 100, pattern: "^[\\w: -]*$" })),
});
const VoteBody = closedObject({
  verdict: Type.Enum(["confirm", "reject"]),
  reason: Type.Optional(Type.String({ maxLength: 1_000 })),
  /** Of what was shown to the voter. */
  digest: Type.Optional(Type.String({ maxLength: 200 })),
});

/** What waits for two people, with all that is needed to judge it, and the votes. */
export function addApprovalRoutes(addRoute: AddRoute, deps: ApprovalDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: PATH,
    operation: "listApprovals",
    summary: "List approvals",
    description: "Proposals, newest first, and who proposed those of the whole list.",
    query: ListQuery,
    errors: [],
    handle: async ({ caller, query, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { list = "waiting", starting_after = "", by = null } = query;
      const voter = await voterOf(deps, caller);
      const after = isId(starting_after) ? starting_after : null;
      const view = await loadProposals(deps, voter, { list, starting_after: after, by });
      const { names, last_id } = view;
      const approvals = view.proposals.map((entry) => renderOne(entry, view, voter));
      const proposers = view.proposers.map(({ proposed_by, count }) => {
        return { proposed_by, name: nameOf(proposed_by, names), count };
      });
      return JSON.stringify({ approvals, last_id, proposers });
    },
  });

  addRoute({
    ...SHARED,
    method: "POST",
    path: `${PATH}/:proposal_id/votes`,
    operation: "voteOnApproval",
    summary: "Vote on an approval",
    description: "Confirms what the digest stands for, or rejects it with a reason.",
    body: VoteBody,
    body_example: { verdict: "confirm" },
    errors: ["invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { verdict = "reject", reason = "", digest = "" } = body;
      const { proposal_id } = params;
      const voter = await voterOf(deps, caller);
      const plain = reason.toWellFormed().replace(/\p{Cc}+/gu, " ");
      const vote = { proposal_id, verdict, reason: plain.trim(), seen: digest };
      await voteOnProposal(deps, voter, vote, (tx, tenant_id) =>
        assertActiveMember(tx, caller, realTime(deps.clock), tenant_id),
      );
      deps.wake();
      return "{}";
    },
  });
}

async function voterOf(
  { database, operator_id }: ApprovalDeps,
  { account_id, actor = "member:" }: Caller,
): Promise<Voter> {
  const person_id = actor.slice("member:".length);
  const member = await findMember(database, account_id, person_id);
  return { account_id, person_id, role: member?.role, is_operator: account_id === operator_id };
}

function renderOne(
  { proposal, may_vote, is_mine, content }: ProposalView,
  { names }: Pick<ProposalsView, "names">,
  voter: Voter,
) {
  const { id, kind, record_id, summary, status, outcome, confirmations, voters } = proposal;
  const { amount_usd, account_id, votes, proposed_by, created_at, updated_at } = proposal;
  return {
    ...{ id, kind, record_id, summary, status, outcome, confirmations, voters },
    ...{ may_vote, is_mine },
    confirmations_needed: CONFIRMATIONS_NEEDED,
    amount_usd: amount_usd === null ? null : minorToText(amount_usd, USD_DIGITS),
    account_id,
    /** Of another account, on which the operator's members vote too. */
    account_name: account_id === voter.account_id ? null : proposal.account_name,
    proposed_by: nameOf(proposed_by, names),
    is_own: proposal.proposed_by_person === voter.person_id,
    has_voted: votes.some((vote) => vote.voter.person_id === voter.person_id),
    votes: votes.map(({ voter: { person_id }, verdict, created_at: at }) => {
      return { by: nameOf(`member:${person_id}`, names), verdict, at: at.toISOString() };
    }),
    why: content?.why ?? null,
    details: content?.details.map(([label, value]) => ({ label, value })) ?? null,
    digest: content?.digest ?? null,
    waits_for: content?.waits_for ?? null,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    lapses_at: lapsesAt(proposal).toISOString(),
  };
}

/** The name of a member or a key, as it was loaded with the proposals. */
function nameOf(actor: string, names: ProposalsView["names"]): string {
  const [kind = "", id] = actor.split(":");
  const words = kind.replaceAll("_", " ");
  return id === undefined ? words : (names.get(id) ?? `${words} …${id.slice(-8)}`);
}
