import type { Chain } from "../../../catalogue/chains.ts";
import type { Session } from "../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../platform/durations.ts";
import {
  ageSeconds,
  COUNT_MAX,
  COUNTED,
  type MetricSource,
} from "../../../platform/metrics/model.ts";
import { countFindings, listUnprovenChains } from "./finding-store.ts";
import type { EvmChain } from "./model.ts";
import { listWatchedChains, type WatchedChain } from "./watch-store.ts";

/** A node that is away for less than this is not worth an alarm. */
const PROBLEM_REPORTED_AFTER_MS = MINUTE_MS;
/** Of the time that a node may take. */
const SLOW_PART = 0.25;

/** Sentences about chains that are not read, for /readyz. */
export function readinessOf(chains: readonly EvmChain[]) {
  return async (session: Session, { real_now }: { real_now: Date }): Promise<string[]> => {
    const rows = new Map((await listWatchedChains(session)).map((row) => [row.chain, row]));
    return chains.flatMap((chain) => problemsOf(chain, rows.get(chain.name), real_now));
  };
}

function problemsOf(
  { name, lag_max_minutes }: EvmChain,
  row: WatchedChain | undefined,
  real_now: Date,
): string[] {
  if (!row) return [`${name} has never been read.`];
  const lasts_ms = real_now.getTime() - row.state_since.getTime();
  const is_passing = row.state === "unreachable" || row.state === "disagreeing";
  if (row.problem && (!is_passing || lasts_ms > PROBLEM_REPORTED_AFTER_MS)) {
    // The problem names hosts and hashes; the caller here is not authenticated.
    return [`${name} is not read (${row.state}); see sliproad chains list.`];
  }
  const lag_ms = real_now.getTime() - row.scanned_at.getTime();
  if (lag_ms <= lag_max_minutes * MINUTE_MS) return [];
  const minutes = Math.floor(lag_ms / MINUTE_MS);
  return row.state === "current"
    ? [`${name} has had no new final block for ${minutes} minutes.`]
    : [`${name} is read up to a block of ${minutes} minutes ago.`];
}

/** Sentences about chains that work, but not for long perhaps; for /readyz. */
export function noticesOf(chains: readonly EvmChain[]) {
  return async (session: Session): Promise<string[]> => {
    const rows = new Map((await listWatchedChains(session)).map((row) => [row.chain, row]));
    const slow = chains
      .filter((chain) => isSlow(chain, rows.get(chain.name)))
      .map(({ name }) => {
        const seconds = (rows.get(name)!.answer_ms / 1000).toFixed(1);
        return `A node of ${name} takes ${seconds} seconds to answer.`;
      });
    const unproven = (await listUnprovenChains(session)).map(
      (name) =>
        `${name} has stored transfers that are not proven and not credited; see sliproad chains ` +
        "findings.",
    );
    return [...slow, ...unproven];
  };
}

/** A node that takes a good part of the time it has will soon be one that does not answer. */
function isSlow({ timeout_seconds }: EvmChain, row: WatchedChain | undefined): boolean {
  return row !== undefined && row.answer_ms >= timeout_seconds * SLOW_PART * 1000;
}

/** How far the real chains are read. */
export function evmMetrics(names: readonly Chain[]): MetricSource {
  return {
    gauges: [
      {
        name: "sliproad_chain_lag_seconds",
        help: "Age of the last block of a chain whose deposits were read.",
        label: "chain",
      },
      {
        name: "sliproad_chain_scanned_block",
        help: "The last block of a chain whose deposits were read.",
        label: "chain",
      },
      {
        name: "sliproad_chain_final_block",
        help: "The last final block of a chain, when its nodes were last asked.",
        label: "chain",
      },
      {
        name: "sliproad_chain_up",
        help: "1 while a chain is read, 0 while its nodes do not answer or disagree.",
        label: "chain",
      },
      {
        name: "sliproad_chain_answer_seconds",
        help: "The longest time that a node of a chain took to answer, lately.",
        label: "chain",
      },
      {
        name: "sliproad_chain_findings",
        help: `Transfers to deposit addresses that were not credited; ${COUNTED}.`,
      },
    ],
    read: async (session, { real_now }) => {
      const [rows, findings] = await Promise.all([
        listWatchedChains(session),
        countFindings(session, COUNT_MAX),
      ]);
      const samples = rows
        .filter(({ chain }) => names.includes(chain))
        .flatMap((row) =>
          [
            ["sliproad_chain_lag_seconds", ageSeconds(row.scanned_at, real_now)] as const,
            ["sliproad_chain_scanned_block", Number(row.scanned_block)] as const,
            ["sliproad_chain_final_block", Number(row.final_block)] as const,
            ["sliproad_chain_up", row.problem === null ? 1 : 0] as const,
            ["sliproad_chain_answer_seconds", row.answer_ms / 1000] as const,
          ].map(([name, value]) => ({ name, label: row.chain, value })),
        );
      return [...samples, { name: "sliproad_chain_findings", value: findings }];
    },
  };
}
