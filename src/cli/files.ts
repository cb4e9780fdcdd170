import { type Command, Option } from "commander";
import { type CopiedFiles, copyFiles } from "../backup/copy-files.ts";
import { type FilePlace, openFiles, placeOfFiles } from "../partners/files/open-files.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";
import { withProgress } from "./progress.ts";

type CopyOptions = JsonOption & { to: FilePlace };

export function addFileCommands(program: Command): void {
  const files = program.command("files").description("where uploaded files and exports are stored");
  files
    .command("copy")
    .description("copy all files between the data directory and S3; may be repeated")
    .addOption(
      new Option("--to <place>", "where to copy them; from the other")
        .choices(["s3", "directory"])
        .makeOptionMandatory(),
    )
    .action(async (options: CopyOptions) => {
      const copied = await withProgress(options, (progress) =>
        withCore(async ({ config, database_url }) => {
          if (placeOfFiles(config) !== "s3") {
            throw new StartupError("Set SLIPROAD_S3_BUCKET and the other settings of S3 first.");
          }
          const from = await openFiles(config, options.to === "s3" ? "directory" : "s3");
          const to = await openFiles(config, options.to);
          let done = 0;
          const onFile = () => {
            progress.show({ done, total: 0, unit: "files" });
            done += 1;
          };
          return copyFiles({ database_url, from, to, onFile });
        }),
      );
      const { copied: number, present, missing } = copied;
      print(
        options,
        { ok: missing.length === 0, copied: number, present, missing },
        describe(copied),
      );
      if (missing.length > 0) process.exitCode = 1;
    });
}

const NAMED_MAX = 10;

function describe({ copied, present, missing }: CopiedFiles): string[] {
  const lines = missing
    .slice(0, NAMED_MAX)
    .map(
      ({ account_id, record_id, version }) =>
        `File ${version} of record ${record_id} of account ${account_id} is missing.`,
    );
  const others = missing.length - NAMED_MAX;
  return [
    `Copied ${copied} files; ${present} were there already.`,
    ...lines,
    ...(others > 0 ? [`And ${others} more are missing.`] : []),
  ];
}
