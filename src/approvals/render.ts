import Type, { type TSchema } from "typebox";
import { listAnswer, listQuery } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import { minorToText } from "../platform/money.ts";
import { CONFIRMATIONS_NEEDED, PROPOSAL_STATUSES, type Proposal } from "./model.ts";

const USD_DIGITS = 2;
const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });

const ProposalRecord = Type.Object(
  {
    id,
    kind: Type.String({ description: "What is to be done." }),
    record_id: Type.String({ format: "uuid", description: "Id of the record it affects." }),
    amount_usd: Type.Union([Type.Number(), Type.Null()], {
      description: "Null when no rate was available, or when no money moves.",
    }),
    summary: Type.String(),
    status: Type.Enum([...PROPOSAL_STATUSES]),
    outcome: Type.Union([Type.String(), Type.Null()], {
      description: "Why it was rejected, is void or failed.",
    }),
    confirmations: Type.Integer({ description: "Number of confirmations so far." }),
    confirmations_needed: Type.Integer(),
    created_at: time,
    updated_at: time,
  },
  { title: "Proposal" },
);
export const ProposalAnswer = Type.Object({ proposal: ProposalRecord });
export const ProposalsAnswer = listAnswer("proposals", ProposalRecord);
export const ProposalListQuery = listQuery({
  status: Type.Optional(Type.Enum([...PROPOSAL_STATUSES])),
});

const writeRecord = compileRender(ProposalRecord);

/** The response of a route whose use case needs approval above an amount. */
export function orProposal(answer: TSchema): TSchema {
  return Type.Union([answer, ProposalAnswer]);
}

export function renderProposal(proposal: Proposal): string {
  return `{"proposal":${write(proposal)}}`;
}

export function renderProposals(proposals: readonly Proposal[], has_more: boolean): string {
  return `{"proposals":[${proposals.map(write).join(",")}],"has_more":${has_more}}`;
}

function write(proposal: Proposal): string {
  const { amount_usd } = proposal;
  return writeRecord({
    ...proposal,
    amount_usd: amount_usd === null ? null : Number(minorToText(amount_usd, USD_DIGITS)),
    confirmations_needed: CONFIRMATIONS_NEEDED,
    created_at: proposal.created_at.toISOString(),
    updated_at: proposal.updated_at.toISOString(),
  });
}
