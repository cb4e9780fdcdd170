import type { Session } from "../../db/database.ts";

/** The accounts of each server of a database that Citus distributes; none if it does not. */
export async function listAccountsByServer(session: Session): Promise<string[][]> {
  const [found] = await session.query<{ is_distributed: boolean }>(
    "select to_regclass('pg_dist_placement') is not null as is_distributed",
  );
  if (!found!.is_distributed) return [];
  const accounts = await session.query<{ id: string }>("select id from accounts");
  const servers = await session.query<{ ids: string[] }>(
    `select array_agg(own.id) as ids
     from (select a.id, get_shard_id_for_distribution_column('tasks', a.id) as shardid
       from unnest($1::uuid[]) as a (id)) as own
     join pg_dist_placement p on p.shardid = own.shardid
     group by p.groupid`,
    [accounts.map(({ id }) => id)],
  );
  return servers.map(({ ids }) => ids);
}
