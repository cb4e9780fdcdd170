import type { Command } from "commander";
import { systemTime } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import { type Distribution, distribute } from "../platform/db/distribute.ts";
import { listMigrations } from "../platform/db/migrate.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

type Options = JsonOption & { distribute?: boolean; shards: string };

const SHARDS_MAX = 1024;
/** One row that says which lists are current: users and payees are read with it. */
export const JOINED_TABLES = ["screening_state"];

export function addMigrateCommand(program: Command): void {
  program
    .command("migrate")
    .description("migrate the database to this version (start does this automatically)")
    .option("--distribute", "then distribute its tables by account, on Citus")
    .option("--shards <number>", "parts of each distributed table, on the first run", "32")
    .action(async (options: Options) => {
      const shards = readShards(options.shards);
      // Opening the core migrates; this only reports it.
      const { migrations, distribution } = await withProgress(options, (progress) =>
        withCore(
          async ({ database }) => ({
            migrations: await listMigrations(database),
            distribution: options.distribute
              ? await distributeTables(database, shards, progress)
              : null,
          }),
          {
            onMigration: ({ done, total, name }) =>
              progress.show({ done, total, unit: "migrations", note: name }),
          },
        ),
      );
      print(options, { migrations, ...(distribution ? { distribution } : {}) }, [
        `The database is up to date: ${migrations.length} migrations, the last ` +
          `${migrations.at(-1)?.name}.`,
        ...(distribution ? describe(distribution) : []),
      ]);
    });
}

function readShards(text: string): number {
  const shards = Number(text);
  if (/^\d+$/.test(text) && shards >= 1 && shards <= SHARDS_MAX) return shards;
  throw new StartupError(`--shards must be a whole number from 1 to ${SHARDS_MAX}.`);
}

function distributeTables(
  database: Database,
  shards: number,
  progress: Progress,
): Promise<Distribution> {
  return distribute(database, {
    shards,
    joined: JOINED_TABLES,
    now: systemTime(),
    onTable: ({ done, total, name }) => progress.show({ done, total, unit: "tables", note: name }),
  });
}

function describe(done: Distribution): string[] {
  const { distributed, reference, local, unchanged, workers } = done;
  const changed = distributed.length + reference.length + local.length;
  return [
    changed === 0
      ? `All ${unchanged} tables are distributed already, on ${workers} workers.`
      : `Distributed ${distributed.length} tables by account on ${workers} workers, copied ` +
        `${reference.length} to every node, left ${local.length} on the coordinator; ` +
        `${unchanged} were so already.`,
    ...done.kept_together.map(
      ({ name, spanning_key }) =>
        `${name} stays on the coordinator: its unique key ${spanning_key} spans accounts.`,
    ),
    ...(done.foreign_keys > 0 ? [`Added ${done.foreign_keys} foreign keys again.`] : []),
    ...done.foreign_keys_left_out.map(
      (name) => `Citus cannot enforce the foreign key ${name}; it was left out.`,
    ),
  ];
}
