import { PERMISSIONS } from "../../accounts/roles.ts";
import { listAccountsWithoutTwo } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { findPendingProposalCount } from "../../approvals/pending-store.ts";
import { listFailingEndpoints } from "../../apps/store.ts";
import { READ_IDENTITY_TASK } from "../../kyc/task-kinds.ts";
import { findKept } from "../../offramps/metrics-store.ts";
import {
  APPLY_KEPT_ANSWERS_TASK,
  CREDIT_KEPT_DEPOSITS_TASK,
  READ_BANK_TASK,
  WATCH_CHAINS_TASK,
} from "../../offramps/task-kinds.ts";
import { findUnmatched } from "../../onramps/deposits/store.ts";
import { READ_CREDITS_TASK } from "../../onramps/task-kinds.ts";
import { readChains } from "../../partners/chain/evm/read-chains.ts";
import { listReportedSenders } from "../../partners/chain/evm/send/sender-store.ts";
import { listWatchedChains } from "../../partners/chain/evm/watch-store.ts";
import { listOpenHolds } from "../../partners/hold/hold-store.ts";
import { DIFFERENCE_MAX_MS } from "../../platform/clock.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { PUT_BACK } from "../../platform/sealing/put-back.ts";
import { describeRejected, findRejectedCount } from "../../platform/sealing/rejected-entries.ts";
import { NOT_WRITTEN_HERE } from "../../platform/sealing/vouched-rows.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import {
  listFailedTasks,
  listRecurring,
  listTasksFailedWith,
  workerHealth,
} from "../../platform/tasks/worker-health.ts";
import { listRateChecks } from "../../prices/store.ts";
import { REFRESH_RATES_TASK } from "../../prices/tasks.ts";
import { checkBanks } from "./check-banks.ts";
import { checkServer } from "./check-server.ts";
import type { Finding } from "./finding.ts";

const WATCHERS = [
  ...[READ_BANK_TASK, READ_CREDITS_TASK, READ_IDENTITY_TASK],
  ...[REFRESH_RATES_TASK, WATCH_CHAINS_TASK],
];
/** Heartbeats come every 5 s. A worker that was killed recently leaves its last one behind. */
const HEARTBEAT_LATE_MS = 10_000;
const WATCHER_LATE_MS = MINUTE_MS;
/** A partner that fails once or twice is not worth an alarm. */
const WATCHER_FAILURES_MAX = 3;
const ENDPOINTS_NAMED_MAX = 5;
const ACCOUNTS_NAMED_MAX = 5;
const KEPT_NAMED_MAX = 3;
const KEPT_ANSWERS = {
  ...{ check: "answers", kind: APPLY_KEPT_ANSWERS_TASK, state: "of banks kept", record: "payout" },
};
const KEPT_TRANSFERS = {
  ...{ check: "transfers", kind: CREDIT_KEPT_DEPOSITS_TASK },
  ...{ state: "of chains kept", record: "quote" },
};

/** What the database shows about an installation. */
export async function examineDatabase(core: Core, is_service_up: boolean): Promise<Finding[]> {
  return [
    await checkVersion(core),
    ...(await checkServer(core)),
    checkClock(core),
    await checkWorker(core, is_service_up),
    await checkWatchers(core),
    await checkLogs(core),
    await checkHold(core),
    await checkRows(core),
    ...(core.config.chains_file === undefined
      ? []
      : [await checkChains(core), ...(await checkSending(core, core.config.chains_file))]),
    ...(core.config.banks_file === undefined
      ? []
      : [await checkBanks(core, core.config.banks_file)]),
    await checkEndpoints(core),
    await checkKept(core, KEPT_ANSWERS),
    await checkKept(core, KEPT_TRANSFERS),
    await checkDeposits(core),
    await checkProposals(core),
    ...(core.config.mode === "live" ? [await checkVoters(core)] : []),
    await checkRates(core),
  ];
}

async function checkVersion({ database }: Core): Promise<Finding> {
  const [row] = await database.query<{ server_version: string }>("show server_version");
  const version = row!.server_version;
  const ok = Number.parseInt(version, 10) >= 15;
  const finding = `PostgreSQL ${version}, migrated, with the right key and mode`;
  return { check: "database", ok, finding: ok ? finding : `${finding}; use version 15 or later` };
}

function checkClock({ clock }: Core): Finding {
  const difference_ms = Math.round(Math.abs(clock.difference_ms()));
  const ok = difference_ms <= DIFFERENCE_MAX_MS;
  const finding = ok
    ? `${difference_ms} ms from the database's`
    : `this machine's clock differs from the database's by ${difference_ms} ms; synchronise both ` +
      "with NTP";
  return { check: "clock", ok, finding };
}

async function checkLogs({ database }: Core): Promise<Finding> {
  const count = await findRejectedCount(database);
  const finding =
    count === 0 ? "all entries were written by this service" : describeRejected(count);
  return { check: "logs", ok: count === 0, finding };
}

/** A stopped service has no worker, which is not a fault; one that serves without a worker is. */
async function checkWorker({ database, clock }: Core, is_service_up: boolean): Promise<Finding> {
  const { is_running, silent_ms, problems } = await workerHealth(database, timeOf(clock));
  const check = "worker";
  const is_left = !is_service_up && silent_ms > HEARTBEAT_LATE_MS;
  if (!is_running || is_left) {
    const finding = "none is running; run sliproad start, or sliproad worker next to an API";
    return { check, ok: !is_service_up, finding };
  }
  if (problems.length === 0) return { check, ok: true, finding: "running, nothing overdue" };
  const finding =
    `${problems.join(" ")} See the service's log for the cause; the worker ` +
    `retries automatically.`;
  return { check, ok: false, finding };
}

async function checkWatchers({ database, clock }: Core): Promise<Finding> {
  const check = "watchers";
  const watchers = await listRecurring(database, WATCHERS);
  if (watchers.length === 0) return { check, ok: true, finding: "not yet started" };
  const late_before = clock.now().getTime() - WATCHER_LATE_MS;
  const is_working = (await workerHealth(database, timeOf(clock))).is_running;
  const ailing = watchers.filter(
    ({ attempts, due_at }) =>
      attempts > WATCHER_FAILURES_MAX || (is_working && due_at.getTime() < late_before),
  );
  if (ailing.length === 0) {
    return { check, ok: true, finding: watchers.map(({ kind }) => kind).join(", ") };
  }
  const names = ailing.map(({ kind, attempts }) => `${kind} (failed ${attempts} times in a row)`);
  const finding = `behind: ${names.join(", ")}; see the log and check that the partner responds`;
  return { check, ok: false, finding };
}

export async function checkHold({ database }: Core): Promise<Finding> {
  const check = "payouts";
  const [hold] = await listOpenHolds(database);
  if (!hold) return { check, ok: true, finding: "not on hold" };
  const { kind, held_at } = hold;
  const why = kind === "restore" ? ", because the database was restored" : "";
  const advice = "see sliproad payouts status, then sliproad payouts release";
  const finding = `on hold since ${held_at.toISOString()}${why}; ${advice}`;
  return { check, ok: true, warning: true, finding };
}

/** What is held because somebody changed a row that it needs. */
async function checkRows({ database }: Core): Promise<Finding> {
  const check = "rows";
  const [held] = [
    ...(await listTasksFailedWith(database, NOT_WRITTEN_HERE, 1)),
    ...(await listTasksFailedWith(database, PUT_BACK, 1)),
  ];
  if (!held) return { check, ok: true, finding: "nothing is held because of a changed row" };
  const { kind, record_id, last_error } = held;
  const finding = `${kind} of ${record_id} is held: ${last_error}; run sliproad verify`;
  return { check, ok: false, finding };
}

async function checkChains({ database }: Core): Promise<Finding> {
  const check = "chains";
  const rows = await listWatchedChains(database);
  const ailing = rows.filter(({ problem }) => problem !== null);
  if (ailing.length === 0) {
    const read = rows.map(({ chain, scanned_block }) => `${chain} up to block ${scanned_block}`);
    return { check, ok: true, finding: read.join(", ") || "not yet read" };
  }
  const problems = ailing.map(({ chain, state, problem }) => `${chain} (${state}): ${problem}`);
  return { check, ok: false, finding: `not read: ${problems.join("; ")}` };
}

/** Nothing where no chain is sent on. */
async function checkSending({ database }: Core, chains_file: string): Promise<Finding[]> {
  const { chains, treasury } = readChains(chains_file);
  const sending = chains.filter((chain) => chain.sending !== null);
  if (treasury === null || sending.length === 0) return [];
  const check = "sending";
  const rows = (await listReportedSenders(database)).filter((row) => row.is_treasury);
  const ailing = rows.filter(({ problem }) => problem !== null);
  if (ailing.length > 0) {
    const problems = ailing.map(({ chain, state, problem }) => `${chain} (${state}): ${problem}`);
    return [{ check, ok: false, finding: `not sent: ${problems.join("; ")}` }];
  }
  const low = rows.filter(({ chain, balance }) => {
    const floor = sending.find(({ name }) => name === chain)?.sending?.gas_floor ?? 0n;
    return balance !== null && balance < floor;
  });
  if (low.length > 0) {
    const names = low.map(({ chain, balance }) => `${chain} (${balance} wei)`).join(", ");
    const finding = `little native coin for gas on ${names}; send some to ${treasury}`;
    return [{ check, ok: true, warning: true, finding }];
  }
  const names = sending.map(({ name }) => name).join(", ");
  return [{ check, ok: true, finding: `${treasury} sends on ${names}` }];
}

async function checkEndpoints({ database }: Core): Promise<Finding> {
  const check = "webhooks";
  const ailing = await listFailingEndpoints(database, ENDPOINTS_NAMED_MAX);
  if (ailing.length === 0) return { check, ok: true, finding: "no endpoint is failing" };
  const names = ailing.map(({ id, name, account_name, webhook_state, failing_since }) => {
    const state = webhook_state === "disabled" ? "disabled" : "failing";
    const since = failing_since ? ` since ${failing_since.toISOString()}` : "";
    return `${name} of ${account_name} (${id}) ${state}${since}`;
  });
  const advice = "fix the receiver, then run sliproad apps resume <client_id>";
  const finding = `${names.join(", ")}; ${advice}`;
  return { check, ok: true, warning: true, finding };
}

/** What could not be applied when it was read, and the records that it cannot be applied to. */
async function checkKept(
  { database }: Core,
  { check, kind, state, record }: { check: string; kind: string; state: string; record: string },
): Promise<Finding> {
  const [{ messages }, failed] = await Promise.all([
    findKept(database, kind),
    listFailedTasks(database, kind, KEPT_NAMED_MAX),
  ]);
  const names = failed.map(({ record_id, last_error }) => `${record} ${record_id}: ${last_error}`);
  const advice = ["", ...names, ...(names.length > 0 ? ["repair it: run sliproad verify"] : [])];
  const what = `"${kind}" tries them again${advice.join("; ")}`;
  return waiting(check, BigInt(messages), state, what);
}

async function checkDeposits({ database, first_start }: Core): Promise<Finding> {
  const { deposits } = await findUnmatched(database, first_start.operator.id);
  const what = "match or return them: GET /deposits?status=unmatched, docs/guides/onramps.md";
  return waiting("deposits", BigInt(deposits), "unmatched", what);
}

async function checkProposals({ database }: Core): Promise<Finding> {
  const what = "members confirm or reject them on /dashboard/approvals";
  return waiting("proposals", await findPendingProposalCount(database), "waiting for votes", what);
}

/** The only voter of an account adds a second one alone, whose votes then count. */
export async function checkVoters({ database }: Pick<Core, "database">): Promise<Finding> {
  const check = "voters";
  const { roles } = PERMISSIONS.vote;
  const names = await listAccountsWithoutTwo(database, roles, ACCOUNTS_NAMED_MAX + 1);
  if (names.length === 0) return { check, ok: true, finding: "every account has two or more" };
  const named = names.slice(0, ACCOUNTS_NAMED_MAX).join(", ");
  const rest = names.length > ACCOUNTS_NAMED_MAX ? " and others" : "";
  const finding =
    `fewer than two members who can vote: ${named}${rest}; one alone adds the second and so ` +
    "passes the approval amount. Add another person with sliproad members create";
  return { check, ok: true, warning: true, finding };
}

async function checkRates({ database }: Core): Promise<Finding> {
  const held = (await listRateChecks(database)).filter(({ held_rate }) => held_rate !== null);
  const what = "see sliproad rates list --held, then sliproad rates confirm";
  return waiting("rates", BigInt(held.length), "held", what);
}

function waiting(check: string, count: bigint, state: string, what: string): Finding {
  if (count === 0n) return { check, ok: true, finding: `none ${state}` };
  return { check, ok: true, warning: true, finding: `${count} ${state}; ${what}` };
}

function timeOf(clock: Core["clock"]) {
  return { now: clock.now(), real_now: realTime(clock) };
}
