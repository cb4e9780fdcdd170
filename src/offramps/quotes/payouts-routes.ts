import Type from "typebox";
import { findProposal, type SealedProposal } from "../../approvals/store.ts";
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
import { minorToText } from "../../platform/money.ts";
import { OFFRAMP_STATUSES, type OfframpStatus } from "../model.ts";
import { listOfframps, type OfframpRow } from "../store.ts";
import { PAY_QUOTE } from "./late-payees.ts";
import { type PayoutTerms, toTerms } from "./quote-terms.ts";

type PayoutsDeps = { database: Session; keyring: Keyring; catalogue: Catalogue };

const id = Type.String({ format: "uuid" });
const time = Type.String({ format: "date-time" });
const ProposedPayout = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Id of the offramp." }),
    payment_detail_id: id,
    payee: Type.String({ description: "Name, masked account, and the codes of its bank." }),
    is_new_payee: Type.Boolean({
      description:
        "Whether no payout of the account has reached this account number at this bank before.",
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
