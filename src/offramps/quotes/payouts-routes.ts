import type { FastifyInstance, FastifyRequest } from "fastify";
import Type from "typebox";
import {
  addPageScope,
  type PageDeps,
  requireSession,
  sendPage,
} from "../../accounts/page-scope.ts";
import { may } from "../../accounts/roles.ts";
import { mayVote } from "../../approvals/model.ts";
import { findProposal, proposalAccount, type SealedProposal } from "../../approvals/store.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import {
  cutPage,
  listAnswer,
  listQuery,
  type Page,
  requirePage,
} from "../../platform/http/list.ts";
import { compileRender } from "../../platform/http/render.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import { minorToText } from "../../platform/money.ts";
import { OFFRAMP_STATUSES, type OfframpStatus } from "../model.ts";
import { listOfframps, type OfframpRow } from "../store.ts";
import { PAY_QUOTE } from "./late-payees.ts";
import { payoutsPage, payoutsPath, ROWS_PER_PAGE } from "./payouts-page.ts";
import { loadTerms, type PayoutTerms, toTerms } from "./quote-terms.ts";
import { findQuotes } from "./store.ts";

type PayoutsDeps = { database: Session; keyring: Keyring; catalogue: Catalogue };

const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });
const ProposedPayout = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Id of the offramp." }),
    payment_detail_id: id,
    payee: Type.String({ description: "Name and masked account." }),
    is_new_payee: Type.Boolean({
      description: "Whether no payout of the account has reached this bank account before.",
    }),
    is_recent_payee: Type.Boolean({
      description: "Whether its payment detail was created in the 24 hours before the proposal.",
    }),
    destination_amount: Type.Number(),
    destination_currency: Type.String(),
    rails: Type.String(),
    reference: Type.String(),
    invoice_id: Type.Union([id, Type.Null()]),
    document_sha256: Type.Union([Type.String(), Type.Null()], {
      description: "Of the stored copy of its document; null while there is none.",
    }),
    status: Type.Enum([...OFFRAMP_STATUSES]),
    created_at: time,
    updated_at: time,
  },
  { title: "ProposedPayout" },
);
const writePayout = compileRender(ProposedPayout);

/** All payouts that a proposal to pay a quote pays. */
export function addPayoutsRoute(addRoute: AddRoute, deps: PayoutsDeps): void {
  addRoute({
    method: "GET",
    path: "/proposals/:proposal_id/payouts",
    operation: "listProposedPayouts",
    summary: "List the payouts of a proposal",
    description:
      "All payouts that a proposal of kind `pay-quote` pays, newest first; the proposal itself " +
      "shows the largest. New payees are marked. Other proposals have no payouts.",
    tag: "Proposals",
    query: listQuery({ status: Type.Optional(Type.Enum([...OFFRAMP_STATUSES])) }),
    answer: listAnswer("payouts", ProposedPayout),
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const page = requirePage(query, problems);
      const proposal = await findProposal(deps.database, caller.account_id, params.proposal_id);
      if (!proposal) throw Refusal.of([notFound("proposal_id")]);
      const { rows, has_more } = cutPage(await listPayouts(deps, proposal, query, page), page);
      const names = { ...deps, keys: await deps.keyring.openUserKeys(deps.database, rows) };
      const terms = await toTerms(deps.database, names, rows, proposal.created_at);
      return `{"payouts":[${terms.map(write).join(",")}],"has_more":${has_more}}`;
    },
  });
}

function write({ offramp, payee, is_new_payee, is_recent_payee }: PayoutTerms): string {
  const { destination_amount, destination_currency, document_hash } = offramp;
  return writePayout({
    ...offramp,
    ...{ payee, is_new_payee, is_recent_payee },
    destination_amount: Number(minorToText(destination_amount, minorDigits(destination_currency)!)),
    reference: offramp.details.reference ?? "",
    document_sha256: document_hash?.toString("hex") ?? null,
    created_at: offramp.created_at.toISOString(),
    updated_at: offramp.updated_at.toISOString(),
  });
}

function listPayouts(
  { database }: PayoutsDeps,
  { account_id, kind, record_id }: SealedProposal,
  { status }: { status?: OfframpStatus },
  page: Page,
): Promise<OfframpRow[]> {
  if (kind !== PAY_QUOTE) return Promise.resolve([]);
  const filter = { quote_id: record_id, ...(status ? { status } : {}) };
  return listOfframps(database, account_id, filter, page);
}

async function loadPayouts(
  { database, keyring, catalogue }: PayoutsDeps,
  { account_id, kind, record_id, created_at }: SealedProposal,
): Promise<PayoutTerms[]> {
  if (kind !== PAY_QUOTE) return [];
  const [quote] = await findQuotes(database, [{ account_id, id: record_id }]);
  if (!quote) return [];
  const keys = await keyring.openUserKeys(database, [quote]);
  return loadTerms(database, { catalogue, keys }, quote, created_at);
}

/** The same for members who vote. */
export function addPayoutsPage(app: FastifyInstance, deps: PageDeps & PayoutsDeps): void {
  addPageScope(app, deps, (scope) => {
    scope.get(
      payoutsPath(":proposal_id"),
      { onRequest: requireSession("vote") },
      async (request, reply) => {
        const session = request.member!;
        const { proposal_id = "" } = request.params as Record<string, string>;
        const proposal = isId(proposal_id)
          ? await findProposal(deps.database, session.account_id, proposal_id)
          : undefined;
        if (
          proposal?.kind !== PAY_QUOTE ||
          !mayVote(proposal.voters, proposalAccount(proposal), session)
        ) {
          throw new Refusal("record_not_found");
        }
        const terms = await loadPayouts(deps, proposal);
        const shown = payoutsPage({
          mode: deps.mode,
          session,
          proposal,
          terms,
          payee_page: readPageNumber(request, "payees", terms.length),
          payout_page: readPageNumber(request, "payouts", terms.length),
          may_see_documents: may(session.role, "review_documents"),
        });
        return sendPage(reply, shown);
      },
    );
  });
}

function readPageNumber(request: FastifyRequest, name: string, count: number): number {
  const text = (request.query as Record<string, unknown>)[name];
  const wanted = typeof text === "string" && /^\d{1,4}$/.test(text) ? Number(text) : 1;
  return Math.min(Math.max(wanted, 1), Math.max(Math.ceil(count / ROWS_PER_PAGE), 1));
}
