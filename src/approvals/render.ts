import Type, { type TSchema } from "typebox";
import { byStatus, listAnswer, listQuery } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import { minorToText } from "../platform/money.ts";
import { PROPOSAL_KINDS } from "./kinds.ts";
import { CONFIRMATIONS_NEEDED, type Content, PROPOSAL_STATUSES, type Proposal } from "./model.ts";

/** The page with a record's history. */
export const RECORD_PATH = "/dashboard/records";

const USD_DIGITS = 2;
const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });

const DetailRecord = Type.Object(
  { label: Type.String(), value: Type.String() },
  { title: "ProposalDetail" },
);
const ProposalRecord = Type.Object(
  {
    id,
    kind: Type.String({
      description: `What is to be done. ${Object.entries(PROPOSAL_KINDS)
        .map(([kind, { meaning }]) => `\`${kind}\`: ${meaning}`)
        .join(" ")}`,
    }),
    record_id: Type.String({ format: "uuid", description: "Id of the record it affects." }),
    record_url: Type.String({
      format: "uri",
      description: "The page with the record's history, for members of the account.",
    }),
    proposed_by: Type.String({
      description:
        "Who asked: `api_key:<id>`, `member:<id>`, `command line`, or `worker` where the " +
        "service itself found that approval is needed.",
    }),
    amount_usd: Type.Union([Type.Number(), Type.Null()], {
      description: "Null when no rate was available, or when no money moves.",
    }),
    summary: Type.String(),
    why: Type.Union([Type.String(), Type.Null()], {
      description: "Why it needs two people; null once the user is erased.",
    }),
    details: Type.Union([Type.Array(DetailRecord), Type.Null()], {
      description:
        "What members see before they vote, such as the user, the amount, the old and the new " +
        "account (masked); null once the user is erased.",
    }),
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
export const ProposalListQuery = listQuery(byStatus(PROPOSAL_STATUSES));

const writeRecord = compileRender(ProposalRecord);

/** The response of a route whose use case needs approval above an amount. */
export function orProposal(answer: TSchema): TSchema {
  return Type.Union([answer, ProposalAnswer]);
}

/** A proposal with what members see of it; undefined once the user is erased. */
export type ReadableProposal = { proposal: Proposal; content: Content | undefined };

export function renderProposal(readable: ReadableProposal, public_url: string): string {
  return `{"proposal":${write(readable, public_url)}}`;
}

export function renderProposals(
  readable: readonly ReadableProposal[],
  has_more: boolean,
  public_url: string,
): string {
  const proposals = readable.map((one) => write(one, public_url)).join(",");
  return `{"proposals":[${proposals}],"has_more":${has_more}}`;
}

function write({ proposal, content }: ReadableProposal, public_url: string): string {
  const { amount_usd } = proposal;
  return writeRecord({
    ...proposal,
    record_url: `${public_url}${RECORD_PATH}/${proposal.record_id}`,
    why: content?.why ?? null,
    details: content?.details.map(([label, value]) => ({ label, value })) ?? null,
    amount_usd: amount_usd === null ? null : Number(minorToText(amount_usd, USD_DIGITS)),
    confirmations_needed: CONFIRMATIONS_NEEDED,
    created_at: proposal.created_at.toISOString(),
    updated_at: proposal.updated_at.toISOString(),
  });
}
