import type { Session } from "./database.ts";

type ServerUse = {
  /** Connections that an ordinary role can open, on the whole server. */
  connections: number;
  /** Processes of Sliproad that are connected to this database, without the one that asks. */
  processes: number;
  /** Whether a commit waits for another server. */
  has_standby: boolean;
};

export async function findServerUse(session: Session): Promise<ServerUse> {
  const [row] = await session.query<ServerUse>(
    `select current_setting('max_connections')::integer
         - current_setting('superuser_reserved_connections')::integer as connections,
       (select count(distinct (client_addr, application_name))::integer from pg_stat_activity
        where datname = current_database() and application_name like 'sliproad %'
          and application_name <> current_setting('application_name')) as processes,
       current_setting('synchronous_standby_names') <> '' as has_standby`,
  );
  return row!;
}
