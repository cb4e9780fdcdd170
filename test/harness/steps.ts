import { randomUUID } from "node:crypto";
import type { Core, Partners } from "../../src/app/open-app.ts";
import { sendRefundTask } from "../../src/balances/refund-task.ts";
import { openLimitDeps } from "../../src/limits/load-limits.ts";
import { createOfframpRenderer } from "../../src/offramps/render.ts";
import * as kinds from "../../src/offramps/task-kinds.ts";
import { offrampTasks } from "../../src/offramps/tasks.ts";
import { onrampTasks } from "../../src/onramps/tasks.ts";
import { createHttpDocuments } from "../../src/partners/documents/http.ts";
import { createSandboxDocuments } from "../../src/partners/documents/sandbox.ts";
import { openLocalDirectory } from "../../src/partners/files/local-directory.ts";
import { ALWAYS_LEAVING } from "../../src/partners/leaving.ts";
import { createGuardedSender } from "../../src/partners/outbound-http/guarded-sender.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { claimTasks } from "../../src/platform/tasks/claim-store.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import type { TaskHandler } from "../../src/platform/tasks/run-set.ts";
import { listDueKinds, updateFailed, updateLeases } from "../../src/platform/tasks/store.ts";
import { createTaskSet } from "../../src/platform/tasks/task-set.ts";
import { approvalRules } from "../../src/prices/approval-rules.ts";
import { STORED_PRICES } from "../../src/prices/price-book.ts";
import { findLastPriceVersionId } from "../../src/prices/store.ts";
import { openTravelDeps } from "../../src/travel/open.ts";
import { SILENT } from "./task-fixture.ts";

/** The steps between an execution and money in the bank, in the order in which they are due. */
export const PAYOUT_STEPS = [
  kinds.ANNOUNCE_TRANSFER_TASK,
  kinds.FUND_QUOTE_TASK,
  kinds.FUND_OFFRAMPS_TASK,
  kinds.SEND_PAYOUT_TASK,
  kinds.READ_BANK_TASK,
] as const;

const LEASE_MS = 30_000;
const ROUNDS_MAX = 50;

/** The process ended at this point: nothing is recorded, the lease expires. */
export class Crash extends Error {}

export type Steps = {
  /** The kinds that have due tasks. */
  listDue(): Promise<string[]>;
  /** Runs one set of due tasks of this kind; false if none is due. Rethrows the task's error. */
  run(kind: string): Promise<boolean>;
  /** Runs due tasks until none is left; a failure is recorded as a worker would. */
  runAll(): Promise<void>;
  close(): void;
};

/** The last stored prices, whatever their age. */
export async function lastPrices(database: Database) {
  const id = (await findLastPriceVersionId(database))!;
  return (await STORED_PRICES.find(database, [id])).get(id)!;
}

/** What the tasks of a process need. */
async function openDeps(
  core: Core,
  partners: Partners,
  database: Database,
  sender: ReturnType<typeof createGuardedSender>,
) {
  const { clock, config } = core;
  return {
    ...core,
    ...partners,
    database,
    renderer: createOfframpRenderer(() => "http://127.0.0.1", clock),
    operator_id: core.first_start.operator.id,
    kyc_enforcement: config.kyc_enforcement,
    policy: config,
    approvals: approvalRules({ ...core, public_url: () => "http://127.0.0.1" }, STORED_PRICES),
    files: await openLocalDirectory(config.data_dir),
    documents: createSandboxDocuments(createHttpDocuments(sender)),
    deposit_tolerance: config.deposit_tolerance,
    deposit_in_time_percent: config.deposit_in_time_percent,
    rate_hold_ms: config.rate_hold_hours * HOUR_MS,
    reroute_ms: config.reroute_hours * HOUR_MS,
    rate_slippage_basis_points: config.rate_slippage_basis_points,
    prices: { currentPrices: () => lastPrices(database) },
    bank_horizon_ms: 72 * HOUR_MS,
    leaving: ALWAYS_LEAVING,
    log: SILENT,
    travel: openTravelDeps(
      core,
      openLimitDeps(STORED_PRICES, () => clock.now()),
    ),
  };
}

/** Runs the worker one set at a time, so that a test can act between any two. */
export async function openSteps(
  core: Core,
  partners: Partners,
  database: Database = core.database,
  more: readonly TaskHandler[] = [],
): Promise<Steps> {
  const { clock } = core;
  const sender = createGuardedSender({ allow_list: [], allow_loopback: false });
  const deps = await openDeps(core, partners, database, sender);
  const unscreened = { ...deps, screenUsers: async () => {} };
  const refunds = sendRefundTask(unscreened);
  const handlers = new Map<string, TaskHandler>(
    [...offrampTasks(deps), ...onrampTasks(unscreened), refunds, ...more].map((handler) => [
      handler.kind,
      handler,
    ]),
  );

  /** `failed` tasks are claimed separately and alone, as by a worker. */
  const runQueue = async (kind: string, failed: boolean, is_strict: boolean): Promise<boolean> => {
    const handler = handlers.get(kind)!;
    const claim = await claimTasks(core.database, {
      kind,
      failed,
      now: clock.now(),
      real_now: realTime(clock),
      lease_ms: LEASE_MS,
      lease_id: randomUUID(),
      limit: failed ? 1 : handler.set_max,
    });
    if (claim.tasks.length === 0) return false;
    try {
      await handler.handle(createTaskSet(claim, () => {}).set);
    } catch (error) {
      if (error instanceof Crash) {
        await updateLeases(core.database, claim, null);
        return true;
      }
      const failure = { tasks: claim.tasks, due_at: clock.now(), last_error: "failed in a test" };
      await updateFailed(core.database, claim, failure);
      if (is_strict) throw error;
    }
    return true;
  };
  const run = async (kind: string, is_strict = true) =>
    (await runQueue(kind, false, is_strict)) || (await runQueue(kind, true, is_strict));

  const listDue = async () => {
    const time = { now: clock.now(), real_now: realTime(clock) };
    const due = await listDueKinds(core.database, { kinds: [...handlers.keys()], ...time });
    return due.filter(({ fresh, failed }) => fresh || failed).map(({ kind }) => kind);
  };

  return {
    listDue,
    run,
    runAll: async () => {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const due = await listDue();
        const ran = [];
        for (const kind of due) ran.push(await run(kind, false));
        if (!ran.includes(true)) return;
      }
      throw new Error("there is always something due");
    },
    close: () => sender.close(),
  };
}
