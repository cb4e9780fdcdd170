import type { Session } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import {
  ageSeconds,
  COUNT_MAX,
  COUNTED,
  type MetricSource,
} from "../../../../platform/metrics/model.ts";
import type { Sender, SenderRow } from "./model.ts";
import { countOpenSends, findSender, listReportedSenders } from "./sender-store.ts";

const WEI_PER_COIN = 1e18;
const WEI_PER_GWEI = 1e9;
/** A node or a signer that is away for less than this is not worth an alarm. */
const PROBLEM_REPORTED_AFTER_MS = MINUTE_MS;

/** Sentences about chains on which nothing is sent, for /readyz. */
export function sendReadiness(senders: readonly Sender[]) {
  return async (session: Session, { real_now }: { real_now: Date }): Promise<string[]> => {
    const problems: string[] = [];
    for (const { chain, treasury } of senders) {
      const row = await findSender(session, chain.name, treasury);
      if (!row?.problem || !isReported(row, real_now)) continue;
      // The problem names addresses and hosts; the caller here is not authenticated.
      problems.push(`${chain.name} does not send (${row.state}); see sliproad sends list.`);
    }
    return problems;
  };
}

/** Sentences about treasuries that have little native coin, for /readyz. */
export function gasNotices(senders: readonly Sender[]) {
  return async (session: Session): Promise<string[]> => {
    const notices: string[] = [];
    for (const { chain, treasury, settings } of senders) {
      const row = await findSender(session, chain.name, treasury);
      if (!row || row.balance === null || row.balance >= settings.gas_floor) continue;
      notices.push(`The treasury on ${chain.name} has little native coin for gas.`);
    }
    return notices;
  };
}

/** Payments that wait for gas or tokens are no reason to send callers elsewhere. */
function isReported({ state, state_since }: SenderRow, real_now: Date): boolean {
  if (state === "waiting") return false;
  if (state === "stopped" || state === "misconfigured") return true;
  return real_now.getTime() - state_since.getTime() > PROBLEM_REPORTED_AFTER_MS;
}

/** What is being sent on the real chains. */
export function sendMetrics(senders: readonly Sender[]): MetricSource {
  const gauge = (name: string, help: string) => ({ name, help, label: "chain" });
  return {
    gauges: [
      gauge("sliproad_sends_queued", `Sends that wait for their turn; ${COUNTED}.`),
      gauge("sliproad_sends_in_flight", `Sends with a nonce that are not final; ${COUNTED}.`),
      gauge("sliproad_sends_oldest_seconds", "Age of the oldest send that is not final."),
      gauge("sliproad_sender_up", "1 while transactions are sent, 0 while something prevents it."),
      gauge("sliproad_sender_next_nonce", "The nonce of the treasury's next transaction."),
      gauge("sliproad_sender_mined_nonce", "How many transactions of the treasury are mined."),
      gauge("sliproad_sender_native_balance", "Native coin of the treasury, for gas."),
      gauge("sliproad_sender_gas_floor", "Below it, native coin of the treasury is too little."),
      gauge("sliproad_sender_base_fee_gwei", "The chain's base fee, when it was last asked."),
    ],
    read: async (session, { real_now }) => {
      const [counts, rows] = await Promise.all([
        countOpenSends(session, COUNT_MAX),
        listReportedSenders(session),
      ]);
      const treasuries = rows.filter(({ is_treasury }) => is_treasury);
      return [
        ...counts.flatMap((row) => [
          sample("sliproad_sends_queued", row, row.queued),
          sample("sliproad_sends_in_flight", row, row.in_flight),
          sample("sliproad_sends_oldest_seconds", row, ageSeconds(row.oldest_at, real_now)),
        ]),
        ...senders.map(({ chain, settings }) => {
          const floor = Number(settings.gas_floor) / WEI_PER_COIN;
          return sample("sliproad_sender_gas_floor", { chain: chain.name }, floor);
        }),
        ...treasuries.flatMap((row) => [
          sample("sliproad_sender_up", row, row.problem === null ? 1 : 0),
          sample("sliproad_sender_next_nonce", row, row.next_nonce ?? 0),
          sample("sliproad_sender_mined_nonce", row, row.mined_nonce ?? 0),
          sample("sliproad_sender_native_balance", row, Number(row.balance ?? 0n) / WEI_PER_COIN),
          sample("sliproad_sender_base_fee_gwei", row, Number(row.base_fee ?? 0n) / WEI_PER_GWEI),
        ]),
      ];
    },
  };
}

function sample(name: string, { chain }: { chain: string }, value: number) {
  return { name, label: chain, value };
}
