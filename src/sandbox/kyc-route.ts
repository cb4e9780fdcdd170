import { KYC_MOVES, SWIFT_CURRENCIES, withSwift } from "../kyc/model.ts";
import { type KycMoveDeps, lockKycUser, recordJudgement, recordKycs } from "../kyc/move-kyc.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { Problems } from "../platform/problems.ts";
import { KYC_STATUSES } from "../users/model.ts";
import { renderUser } from "../users/render.ts";
import { UserAnswer } from "../users/schemas.ts";
import { findPath } from "./find-path.ts";
import { noPath } from "./read-status.ts";
import { KycBody, SWIFT_STATUSES } from "./schemas.ts";

export type KycSandboxDeps = KycMoveDeps & { database: Database; clock: Clock; wake: () => void };

/** Simulates the reviewer: of the person, and of their clearance for swift. */
export function addSandboxKycRoute(addRoute: AddRoute, deps: KycSandboxDeps): void {
  addRoute({
    method: "PATCH",
    path: "/sandbox/users/:user_id/kycs",
    operation: "setSandboxKyc",
    stores_nothing: true,
    summary: "Set the KYC status of a user",
    description:
      "Moves the user through every state up to the requested one. `swift_status` grants " +
      "(`approved`) or withdraws (`suspended`) the approval for swift.",
    tag: "Sandbox",
    body: KycBody,
    body_example: { kyc: { status: "approved" } },
    answer: UserAnswer,
    errors: ["invalid_kyc_status_param", "invalid_transition"],
    handle: async ({ caller, params, body, problems }) => {
      const { status: wanted, swift_status: wanted_swift } = body.kyc ?? {};
      const status = KYC_STATUSES.find((known) => known === wanted);
      const swift_status = SWIFT_STATUSES.find((known) => known === wanted_swift);
      const found = new Problems(problems);
      if (!status) {
        const message = `Send one of ${KYC_STATUSES.join(", ")}.`;
        found.report("kyc.status", "invalid_kyc_status_param", message);
      }
      if (!swift_status && wanted_swift !== undefined) {
        const message = `Send one of ${SWIFT_STATUSES.join(", ")}.`;
        found.report("kyc.swift_status", "invalid_kyc_status_param", message);
      }
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const now = deps.clock.now();
      const moved = await deps.database.transaction(async (tx) => {
        const locked = await lockKycUser(tx, deps.keyring, key);
        if (!locked) throw Refusal.of([...found.list, notFound("user_id")]);
        if (!status || !found.is_empty) throw Refusal.of(found.list);
        const path = findPath(KYC_MOVES, locked.user.kyc.general.status, status);
        if (!path) throw Refusal.of([noPath("kyc.status")]);
        const user = await recordJudgement(tx, deps, locked, path, null, now);
        if (!swift_status) return user;
        const kyc = withSwift(user.kyc, SWIFT_CURRENCIES, swift_status);
        if (!kyc) throw Refusal.of([noPath("kyc.swift_status")]);
        const is_new = SWIFT_CURRENCIES.some(
          (name) => user.kyc[name].swift_status !== swift_status,
        );
        return recordKycs(tx, { ...locked, user }, is_new ? [kyc] : [], now);
      });
      deps.wake();
      return renderUser(moved);
    },
  });
}
