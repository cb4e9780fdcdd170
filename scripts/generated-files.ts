import { generateTypes } from "../sdk/generate-types.ts";
import type { Core } from "../src/app/open-app.ts";
import { loadFees } from "../src/catalogue/fee-table.ts";
import { feesPage } from "../src/docs/reference/fees-page.ts";
import { page, table } from "../src/docs/reference/page-text.ts";
import { paymentDetailsPage } from "../src/docs/reference/payment-details-page.ts";
import { secretFileName } from "../src/platform/config/secret-file-settings.ts";
import type { Setting } from "../src/platform/config/setting-kinds.ts";
import { SETTINGS } from "../src/platform/config/settings.ts";
import { ERROR_CODES, ERRORS } from "../src/platform/errors.ts";
import { commandLinePage } from "./command-line-page.ts";
import { describeSchema } from "./describe-schema.ts";
import { insidersPage } from "./insiders-page.ts";
import { messagesPage } from "./messages-page.ts";
import { postingsPage } from "./postings-page.ts";
import { rolesPage } from "./roles-page.ts";
import { statesPage } from "./states-page.ts";
import { tamperingPage } from "./tampering-page.ts";
import { webhooksPage } from "./webhooks-page.ts";

export type GeneratedFile = { path: string; text: string };

/** Every generated file of the repository; a test compares them. */
export async function generatedFiles(
  { database, catalogue }: Pick<Core, "database" | "catalogue">,
  openapi: object,
): Promise<GeneratedFile[]> {
  return [
    { path: "openapi.json", text: `${JSON.stringify(openapi, null, 1)}\n` },
    { path: "sdk/src/openapi.ts", text: await generateTypes(openapi) },
    { path: "schema.sql", text: `${SQL_NOTE}\n\n${await describeSchema(database)}\n` },
    { path: "docs/reference/errors.md", text: errorsPage() },
    { path: "docs/reference/settings.md", text: settingsPage() },
    { path: "docs/reference/payment-details.md", text: paymentDetailsPage(catalogue) },
    { path: "docs/reference/webhooks.md", text: page("Webhooks", webhooksPage(table)) },
    {
      path: "docs/reference/command-line.md",
      text: page("Command line", commandLinePage(table)),
    },
    { path: "docs/reference/states.md", text: page("States", statesPage(table)) },
    { path: "docs/reference/fees.md", text: feesPage(catalogue, loadFees()) },
    { path: "docs/reference/messages.md", text: page("Messages", messagesPage()) },
    { path: "docs/reference/roles.md", text: page("Roles", rolesPage(table)) },
    { path: "docs/reference/insiders.md", text: page("Insiders", insidersPage(table)) },
    { path: "docs/reference/tampering.md", text: page("Changes by SQL", tamperingPage(table)) },
    { path: "docs/reference/postings.md", text: page("Postings", postingsPage(table)) },
  ];
}

const SQL_NOTE =
  "-- The migrated database. Written by npm run generate; change a migration instead.";

function errorsPage(): string {
  const rows = ERROR_CODES.map((code) => [`\`${code}\``, String(ERRORS[code][0]), ERRORS[code][1]]);
  return page("Errors", [
    "Every error answer has the same body: `error_code`, `message`, `status`, `request_id`, " +
      "`doc_url` and, if fields are invalid, `errors` with a `field`, `code` and `message` each. If " +
      "a request has several problems, `error_code` is the one that is listed first below. " +
      "[Messages](messages.md) lists all messages.",
    table(["error_code", "status", "what to do"], rows),
  ]);
}

function settingsPage(): string {
  const settings: Setting<unknown>[] = Object.values(SETTINGS);
  const rows = settings.map(({ name, default_text, meaning, is_secret }) => {
    const names = is_secret ? `\`${name}\` or \`${secretFileName(name)}\`` : `\`${name}\``;
    return [names, default_text ? `\`${default_text}\`` : "", meaning];
  });
  return page("Settings", [
    "Sliproad reads its settings from environment variables when a command starts. If a setting is " +
      "invalid, the command stops and names the variable. To read a secret from a file, set the " +
      "variable that ends in `_FILE` to the file's path; one newline at the end of the file is " +
      "removed. Set one of the two variables, not both.",
    table(["setting", "default", "meaning"], rows),
  ]);
}
