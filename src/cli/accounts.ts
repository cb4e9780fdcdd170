import { type Command, Option } from "commander";
import { recordAudit } from "../accounts/audit.ts";
import { createAccount } from "../accounts/create-account.ts";
import { freezeAccount } from "../accounts/freeze-account.ts";
import type { Account } from "../accounts/model.ts";
import { isEmail } from "../accounts/person-email.ts";
import { setBillingEmail } from "../accounts/set-billing-email.ts";
import { findAccount, listAccounts } from "../accounts/store.ts";
import type { AccountChange } from "../accounts/update-account.ts";
import type { Core } from "../app/open-core.ts";
import { accountChange } from "../approvals/change-accounts.ts";
import { updateAccountEnabled } from "../apps/store.ts";
import { violatedKey } from "../platform/db/outages.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import {
  byOperator,
  changeByApproval,
  changeText,
  findAccountOf,
  type Proposed,
  readUsd,
} from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;

export function addAccountCommands(program: Command): void {
  const accounts = program.command("accounts").description("manage accounts (organisations)");

  accounts
    .command("create")
    .description("create an account")
    .requiredOption("--name <name>", "the account's name, unique in the installation")
    .option("--reason <reason>", "the reason, for the audit log", "created on the command line")
    .action(async (options: JsonOption & { name: string; reason: string }) => {
      const name = options.name.trim();
      if (!NAME.test(name)) {
        throw new StartupError(
          "--name must be 1 to 100 letters, digits, spaces and the characters . _ -.",
        );
      }
      const account = await withCore((core) => create(core, name, options.reason));
      print(options, { account }, [
        `Created account ${account.name} (${account.id}).`,
        `Next: sliproad keys create --account ${account.id}`,
      ]);
    });

  accounts
    .command("list")
    .description("list the accounts")
    .action(async (options: JsonOption) => {
      const list = await withCore(({ database }) => listAccounts(database));
      print(
        options,
        { accounts: list },
        list.map(
          ({ id, name, is_operator }) => `${id}  ${name}${is_operator ? "  (operator)" : ""}`,
        ),
      );
    });
  addSettingCommands(accounts);
}

/** The settings of an existing account that can be changed. */
function addSettingCommands(accounts: Command): void {
  accounts
    .command("set-billing-email")
    .description("set an account's billing e-mail; invoices sent to it are shared with the account")
    .requiredOption("--account <account>", "the account's name or id")
    .requiredOption("--email <email>", "an e-mail address of the account")
    .option("--reason <reason>", "the reason, for the audit log", "set on the command line")
    .action(async (options: JsonOption & EmailOptions) => {
      const email = options.email.trim();
      if (!isEmail(email)) throw new StartupError("--email must be an e-mail address.");
      const account = await withCore((core) => setEmail(core, { ...options, email }));
      const billing_email = { account_id: account.id, email, verified: true };
      print(options, { billing_email }, [`Invoices to ${email} are shared with ${account.name}.`]);
    });

  accounts
    .command("set")
    .description("change who reviews for an account, and above which amount two members approve")
    .requiredOption("--account <name or id>", "the account")
    .addOption(
      new Option(
        "--kyc-two-person-approval <on|off>",
        "whether two members must confirm each decision",
      ).choices(["on", "off"]),
    )
    .addOption(
      new Option(
        "--kyc-review <who>",
        "who reviews: the account and the operator, or the operator only",
      ).choices(["account", "operator"]),
    )
    .addOption(
      new Option(
        "--document-review <who>",
        "who reviews documents: the account and the operator, or the operator only",
      ).choices(["account", "operator"]),
    )
    .option(
      "--approval-above <usd>",
      "the amount in usd above which two members approve; default: the installation's",
    )
    .option("--reason <reason>", "the reason, for the audit log", "set on the command line")
    .action(async (options: SetOptions) => {
      const { account, proposal } = await withCore((core) => change(core, options));
      const members = account.kyc_two_person_approval ? "two members" : "one member";
      const who = account.kyc_review_by_account ? "the account and the operator" : "the operator";
      const done = `Users of ${account.name} are reviewed by ${who}; ${members} must decide.`;
      const document = proposal ? { account, proposal } : { account };
      print(options, document, [changeText(proposal, done)]);
    });

  addFreezeCommands(accounts);

  accounts
    .command("enable-webhooks")
    .description("enable webhooks for an account's applications")
    .argument("<account>", "the account's name or id")
    .option("--reason <reason>", "the reason, for the audit log", "enabled on the command line")
    .action(async (name: string, options: JsonOption & { reason: string }) => {
      const account = await withCore((core) => enableWebhooks(core, name, options.reason));
      print(options, { account }, [`Webhooks are enabled for ${account.name}.`]);
    });
}

type EmailOptions = { account: string; email: string; reason: string };
function addFreezeCommands(accounts: Command): void {
  const commands = [
    ["freeze", "stop everything that leaves an account; deposits are still credited"],
    ["unfreeze", "let an account pay again"],
  ] as const;
  for (const [name, description] of commands) {
    accounts
      .command(name)
      .description(description)
      .requiredOption("--account <name or id>", "the account")
      .requiredOption("--reason <reason>", "the reason, for the audit log")
      .action(async (options: JsonOption & { account: string; reason: string }) => {
        const account = await withCore((core) => freeze(core, options, name === "freeze"));
        const { id } = account;
        print(options, { account: { id, name: account.name, frozen: name === "freeze" } }, [
          name === "freeze" ? `Froze ${account.name}.` : `${account.name} can pay again.`,
        ]);
      });
  }
}

async function freeze(
  core: Core,
  { account: wanted, reason }: { account: string; reason: string },
  is_frozen: boolean,
): Promise<Account> {
  const account = await findAccountOf(core, wanted);
  const by = { operator_id: core.first_start.operator.id, ...byOperator(reason) };
  await core.database.transaction(async (tx) =>
    freezeAccount(tx, account.id, is_frozen, by, core.clock.now()),
  );
  return account;
}

type SetOptions = JsonOption & {
  account: string;
  kycTwoPersonApproval?: "on" | "off";
  kycReview?: "account" | "operator";
  documentReview?: "account" | "operator";
  approvalAbove?: string;
  reason: string;
};

async function change(
  core: Core,
  options: SetOptions,
): Promise<{ account: Account; proposal: Proposed }> {
  const { kycTwoPersonApproval: two_person, kycReview: review, reason } = options;
  const { documentReview: documents, approvalAbove: above } = options;
  const input: AccountChange = {
    ...(two_person === undefined ? {} : { kyc_two_person_approval: two_person === "on" }),
    ...(review === undefined ? {} : { kyc_review_by_account: review === "account" }),
    ...(documents === undefined ? {} : { document_review_by_account: documents === "account" }),
    ...(above === undefined ? {} : { approval_above_usd: readAbove(above) }),
  };
  if (Object.keys(input).length === 0) {
    throw new StartupError(
      "Set at least one of --kyc-two-person-approval on|off, --kyc-review account|operator, " +
        "--document-review account|operator, --approval-above <usd>.",
    );
  }
  const { id: account_id } = await findAccountOf(core, options.account);
  const asked = { account_id, input, is_operators: true, reason };
  const proposal = await changeByApproval(core, accountChange, asked);
  return { account: await findAccountOf(core, account_id), proposal };
}

function readAbove(text: string): bigint | null {
  return text === "default" ? null : readUsd("--approval-above", text);
}

async function enableWebhooks(core: Core, name: string, reason: string): Promise<Account> {
  const account = await findAccountOf(core, name);
  if (account.webhooks_enabled_at) return account;
  const now = core.clock.now();
  const account_id = account.id;
  await core.database.transaction(async (tx) => {
    updateAccountEnabled(tx, account_id, now);
    const action = "account.enable_webhooks";
    const record = `account:${account_id}`;
    recordAudit(tx, { account_id, action, record, ...byOperator(reason) }, now);
  });
  return { ...account, webhooks_enabled_at: now };
}

/** An e-mail address belongs to one account; the message names it. */
async function setEmail(core: Core, { account: wanted, email, reason }: EmailOptions) {
  const account = await findAccountOf(core, wanted);
  const input = { account_id: account.id, email, ...byOperator(reason) };
  try {
    await core.database.transaction((tx) => setBillingEmail(tx, core, input, core.clock.now()));
    return account;
  } catch (error) {
    if (violatedKey(error) !== "billing_emails_index") throw error;
    throw new StartupError("Another account has this billing e-mail; use a different one.");
  }
}

async function create(core: Core, name: string, reason: string): Promise<Account> {
  const { database, keyring, clock } = core;
  const taken = new StartupError(`An account named ${name} already exists; use another name.`);
  if (await findAccount(database, name)) throw taken;
  const input = { name, is_operator: false, ...byOperator(reason) };
  try {
    return await database.transaction((tx) => createAccount(tx, keyring, input, clock.now()));
  } catch (error) {
    throw violatedKey(error) === "accounts_name" ? taken : error;
  }
}
