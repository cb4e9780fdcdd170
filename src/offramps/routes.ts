import { orProposal } from "../approvals/render.ts";
import { readReason } from "../catalogue/text.ts";
import type { DocumentSource } from "../partners/documents/port.ts";
import type { Problem } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { Problems } from "../platform/problems.ts";
import { ReasonInput } from "../platform/schema-parts.ts";
import type { PriceBook } from "../prices/price-book.ts";
import {
  type ApprovedChangeDeps,
  refundWithApproval,
  rerouteWithApproval,
} from "./approved-changes.ts";
import { changeOfframps } from "./change-offramps.ts";
import { type CheckedItem, checkItems, checkMetadata, checkReference } from "./check-items.ts";
import { createOfframps } from "./create-offramps.ts";
import { readDocumentId } from "./documents/uploaded-document-routes.ts";
import { addOfframpReadRoutes } from "./read-routes.ts";
import { removeOfframps } from "./remove-offramps.ts";
import {
  CreateOfframpsBody,
  OfframpAnswer,
  OfframpsAnswer,
  RerouteBody,
  UpdateOfframpBody,
} from "./schemas.ts";
import { type OfframpEdit, updateOfframps } from "./update-offramps.ts";

type OfframpDeps = ApprovedChangeDeps &
  Pick<ModuleCore, "mode" | "database" | "executor" | "public_url" | "index_key"> & {
    prices: PriceBook;
    documents: Pick<DocumentSource, "refuse">;
  };

const TAG = "Offramps";
const BATCH_BYTES_MAX = 16 * 1024 * 1024;
const CREATE_ERRORS = [
  "record_not_found",
  "value_too_long",
  "currency_not_supported",
  "currency_mismatch",
  "rails_not_available",
  "quote_already_executed",
  "quote_expired",
  "payment_detail_deactivated",
  "payment_detail_not_approved",
  "below_currency_limit",
  "supporting_document_required",
  "limit_exceeded",
] as const;

export function addOfframpRoutes(addRoute: AddRoute, deps: OfframpDeps): void {
  addCreateRoute(addRoute, deps);
  addOfframpReadRoutes(addRoute, deps);
  addChangeRoutes(addRoute, deps);
  addRemoveRoute(addRoute, deps);
}

function addCreateRoute(addRoute: AddRoute, deps: OfframpDeps): void {
  const { executor, prices: price_versions } = deps;
  const submitCreate = executor.register(createOfframps({ ...deps, price_versions }));
  addRoute({
    method: "POST",
    path: "/users/:user_id/quotes/:quote_id/offramps",
    operation: "createOfframps",
    summary: "Create offramps",
    description:
      "Adds 1 to 500 payouts to a quote. Either all are created or none; the response keeps the " +
      "order of the request.",
    tag: TAG,
    body: CreateOfframpsBody,
    body_example: {
      offramps: [
        {
          payment_detail_id: "01a1dd11-4aee-7000-adc7-78aca4556f62",
          destination_amount: 1000,
          destination_currency: "eur",
          reference: "Invoice 2026-11",
        },
      ],
    },
    body_bytes_max: BATCH_BYTES_MAX,
    answer: OfframpsAnswer,
    errors: CREATE_ERRORS,
    handle: ({ params: { user_id, quote_id }, body, problems, command }) => {
      const checked = checkNewOfframps(deps, user_id, body.offramps, problems);
      return submitCreate(command({ user_id, quote_id, ...checked }));
    },
  });
}

/** Checks requested offramps as far as that is possible without the database. */
export function checkNewOfframps(
  { documents, mode, public_url }: Pick<OfframpDeps, "documents" | "mode" | "public_url">,
  user_id: string,
  requested: unknown,
  found: readonly Problem[],
): ReturnType<typeof checkItems> {
  const idOf = (url: string) => readDocumentId(public_url(), user_id, url);
  const refuseUrl = (url: string) => (idOf(url) === null ? documents.refuse(url) : null);
  const { items, problems } = checkItems(requested, { mode, refuseUrl }, found);
  const withDocument = (item: CheckedItem) => ({
    ...item,
    document_id: item.submitted_url && idOf(item.submitted_url),
  });
  return { items: items.map(withDocument), problems };
}

function addChangeRoutes(addRoute: AddRoute, deps: OfframpDeps): void {
  const { executor, keyring, renderer, index_key } = deps;
  const edit = updateOfframps(index_key);
  const submitUpdate = executor.register(changeOfframps(keyring, renderer, edit));
  const submitRefund = executor.register(refundWithApproval(deps));
  const submitReroute = executor.register(rerouteWithApproval(deps));
  addRoute({
    method: "PATCH",
    path: "/users/:user_id/quotes/:quote_id/offramps/:offramp_id",
    operation: "updateOfframp",
    summary: "Update an offramp",
    description:
      "Changes `reference` and `metadata`, only while the offramp is `initiated`. An API key " +
      "with scopes needs `payouts:execute`.",
    tag: TAG,
    body: UpdateOfframpBody,
    body_example: { offramp: { reference: "Invoice 2026-12" } },
    answer: OfframpAnswer,
    errors: ["value_too_long", "offramp_not_editable"],
    handle: ({ params, body, problems, command }) =>
      submitUpdate(command({ ...params, ...checkEdit(body.offramp, problems, deps.mode) })),
  });

  addRoute({
    method: "POST",
    path: "/users/:user_id/offramps/:offramp_id/reroute",
    operation: "rerouteOfframp",
    summary: "Reroute a bounced offramp",
    description:
      "Pays a `bounced` offramp to another payment detail of the same user and currency. Costs " +
      "no new fee. Above the approval amount it becomes a proposal.",
    tag: TAG,
    body: RerouteBody,
    body_example: { offramp: { payment_detail_id: "01a1dd11-4aee-7000-adc7-78aca4556f62" } },
    answer: orProposal(OfframpAnswer),
    errors: [
      "value_too_long",
      "currency_mismatch",
      "rails_not_available",
      "payment_detail_deactivated",
      "payment_detail_not_approved",
      "invalid_transition",
      "limit_exceeded",
      "on_hold",
    ],
    handle: ({ params, body, problems, command }) => {
      const id = body.offramp?.payment_detail_id;
      const is_good = typeof id === "string" && isId(id);
      const { reason, problems: so_far } = readReason(body.reason, problems);
      const found = new Problems(so_far);
      if (!is_good) found.invalid("offramp.payment_detail_id", "Send the id of a payment detail.");
      const requested = { payment_detail_id: is_good ? id.toLowerCase() : null };
      const change = { ...params, quote_id: null, requested, reason, problems: found.list };
      return submitReroute(command(change));
    },
  });

  addRoute({
    method: "POST",
    path: "/users/:user_id/offramps/:offramp_id/refund",
    operation: "refundOfframp",
    summary: "Refund an offramp",
    description:
      "Ends an offramp that is `bounced` or in `ongoing_checks`, or one in `sending_fiat` that " +
      "no bank has got yet: payouts are on hold, or its rail is new. Its tokens are added to " +
      "the user's balance. While its quote is not paid in full, only until the quote expires.",
    tag: TAG,
    body: ReasonInput,
    body_example: { reason: "The payee asked for another currency" },
    answer: orProposal(OfframpAnswer),
    errors: ["value_too_long", "invalid_transition", "limit_exceeded", "quote_expired"],
    handle: ({ params, body, problems, command }) => {
      const given = readReason(body.reason, problems);
      return submitRefund(command({ ...params, quote_id: null, requested: null, ...given }));
    },
  });
}

function addRemoveRoute(addRoute: AddRoute, { executor, keyring, renderer }: OfframpDeps): void {
  const submitRemove = executor.register(removeOfframps(keyring, renderer));
  addRoute({
    method: "DELETE",
    path: "/users/:user_id/quotes/:quote_id/offramps/:offramp_id",
    operation: "deleteOfframp",
    summary: "Remove an offramp from a quote",
    description:
      "Possible until the quote is executed or expires. Returns the removed offramp; the quote's " +
      "totals no longer contain it. An API key with scopes needs `payouts:execute`.",
    tag: TAG,
    query: ReasonInput,
    answer: OfframpAnswer,
    errors: ["value_too_long", "quote_already_executed", "quote_expired"],
    handle: ({ params: { user_id, quote_id, offramp_id }, query, problems, command }) => {
      const given = readReason(query.reason, problems);
      return submitRemove(command({ user_id, quote_id, offramp_id, ...given }));
    },
  });
}

function checkEdit(
  input: { reference?: unknown; metadata?: unknown } | undefined,
  already: readonly Problem[],
  mode: ModuleCore["mode"],
): { requested: OfframpEdit; problems: readonly Problem[] } {
  const problems = new Problems(already);
  const { report } = problems.within("offramp");
  const requested: OfframpEdit = {};
  if (input?.reference !== undefined) {
    requested.reference = checkReference(input.reference, report);
  }
  if (input?.metadata !== undefined) {
    requested.metadata = checkMetadata(input.metadata, mode, report);
  }
  return { requested, problems: problems.list };
}
