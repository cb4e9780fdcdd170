import type { Database } from "../../src/platform/db/database.ts";

export type Snapshot = ReturnType<typeof createSnapshot>;

/**
 * Sets a database back to what it was: much faster than a new one for every seed. Tables that were
 * empty are emptied, the others get their rows back.
 */
export function createSnapshot(database: Database) {
  let all: string[] = [];
  let kept: string[] = [];
  const listFilled = async (): Promise<string[]> => {
    const tests = all.map((name) => `case when exists (select 1 from ${name}) then '${name}' end`);
    const [row] = await database.query<{ names: string[] }>(
      `select array_remove(array[${tests.join(", ")}], null) as names`,
    );
    return row!.names;
  };
  return {
    take: async () => {
      const tables = await database.query<{ name: string }>(
        "select relname as name from pg_stat_user_tables where schemaname = 'public' order by 1",
      );
      all = tables.map(({ name }) => name);
      kept = (await listFilled()).filter((name) => name !== "migrations");
      await database.query("create schema kept");
      for (const name of kept) await database.query(`create table kept.${name} as table ${name}`);
      const restored = kept.map(
        (name) =>
          `delete from ${name};
           insert into ${name} overriding system value select * from kept.${name};`,
      );
      // In a function, so that the server plans these statements once.
      await database.query(
        `create function kept.restore() returns void language plpgsql as $$ begin
           ${restored.join("\n")} end $$`,
      );
    },
    restore: async () => {
      const filled = await listFilled();
      const emptied = filled.filter((name) => !kept.includes(name) && name !== "migrations");
      await database.transaction(async (tx) => {
        // For Citus, where a statement on copied tables follows one on distributed tables.
        await tx.query("set local citus.multi_shard_modify_mode = 'sequential'");
        if (emptied.length > 0) await tx.query(`truncate ${emptied.join(", ")} cascade`);
        // Not before: on Citus a trigger empties the shards.
        await tx.query("set local session_replication_role = replica");
        await tx.query("select kept.restore()");
      });
    },
  };
}
