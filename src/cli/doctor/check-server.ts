import type { Core } from "../../app/open-core.ts";
import { findServerUse } from "../../platform/db/server-store.ts";
import type { Finding } from "./finding.ts";

/** Whether the database server has room for every process, and a copy of what was committed. */
export async function checkServer({ database, config }: Core): Promise<Finding[]> {
  const { connections, processes, has_standby } = await findServerUse(database);
  const { database_connections: each } = config;
  const running = Math.max(1, processes);
  const sum = `${running} ${running === 1 ? "process" : "processes"} of at most ${each}`;
  const ok = running * each <= connections;
  const room = {
    check: "connections",
    ok,
    finding: ok
      ? `${sum}, the server accepts ${connections}`
      : `${sum}, but the server accepts only ${connections}; lower ` +
        "SLIPROAD_DATABASE_CONNECTIONS or raise max_connections",
  };
  // The embedded one is for one machine.
  if (!config.database_url) return [room];
  const standby = has_standby
    ? { check: "standby", ok: true, finding: "commits wait for a synchronous standby" }
    : {
        ...{ check: "standby", ok: true, warning: true },
        finding:
          "no synchronous standby is named: if this server is lost, its last commits are too; " +
          "set synchronous_standby_names",
      };
  return [room, standby];
}
