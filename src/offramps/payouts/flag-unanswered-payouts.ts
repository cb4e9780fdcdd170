import { recordAudit } from "../../accounts/audit.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { advanceOfframp, recordChanges } from "../record-changes.ts";
import type { OfframpRenderer } from "../render.ts";
import { lockOfframps, openOfframps } from "../store.ts";
import { listUnanswered, type Unanswered, updateFlagged } from "./store.ts";

export type FlagDeps = Pick<ModuleCore, "database" | "keyring" | "log"> & {
  renderer: OfframpRenderer;
  bank_horizon_ms: number;
};

const MESSAGE = "The bank has not confirmed the payment in time. The operator is investigating.";
const EVERY_MS = HOUR_MS;
const PAYOUTS_AT_ONCE = 200;

/**
 * A missing answer never moves money. After the time limit the operator is notified: in the
 * offramp's message, the audit log and the service log.
 */
export async function flagUnansweredPayouts(deps: FlagDeps, set: TaskSet): Promise<void> {
  const before = new Date(set.now.getTime() - deps.bank_horizon_ms);
  for (let count = PAYOUTS_AT_ONCE; count === PAYOUTS_AT_ONCE; ) {
    const payouts = await listUnanswered(deps.database, before, PAYOUTS_AT_ONCE);
    count = payouts.length;
    for (const [, own] of Map.groupBy(payouts, ({ account_id }) => account_id)) {
      await deps.database.transaction((tx) => flagSome(tx, deps, own, set.now));
    }
  }
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx);
    set.repeat(tx, tasks, new Date(set.now.getTime() + EVERY_MS));
  });
}

/** Payouts of one account. */
async function flagSome(
  tx: Transaction,
  { keyring, renderer, log }: FlagDeps,
  payouts: readonly Unanswered[],
  now: Date,
): Promise<void> {
  const keys = payouts.map(({ account_id, offramp_id }) => ({ account_id, id: offramp_id }));
  const rows = await lockOfframps(tx, keys);
  const offramps = await openOfframps(tx, keyring, rows);
  const changes = offramps
    .filter(({ offramp }) => offramp.status === "sending_fiat")
    .map((entry) => advanceOfframp(entry, { status_message: MESSAGE }, now));
  recordChanges(tx, renderer, changes, now);
  for (const { offramp } of changes) {
    const { account_id, id, attempt } = offramp;
    const entry = { account_id, actor: "worker", action: "payout.unanswered" } as const;
    const record = `offramp:${id}`;
    recordAudit(tx, { ...entry, record, reason: MESSAGE, detail: { attempt } }, now);
    log.warn({ account_id, offramp_id: id, attempt }, "the bank has not answered a payout in time");
  }
  updateFlagged(tx, payouts, now);
}
