import { generateTypes } from "../sdk/generate-types.ts";
import type { Core } from "../src/app/open-app.ts";
import {
  type Catalogue,
  describeRequirements,
  type RequirementField,
  type RequirementRow,
} from "../src/catalogue/catalogue.ts";
import { loadFees } from "../src/catalogue/fee-table.ts";
import { secretFileName } from "../src/platform/config/secret-file-settings.ts";
import type { Setting } from "../src/platform/config/setting-kinds.ts";
import { SETTINGS } from "../src/platform/config/settings.ts";
import { ERROR_CODES, ERRORS } from "../src/platform/errors.ts";
import { commandLinePage } from "./command-line-page.ts";
import { describeSchema } from "./describe-schema.ts";
import { feesPage } from "./fees-page.ts";
import { insidersPage } from "./insiders-page.ts";
import { messagesPage } from "./messages-page.ts";
import { postingsPage } from "./postings-page.ts";
import { rolesPage } from "./roles-page.ts";
import { statesPage } from "./states-page.ts";
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
    { path: "docs/reference/fees.md", text: page("Fees", feesPage(table, catalogue, loadFees())) },
    { path: "docs/reference/messages.md", text: page("Messages", messagesPage()) },
    { path: "docs/reference/roles.md", text: page("Roles", rolesPage(table)) },
    { path: "docs/reference/insiders.md", text: page("Insiders", insidersPage(table)) },
    { path: "docs/reference/postings.md", text: page("Postings", postingsPage(table)) },
  ];
}

const SQL_NOTE =
  "-- The migrated database. Written by npm run generate; change a migration instead.";
const MARKDOWN_NOTE = "<!-- Written by npm run generate; change the table in the code instead. -->";

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

function paymentDetailsPage(catalogue: Catalogue): string {
  const individual = describeRequirements(catalogue, { beneficiary_type: "individual" });
  const business = describeRequirements(catalogue, { beneficiary_type: "business" });
  const shared = { individual: sharedFields(individual), business: sharedFields(business) };
  const sections = individual.flatMap((row, index) => [
    `## ${row.currency} ${row.rails}`,
    aboutRail(row),
    fieldTable(
      without(row.fields, shared.individual),
      without(business[index]!.fields, shared.business),
      row.one_of,
    ),
  ]);
  return page("Payment details", [
    "The fields that each currency and rail requires. `GET /payment_detail_requirements` returns the " +
      "same table as JSON. Patterns apply to the value without spaces and hyphens, and to codes in " +
      "upper case.",
    "## Every currency and rail",
    fieldTable(shared.individual, shared.business, []),
    ...sections,
  ]);
}

/** The fields that all rows have, as in the first row. */
function sharedFields(rows: readonly RequirementRow[]): RequirementField[] {
  const [first, ...others] = rows;
  return first!.fields.filter((field) =>
    others.every((row) => row.fields.some((other) => other.name === field.name)),
  );
}

/** Fields that differ from the shared ones, which have their own section. */
function without(fields: readonly RequirementField[], shared: readonly RequirementField[]) {
  // The examples of currency and rails differ by row.
  const form = ({ example: _, ...rest }: RequirementField) => JSON.stringify(rest);
  const shared_forms = new Set(shared.map(form));
  return fields.filter((field) => !shared_forms.has(form(field)));
}

function aboutRail(row: RequirementRow): string {
  const minimum =
    row.minimum_amount === null
      ? `the equivalent of ${row.minimum_usd_equivalent} usd`
      : `${row.minimum_amount} ${row.currency}`;
  const choices = row.one_of.map((set) => set.map((name) => `\`${name}\``).join(" and "));
  return [
    `Minimum amount: ${minimum}.`,
    ...(row.bank_countries
      ? [`The bank account must be in ${row.bank_countries.join(", ")}.`]
      : []),
    ...(choices.length > 0 ? [`Send ${choices.join(", or ")}.`] : []),
    ...(row.experimental ? ["Experimental: not yet tested with a bank."] : []),
  ].join(" ");
}

function fieldTable(
  individual: readonly RequirementField[],
  business: readonly RequirementField[],
  one_of: RequirementRow["one_of"],
): string {
  const names = [...new Set([...individual, ...business].map((field) => field.name))];
  const need = (fields: readonly RequirementField[], name: string) => {
    const field = fields.find((other) => other.name === name);
    if (!field) return "";
    if (field.required) return "required";
    return one_of.flat().some((other) => other === name) ? "one of" : "optional";
  };
  const rows = names.map((name) => {
    const field = [...individual, ...business].find((other) => other.name === name)!;
    const form = [
      field.pattern && `\`${field.pattern}\``,
      field.check && `checksum ${field.check}`,
    ];
    return [
      `\`${name}\``,
      need(individual, name),
      need(business, name),
      form.filter(Boolean).join(", "),
      String(field.max_length),
      field.description,
      `\`${field.example}\``,
    ];
  });
  const head = [
    "field",
    "individual",
    "business",
    "format",
    "maximum length",
    "meaning",
    "example",
  ];
  return table(head, rows);
}

function page(title: string, parts: readonly string[]): string {
  return `${[MARKDOWN_NOTE, `# ${title}`, ...parts].join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
