import { type Catalogue, describeRequirements } from "../catalogue/catalogue.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { SubjectKeys } from "../platform/encryption/keyring.ts";
import { assertFound, notFound, type Problem, Refusal } from "../platform/errors.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { KycEnforcement, ScreenWritten } from "../users/clearance.ts";
import { findUser, type UserKey } from "../users/store.ts";
import { createPaymentDetails } from "./create-payment-details.ts";
import { deactivatePaymentDetails } from "./deactivate-payment-details.ts";
import { type CheckedPaymentDetail, checkPaymentDetail, checkRequirementFilter } from "./model.ts";
import {
  renderPaymentDetail,
  renderPaymentDetails,
  renderRequirements,
  renderValidation,
} from "./render.ts";
import { SAMPLE_PAYMENT_DETAIL } from "./sample.ts";
import {
  PaymentDetailAnswer,
  PaymentDetailBody,
  PaymentDetailListAnswer,
  PaymentDetailListQuery,
  RequirementsAnswer,
  RequirementsQuery,
  ValidationAnswer,
} from "./schemas.ts";
import { findPaymentDetail, listPaymentDetails, toPaymentDetails } from "./store.ts";

type PaymentDetailDeps = Pick<
  ModuleCore,
  "database" | "clock" | "keyring" | "index_key" | "executor"
> & {
  catalogue: Catalogue;
  kyc_enforcement: KycEnforcement;
  screening: ScreeningPort;
  screenWritten: ScreenWritten;
};

const TAG = "Payment details";
const CREATE_ERRORS = [
  "value_too_long",
  "country_not_supported",
  "currency_not_supported",
  "rails_not_available",
  "not_yet_passed_kyc_kyb",
  "not_approved_for_payout_rail",
  "invalid_transition",
] as const;
const EXAMPLE = { payment_detail: SAMPLE_PAYMENT_DETAIL };

export function addPaymentDetailRoutes(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  addCreate(addRoute, deps);
  addValidate(addRoute, deps);
  addList(addRoute, deps);
  addShow(addRoute, deps);
  addDeactivate(addRoute, deps);
  addRequirements(addRoute, deps);
}

function addCreate(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  const { kyc_enforcement, screenWritten } = deps;
  const create = createPaymentDetails(deps, kyc_enforcement);
  addRoute({
    method: "POST",
    path: "/users/:user_id/payment_details",
    operation: "createPaymentDetail",
    summary: "Create a payment detail",
    description:
      "Registers the bank account of a payee. Account numbers are checked, including their " +
      "check digits. See `GET /payment_detail_requirements` for the fields of each currency.",
    tag: TAG,
    body: PaymentDetailBody,
    body_example: EXAMPLE as never,
    answer: PaymentDetailAnswer,
    errors: CREATE_ERRORS,
    handle: async ({ caller, params, body, problems, command }) => {
      const checked = check(deps, body.payment_detail, problems);
      const found = [...problems, ...checked.problems];
      const { user_id } = params;
      const answer = await create(command({ user_id, fields: checked.fields, problems: found }));
      await screenWritten({ account_id: caller.account_id, user_id });
      return answer;
    },
  });
}

function addValidate(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  addRoute({
    method: "POST",
    path: "/users/:user_id/payment_details/validate",
    operation: "validatePaymentDetail",
    stores_nothing: true,
    summary: "Validate a payment detail",
    description: "Runs the checks of creation and stores nothing.",
    tag: TAG,
    body: PaymentDetailBody,
    body_example: EXAMPLE as never,
    answer: ValidationAnswer,
    errors: [],
    handle: async ({ caller, params, body, problems }) => {
      await assertUser(deps, { account_id: caller.account_id, user_id: params.user_id }, []);
      if (!body.payment_detail) throw Refusal.of(problems);
      const found = check(deps, body.payment_detail, problems).problems;
      return renderValidation([...problems, ...found]);
    },
  });
}

function addList(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  const { database } = deps;
  addRoute({
    method: "GET",
    path: "/users/:user_id/payment_details",
    operation: "listPaymentDetails",
    summary: "List payment details",
    description: "All payment details of the user, newest first.",
    tag: TAG,
    query: PaymentDetailListQuery,
    answer: PaymentDetailListAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const keys = await assertUser(deps, key, found);
      if (found.length > 0) throw Refusal.of(found);
      const rows = await listPaymentDetails(database, key, query.status, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      return renderPaymentDetails(toPaymentDetails(shown, keys), has_more);
    },
  });
}

function addShow(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  const { database } = deps;
  addRoute({
    method: "GET",
    path: "/users/:user_id/payment_details/:payment_detail_id",
    operation: "showPaymentDetail",
    summary: "Show a payment detail",
    description: "Shows every field; those that were not given are `null`.",
    tag: TAG,
    answer: PaymentDetailAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const keys = await assertUser(deps, key, problems);
      const row = await findPaymentDetail(database, key, params.payment_detail_id);
      const [detail] = toPaymentDetails(row ? [row] : [], keys);
      assertFound(detail, "payment_detail_id", problems);
      return renderPaymentDetail(detail);
    },
  });
}

function addDeactivate(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  const { executor, keyring } = deps;
  const submit = executor.register(deactivatePaymentDetails(keyring));
  addRoute({
    method: "PATCH",
    path: "/users/:user_id/payment_details/:payment_detail_id/deactivate",
    operation: "deactivatePaymentDetail",
    summary: "Deactivate a payment detail",
    description:
      "New offramps can no longer use it. This cannot be undone; create a new payment detail " +
      "instead.",
    tag: TAG,
    answer: PaymentDetailAnswer,
    errors: [],
    handle: ({ params, problems, command }) =>
      submit(command({ user_id: params.user_id, id: params.payment_detail_id, problems })),
  });
}

function addRequirements(addRoute: AddRoute, deps: PaymentDetailDeps): void {
  addRoute({
    method: "GET",
    path: "/payment_detail_requirements",
    operation: "listPaymentDetailRequirements",
    summary: "List payment detail requirements",
    description:
      "The fields that each currency and rail needs, with patterns and examples. The same table " +
      "checks payment details.",
    tag: TAG,
    query: RequirementsQuery,
    answer: RequirementsAnswer,
    errors: ["currency_not_supported", "rails_not_available"],
    handle: async ({ query, problems }) => {
      const found = [...problems, ...checkRequirementFilter(deps.catalogue, query)];
      if (found.length > 0) throw Refusal.of(found);
      return renderRequirements(describeRequirements(deps.catalogue, query));
    },
  });
}

function check(
  { catalogue, clock }: PaymentDetailDeps,
  input: unknown,
  already: readonly Problem[],
): CheckedPaymentDetail {
  const today = clock.now().toISOString().slice(0, 10);
  return checkPaymentDetail(catalogue, input, today, already);
}

/** Reads require that the user belongs to this account and is not erased. */
async function assertUser(
  { database, keyring }: PaymentDetailDeps,
  key: UserKey,
  problems: readonly Problem[],
): Promise<SubjectKeys> {
  const user = await findUser(database, key);
  if (!user) throw Refusal.of([...problems, notFound("user_id")]);
  return keyring.openUserKeys(database, [key]);
}
