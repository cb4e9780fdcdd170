import type { Command } from "commander";
import { listMigrations } from "../platform/db/migrate.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { withProgress } from "./progress.ts";

export function addMigrateCommand(program: Command): void {
  program
    .command("migrate")
    .description("migrate the database to this version (start does this automatically)")
    .action(async (options: JsonOption) => {
      // Opening the core migrates; this only reports it.
      const migrations = await withProgress(options, (progress) =>
        withCore(({ database }) => listMigrations(database), {
          onMigration: ({ done, total, name }) =>
            progress.show({ done, total, unit: "migrations", note: name }),
        }),
      );
      print(options, { migrations }, [
        `The database is up to date: ${migrations.length} migrations, the last ` +
          `${migrations.at(-1)?.name}.`,
      ]);
    });
}
