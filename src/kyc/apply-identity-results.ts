import { recordAudit } from "../accounts/audit.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { findCursor, updateCursor } from "../partners/cursor-store.ts";
import type { IdentityOutcome, IdentityPort, IdentityResult } from "../partners/identity/port.ts";
import { isOutage } from "../platform/db/outages.ts";
import type { ModuleCore } from "../platform/module.ts";
import { describeError } from "../platform/tasks/outage.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { KycStatus, User } from "../users/model.ts";
import { findApplicationUser, findLastApplication, insertResult } from "./application-store.ts";
import { findBar } from "./check-identity.ts";
import { findChangedSince, findContradictions, PERSON_FIELDS, type Submitted } from "./fields.ts";
import { KYC_MOVES } from "./model.ts";
import { type KycMoveDeps, lockKycUser, recordJudgement } from "./move-kyc.ts";
import { ASSESS_APPLICATION_TASK } from "./task-kinds.ts";

export type ResultDeps = KycMoveDeps &
  Pick<ModuleCore, "database" | "log"> & {
    catalogue: Catalogue;
    identity: IdentityPort;
  };

const CURSOR = "identity";
const RESULTS_MAX = 100;
/** Where an application waits for results. */
export const OPEN: readonly KycStatus[] = ["application_queued", "awaiting_manual_review"];

const STATUS_OF: Readonly<Record<IdentityOutcome, KycStatus>> = {
  approved: "approved",
  manual_review: "awaiting_manual_review",
  retry_required: "retry_required",
  failed: "failed",
};
const ASKED_AGAIN =
  "Your identity could not be verified. Check your data, take new pictures, and try again.";

/**
 * Reads the adapter's new results since the last time. One that cannot be applied does not stop
 * those behind it: its application is submitted again, by a task that keeps the error.
 */
export async function readIdentityResults(deps: ResultDeps, now: Date): Promise<void> {
  const cursor = await findCursor(deps.database, CURSOR);
  const next = await deps.identity.listResults(cursor, RESULTS_MAX);
  for (const result of next.results) {
    try {
      await applyOne(deps, result, now);
    } catch (error) {
      // All are read again.
      if (isOutage(error)) throw error;
      await applyLater(deps, result, error, now);
    }
  }
  if (next.cursor !== null && next.cursor !== cursor) {
    await updateCursor(deps.database, CURSOR, next.cursor, now);
  }
}

/**
 * Applies each result once, however often it is reported. A result that arrives too late, for an
 * earlier application or after a reviewer's decision, is only recorded.
 */
export async function applyIdentityResults(
  deps: ResultDeps,
  results: readonly IdentityResult[],
  now: Date,
): Promise<void> {
  for (const result of results) await applyOne(deps, result, now);
}

async function applyLater(
  { database, log }: ResultDeps,
  { account_id, application_id, result_id }: IdentityResult,
  error: unknown,
  now: Date,
): Promise<void> {
  const failed = { account_id, application_id, result_id, error: describeError(error) };
  log.warn(failed, "a result cannot be applied now: its application is submitted again");
  const application = { account_id, id: application_id };
  await database.transaction(async (tx) =>
    enqueueTasks(tx, ASSESS_APPLICATION_TASK, [application], now),
  );
}

async function applyOne(deps: ResultDeps, result: IdentityResult, now: Date): Promise<void> {
  const { database, keyring, log } = deps;
  const { account_id, application_id, result_id, outcome } = result;
  const user_id = await findApplicationUser(database, account_id, application_id);
  if (user_id === undefined) {
    log.warn({ account_id, application_id, result_id }, "a result for an application nobody made");
    return;
  }
  const key = { account_id, user_id };
  await database.transaction(async (tx) => {
    const locked = await lockKycUser(tx, keyring, key);
    // Erased in the meantime: there is nothing left to decide.
    if (!locked) return;
    const last = await findLastApplication(tx, key, locked.subject_key);
    const from = locked.user.kyc.general.status;
    const to = statusAfter(deps, outcome, locked.user, last?.submitted ?? null, now);
    const applies = last?.id === application_id && OPEN.includes(from);
    const is_applied = applies && KYC_MOVES[from].includes(to);
    const is_new = await insertResult(tx, result, is_applied, now);
    if (!is_new || !is_applied) return;
    const comment = to === "retry_required" ? (result.comment ?? ASKED_AGAIN) : result.comment;
    await recordJudgement(tx, deps, locked, [to], comment, now);
    recordAudit(
      tx,
      {
        account_id,
        actor: "worker",
        action: `kyc.${to}`,
        record: `user:${user_id}`,
        reason: "result of the identity check",
        detail: { application_id, result_id },
      },
      now,
    );
  });
}

/**
 * An approval is about the submitted data. If the account's record differs by now, or differs in
 * the birth date, or something bars the approval today, a reviewer must decide.
 */
function statusAfter(
  { catalogue }: ResultDeps,
  outcome: IdentityOutcome,
  { beneficiary_type: type, identity }: User,
  submitted: Submitted | null,
  now: Date,
): KycStatus {
  if (outcome !== "approved" || !submitted) return STATUS_OF[outcome];
  const today = now.toISOString().slice(0, 10);
  const needs_a_look =
    findChangedSince(type, identity, submitted).length > 0 ||
    findContradictions(type, submitted).includes(PERSON_FIELDS[type].birth_date) ||
    findBar(catalogue, type, submitted.values, today) !== null;
  return needs_a_look ? "awaiting_manual_review" : "approved";
}
