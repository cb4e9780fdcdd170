import type { Session } from "../db/database.ts";
import { COUNT_MAX, COUNTED, type MetricSource } from "../metrics/model.ts";
import type { Readiness } from "../module.ts";

/** How many entries the sealer has set aside, at most `COUNT_MAX`. */
export async function findRejectedCount(session: Session): Promise<number> {
  const [row] = await session.query<{ count: bigint }>(
    `select count(*) from (select 1 from seal_rejected limit ${COUNT_MAX}) as first`,
  );
  return Number(row!.count);
}

export const rejectedMetrics: MetricSource = {
  gauges: [
    {
      name: "sliproad_log_entries_rejected",
      help: `Entries of sealed logs that this service did not write, set aside; ${COUNTED}.`,
    },
  ],
  read: async (session) => [
    { name: "sliproad_log_entries_rejected", value: await findRejectedCount(session) },
  ],
};

/**
 * A notice: what this service wrote is sealed as before, and whoever can write SQL must not be able
 * to stop it.
 */
export const rejectedNotices: Readiness = async (session) => {
  const count = await findRejectedCount(session);
  return count === 0 ? [] : [describeRejected(count)];
};

export function describeRejected(count: number): string {
  const entries = count === 1 ? "1 entry" : `${count} entries`;
  return (
    `The logs have ${entries} that this service did not write: somebody has written to the ` +
    "database. Run sliproad verify."
  );
}
