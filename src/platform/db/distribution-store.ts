import type { Session } from "./database.ts";

/** How Citus stores a table; `plain` is a table that it does not know. */
export type TableKind = "distributed" | "reference" | "local" | "plain";

export type KnownTable = {
  name: string;
  kind: TableKind;
  /** Its primary key begins with account_id. */
  is_tenants: boolean;
  /** A unique key of it that spans accounts: Citus cannot distribute it. */
  spanning_key: string | null;
};

export type ForeignKey = {
  name: string;
  table_name: string;
  refers_to: string;
  definition: string;
};

type ClusterNode = { name: string; port: number; groupid: number; has_shards: boolean };

/** Null where the extension is not installed in this database. */
export async function findCitusVersion(session: Session): Promise<string | null> {
  const [row] = await session.query<{ version: string }>(
    "select extversion as version from pg_extension where extname = 'citus'",
  );
  return row?.version ?? null;
}

/** Group 0 is the coordinator. */
export function listNodes(session: Session): Promise<ClusterNode[]> {
  return session.query(
    `select nodename as name, nodeport as port, groupid, shouldhaveshards as has_shards
     from pg_dist_node where isactive and noderole = 'primary' order by groupid`,
  );
}

export function listKnownTables(session: Session): Promise<KnownTable[]> {
  return session.query(
    `select c.relname::text as name,
       case when p.partmethod = 'h' then 'distributed'
         when p.partmethod = 'n' and p.repmodel = 't' then 'reference'
         when p.partmethod = 'n' then 'local'
         else 'plain' end as kind,
       exists (select from pg_constraint k
         join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1]
         where k.conrelid = c.oid and k.contype = 'p' and a.attname = 'account_id') as is_tenants,
       (select min(i.indexrelid::regclass::text) from pg_index i
         where i.indrelid = c.oid and i.indisunique and not exists (
           select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id'
             and a.attnum = any(i.indkey[0:i.indnkeyatts - 1]))) as spanning_key
     from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
       and c.relname <> 'distribution_foreign_keys'
     order by c.relname`,
  );
}

/** Of tables that Citus has not changed yet. */
export function listForeignKeys(session: Session): Promise<ForeignKey[]> {
  return session.query(
    `select k.conname::text as name, t.relname::text as table_name, r.relname::text as refers_to,
       pg_get_constraintdef(k.oid) as definition
     from pg_constraint k
     join pg_class t on t.oid = k.conrelid
     join pg_class r on r.oid = k.confrelid
     where k.contype = 'f' and t.relnamespace = 'public'::regnamespace and k.conparentid = 0
     order by t.relname, k.conname`,
  );
}

/** Remembers them in the database: without that, an interrupted run would lose them. */
export async function insertDroppedKeys(
  session: Session,
  keys: readonly ForeignKey[],
): Promise<void> {
  await session.query(
    `create table if not exists distribution_foreign_keys (
       table_name text not null, name text not null, refers_to text not null,
       definition text not null, primary key (table_name, name))`,
  );
  for (const { table_name, name, refers_to, definition } of keys) {
    await session.query(
      `insert into distribution_foreign_keys (table_name, name, refers_to, definition)
       values ($1, $2, $3, $4)`,
      [table_name, name, refers_to, definition],
    );
    await session.query(`alter table ${quote(table_name)} drop constraint ${quote(name)}`);
  }
}

export async function listDroppedKeys(session: Session): Promise<ForeignKey[]> {
  const [row] = await session.query<{ found: string | null }>(
    "select to_regclass('distribution_foreign_keys')::text as found",
  );
  if (!row?.found) return [];
  return session.query(
    `select table_name, name, refers_to, definition from distribution_foreign_keys
     order by table_name, name`,
  );
}

export async function updateKeyAdded(session: Session, key: ForeignKey): Promise<void> {
  const { table_name, name, definition } = key;
  await session.query(
    `alter table ${quote(table_name)} add constraint ${quote(name)} ${definition}`,
  );
  await deleteDroppedKey(session, key);
}

export async function deleteDroppedKey(
  session: Session,
  { table_name, name }: ForeignKey,
): Promise<void> {
  await session.query("delete from distribution_foreign_keys where table_name = $1 and name = $2", [
    table_name,
    name,
  ]);
}

export async function deleteDroppedKeys(session: Session): Promise<void> {
  await session.query("drop table if exists distribution_foreign_keys");
}

/** All by account_id and in the same way, so that the rows of an account are on one node. */
export async function updateToDistributed(
  session: Session,
  name: string,
  beside: string | null,
  shards: number,
): Promise<void> {
  if (beside === null) {
    await session.query(
      `select create_distributed_table($1::regclass, 'account_id', colocate_with => 'none',
         shard_count => $2)`,
      [quote(name), shards],
    );
  } else {
    await session.query(
      "select create_distributed_table($1::regclass, 'account_id', colocate_with => $2)",
      [quote(name), quote(beside)],
    );
  }
  await updateWithoutLocalRows(session, name);
}

export async function updateToReference(session: Session, name: string): Promise<void> {
  await session.query("select create_reference_table($1::regclass)", [quote(name)]);
  await updateWithoutLocalRows(session, name);
}

export async function updateToLocal(session: Session, name: string): Promise<void> {
  await session.query("select citus_add_local_table_to_metadata($1::regclass)", [quote(name)]);
}

/** Citus copies rows to their shards and leaves those of the plain table, which nobody reads. */
async function updateWithoutLocalRows(session: Session, name: string): Promise<void> {
  await session.query("select truncate_local_data_after_distributing_table($1::regclass)", [
    quote(name),
  ]);
}

export async function countRunningWorkers(session: Session, since: Date): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from worker_heartbeats where seen_at > $1",
    [since],
  );
  return row!.count;
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
