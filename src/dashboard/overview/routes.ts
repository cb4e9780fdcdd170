import Type from "typebox";
import { minorDigits } from "../../catalogue/currencies.ts";
import { listDayFlows } from "../../ledger/day-sum-store.ts";
import { ledgerDigits } from "../../ledger/model.ts";
import type { Clock } from "../../platform/clock.ts";
import { DAY_MS, MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { firstIdAt } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { findNextPayout, listVolumes, listWaiting, type Volume } from "./store.ts";

type OverviewDeps = Pick<ModuleCore, "database" | "operator_id" | "clock"> & {
  /** Whether every document is checked before its payout. */
  is_every_checked: boolean;
};

const DAYS = 30;
/** A transaction that made no step for this long is looked at; its fee rises every minute. */
const STUCK_AFTER_MS = 15 * MINUTE_MS;
/** An account with more payouts sees the sums of its newest ones, and is told so. */
const PAYOUTS_MAX = 5_000;

/** What waits for somebody, and what was paid out in the last days. */
export function addOverviewRoute(addRoute: AddRoute, deps: OverviewDeps): void {
  const { database, operator_id, clock } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/overview",
    operation: "showOverview",
    summary: "Show the overview",
    description: "What waits for somebody, and the volume of the last 30 days.",
    tag: "Dashboard",
    members_only: true,
    query: closedObject({}),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { first_day, ...span } = lastDays(clock);
      const range = { account_id, from_id: firstIdAt(first_day), limit: PAYOUTS_MAX };
      const [waiting, volumes, uncounted_until] = await Promise.all([
        listWaiting(
          database,
          { account_id, is_operator: account_id === operator_id },
          {
            stuck_before: new Date(realTime(clock).getTime() - STUCK_AFTER_MS),
            is_every_checked: deps.is_every_checked,
          },
        ),
        listVolumes(database, range),
        findNextPayout(database, range),
      ]);
      return JSON.stringify({
        waiting,
        ...span,
        payouts_max: PAYOUTS_MAX,
        uncounted_until,
        volumes: volumes.map(toAnswer),
      });
    },
  });

  addRoute({
    method: "GET",
    path: "/dashboard/api/overview/flows",
    operation: "showFlows",
    summary: "Show money in and out by day",
    description: "What wallets and bank accounts gained or lost on each of the last 30 days.",
    tag: "Dashboard",
    members_only: true,
    query: closedObject({}),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { first_day, ...span } = lastDays(clock);
      const flows = await listDayFlows(database, account_id, dayOf(first_day));
      return JSON.stringify({
        ...span,
        flows: flows.map(({ day, currency, amount }) => {
          return { day, currency, amount: minorToText(amount, ledgerDigits(currency)) };
        }),
      });
    },
  });
}

function lastDays(clock: Clock) {
  const today_ms = Math.floor(clock.now().getTime() / DAY_MS) * DAY_MS;
  const first_day = new Date(today_ms - (DAYS - 1) * DAY_MS);
  return { first_day, today: dayOf(new Date(today_ms)), days: DAYS };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function toAnswer(volume: Volume) {
  const digits = minorDigits(volume.currency)!;
  return { ...volume, amount: minorToText(BigInt(volume.amount), digits) };
}
