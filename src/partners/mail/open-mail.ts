import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config/config.ts";
import type { Database } from "../../platform/db/database.ts";
import { StartupError } from "../../platform/startup-error.ts";
import type { MailPort } from "./port.ts";
import { createSandboxMail } from "./sandbox.ts";
import { createSmtpMail } from "./smtp.ts";

type MailSettings = Pick<Config, "mode" | "smtp_url" | "smtp_from">;

/** Mail over SMTP where it is set up; the sandbox can do without. */
export function openMail(deps: {
  config: MailSettings;
  database: Database;
  index_key: Buffer;
  clock: Clock;
}): MailPort {
  checkMail(deps.config);
  const { smtp_url: url, smtp_from: from } = deps.config;
  if (url !== undefined && from !== undefined) return createSmtpMail({ url, from });
  return createSandboxMail(deps);
}

/** Throws a sentence if the settings of mail are not complete. */
export function checkMail({ mode, smtp_url: url, smtp_from: from }: MailSettings): void {
  if ((url === undefined) !== (from === undefined)) {
    throw new StartupError("SLIPROAD_SMTP_URL and SLIPROAD_SMTP_FROM must be set together.");
  }
  if (mode === "sandbox" || url !== undefined) return;
  throw new StartupError(
    "SLIPROAD_SMTP_URL and SLIPROAD_SMTP_FROM must be set in live mode: invitations and links to " +
      "reset a password are sent by mail.",
  );
}
