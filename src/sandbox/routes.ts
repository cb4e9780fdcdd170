import { OFFRAMP_STATUSES } from "../offramps/model.ts";
import { OfframpAnswer } from "../offramps/schemas.ts";
import { PAYMENT_DETAIL_MOVES, PAYMENT_DETAIL_STATUSES } from "../payment-details/model.ts";
import { moveDetail, recordDetailChanges } from "../payment-details/record-detail-changes.ts";
import { renderPaymentDetail } from "../payment-details/render.ts";
import { PaymentDetailAnswer } from "../payment-details/schemas.ts";
import { lockPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { SandboxClock } from "../platform/clock.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { Problems } from "../platform/problems.ts";
import { advanceClock } from "../platform/tasks/advance-clock.ts";
import { waitUntilIdle } from "../platform/tasks/wait-until-idle.ts";
import { addSandboxCryptoDepositRoute } from "./crypto-deposit-route.ts";
import { findPath } from "./find-path.ts";
import { refuseWhileCompared } from "./force-controls.ts";
import { type ForceDeps, forceOfframpStatus } from "./force-offramp-status.ts";
import { addSandboxKycRoute, type KycSandboxDeps } from "./kyc-route.ts";
import { addOnrampSandboxRoutes, type OnrampSandboxDeps } from "./onramp-routes.ts";
import { noPath, readStatus } from "./read-status.ts";
import { ClockAnswer, ClockBody, OfframpStatusBody, PaymentDetailStatusBody } from "./schemas.ts";
import { addSandboxWebhookRoute } from "./webhook-route.ts";

type SandboxDeps = ForceDeps &
  KycSandboxDeps &
  OnrampSandboxDeps & { clock: ForceDeps["clock"] & SandboxClock };

const TAG = "Sandbox";
const IDLE_MAX_MS = 30_000;
const STATUS_FIELD = "payment_detail.status";

const writeClock = compileRender(ClockAnswer);

/** Routes that simulate the partners and move the clock. They exist in sandbox mode only. */
export function addSandboxRoutes(addRoute: AddRoute, deps: SandboxDeps): void {
  addClockRoutes(addRoute, deps);
  addSandboxKycRoute(addRoute, deps);
  addPaymentDetailRoute(addRoute, deps);
  addOfframpRoute(addRoute, deps);
  addSandboxCryptoDepositRoute(addRoute, deps);
  addOnrampSandboxRoutes(addRoute, deps);
  addSandboxWebhookRoute(addRoute, deps);
}

function addClockRoutes(addRoute: AddRoute, deps: SandboxDeps): void {
  addRoute({
    method: "GET",
    path: "/sandbox/clock",
    operation: "showSandboxClock",
    summary: "Show the sandbox clock",
    description: "The time that all business rules use, and whether work is still running.",
    tag: TAG,
    answer: ClockAnswer,
    errors: [],
    handle: async ({ problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      await deps.clock.refresh();
      const idle = await waitUntilIdle(deps, 0);
      return writeClock({ clock: { now: deps.clock.now().toISOString(), idle } });
    },
  });

  addRoute({
    method: "POST",
    path: "/sandbox/clock",
    operation: "advanceSandboxClock",
    stores_nothing: true,
    summary: "Advance the sandbox clock",
    description:
      "Operator keys only: this moves the time of the whole installation. Work that becomes due " +
      "runs in order of its due time.",
    tag: TAG,
    body: ClockBody,
    body_example: { advance_ms: 60_000 },
    answer: ClockAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, body, problems }) => {
      if (caller.account_id !== deps.operator_id) {
        const message =
          "Only the operator's API keys can move the clock, because all accounts share it.";
        throw new Refusal("insufficient_scope", message);
      }
      const { advance_ms } = body;
      if (advance_ms === undefined || problems.length > 0) throw Refusal.of(problems);
      const { now, idle } = await advanceClock(deps, advance_ms, IDLE_MAX_MS);
      return writeClock({ clock: { now: now.toISOString(), idle } });
    },
  });
}

function addPaymentDetailRoute(addRoute: AddRoute, deps: SandboxDeps): void {
  const { database, keyring, clock, wake } = deps;
  addRoute({
    method: "PATCH",
    path: "/sandbox/users/:user_id/payment_details/:payment_detail_id",
    operation: "setSandboxPaymentDetail",
    stores_nothing: true,
    summary: "Set the status of a payment detail",
    description: "Moves the payment detail through every state up to the requested one.",
    tag: TAG,
    body: PaymentDetailStatusBody,
    body_example: { payment_detail: { status: "pending" } },
    answer: PaymentDetailAnswer,
    errors: ["invalid_transition", "on_hold"],
    handle: async ({ caller, params, body, problems }) => {
      const { account_id } = caller;
      const user_id = params.user_id;
      const found = new Problems(problems);
      const status = readStatus(
        "payment_detail",
        PAYMENT_DETAIL_STATUSES,
        body.payment_detail?.status,
        found,
      );
      const now = clock.now();
      const moved = await database.transaction(async (tx) => {
        const rows = await lockPaymentDetails(tx, [{ account_id, id: params.payment_detail_id }]);
        const keys = await keyring.openUserKeys(tx, [{ account_id, user_id }]);
        const own = rows.filter((row) => row.user_id === user_id);
        let [detail] = toPaymentDetails(own, keys);
        if (!detail) throw Refusal.of([...found.list, notFound("payment_detail_id")]);
        if (!status) throw Refusal.of(found.list);
        const path = findPath(PAYMENT_DETAIL_MOVES, detail.status, status);
        if (!path) throw Refusal.of([noPath(STATUS_FIELD)]);
        if (path.includes("approved")) await refuseWhileCompared(tx, detail, STATUS_FIELD);
        const key = keys.get(account_id, user_id)!;
        const changes = [];
        for (const next of path) {
          const change = moveDetail(detail, next, key, now);
          changes.push(change);
          detail = change.detail;
        }
        recordDetailChanges(tx, changes, now);
        return detail;
      });
      wake();
      return renderPaymentDetail(moved);
    },
  });
}

function addOfframpRoute(addRoute: AddRoute, deps: SandboxDeps): void {
  addRoute({
    method: "PATCH",
    path: "/sandbox/offramps/:offramp_id",
    operation: "setSandboxOfframp",
    stores_nothing: true,
    summary: "Set the status of an offramp",
    description:
      "Moves the offramp through every state up to the requested one. Pays its quote if needed; " +
      "every step posts its ledger entries. Holds, limits and approval apply, and what the " +
      "account decides itself, executing the quote, re-routing and refunding a bounced payout, " +
      "needs the permission for it: it stops before the step that they refuse.",
    tag: TAG,
    body: OfframpStatusBody,
    body_example: { offramp: { status: "fiat_sent" } },
    answer: OfframpAnswer,
    errors: ["invalid_transition", "limit_exceeded", "on_hold"],
    handle: async ({ caller, params, body, problems }) => {
      const found = new Problems(problems);
      const status = readStatus("offramp", OFFRAMP_STATUSES, body.offramp?.status, found);
      const key = { account_id: caller.account_id, id: params.offramp_id };
      const forced = await forceOfframpStatus(deps, key, status ?? null, caller);
      if (forced === undefined) throw Refusal.of([...found.list, notFound("offramp_id")]);
      if (!status) throw Refusal.of(found.list);
      if (forced === null) throw Refusal.of([noPath("offramp.status")]);
      deps.wake();
      return deps.renderer.offramp(forced);
    },
  });
}
