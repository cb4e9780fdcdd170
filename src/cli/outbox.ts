import type { Command } from "commander";
import type { Core } from "../app/open-core.ts";
import { type OutboxMail, readOutbox } from "../partners/mail/sandbox.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { withCore } from "./context.ts";
import { type JsonOption, print } from "./output.ts";

export function addOutboxCommand(program: Command): void {
  program
    .command("outbox")
    .description("show the sandbox's mail, newest first: invitations, links, notices")
    .option("--to <address>", "only mail to this address")
    .action(async (options: JsonOption & { to?: string }) => {
      const all = await withCore(listMails);
      const mails = all.filter(({ to }) => !options.to || to === options.to.trim().toLowerCase());
      const lines = mails.map(
        ({ sent_at, to, subject, text }) =>
          `${sent_at.toISOString()}  ${to}  ${subject}\n\n${text.trim().replace(/^/gm, "  ")}\n`,
      );
      print(options, { mails }, lines.length > 0 ? lines : ["The outbox is empty."]);
    });
}

async function listMails({ config, database, index_key, clock }: Core): Promise<OutboxMail[]> {
  if (config.smtp_url !== undefined || config.mode === "live") {
    throw new StartupError("There is no outbox: mail is sent by SMTP (SLIPROAD_SMTP_URL).");
  }
  return readOutbox(database, index_key, realTime(clock));
}
