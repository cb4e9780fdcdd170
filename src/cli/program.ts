import { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { addAccountCommands } from "./accounts.ts";
import { addAppCommands } from "./apps.ts";
import { addCompletionCommand, listCommands } from "./completion.ts";
import { addDemoCommand } from "./demo.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addEventCommands } from "./events.ts";
import { LESSONS, lessonText, PROGRAM_HELP } from "./examples.ts";
import { addKeyCommands } from "./keys.ts";
import { addListenCommand } from "./listen.ts";
import { addMemberCommands } from "./members.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addRateCommands } from "./rates.ts";
import { addStartCommands } from "./start.ts";
import { addTriggerCommand } from "./trigger.ts";
import { addUserCommands } from "./users.ts";
import { addVerifyCommand } from "./verify.ts";

/** All commands, as a tree that can also be looked at without running any. */
export function createProgram(): Command {
  const program = new Command("sliproad")
    .description(manifest.description)
    .version(manifest.version)
    .configureOutput({
      // Like every other complaint: one line that begins with the program's name.
      outputError: (text, write) => {
        const [complaint = ""] = /^error: .*$/s.exec(text.trim()) ?? [text.trim()];
        const line = complaint.replace(/^error: /, "sliproad: ").replaceAll("\n", " ");
        write(`${line.replace(/\.$/, "")}; see --help.\n`);
      },
    });
  addStartCommands(program);
  addDemoCommand(program);
  addMigrateCommand(program);
  addAccountCommands(program);
  addKeyCommands(program);
  addMemberCommands(program);
  addAppCommands(program);
  addEventCommands(program);
  addListenCommand(program);
  addTriggerCommand(program);
  addRateCommands(program);
  addUserCommands(program);
  addVerifyCommand(program);
  addDoctorCommand(program);
  addCompletionCommand(program);
  program.addHelpText("after", PROGRAM_HELP);
  for (const { path, command } of listCommands(program)) {
    const lesson = LESSONS[path];
    if (lesson) command.addHelpText("after", lessonText(lesson));
  }
  return program;
}
