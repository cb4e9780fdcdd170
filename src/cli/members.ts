import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { createMember } from "../access/create-member.ts";
import { ROLES, type Role } from "../access/model.ts";
import { hashPassword } from "../access/passwords.ts";
import { hashEmail } from "../access/person-email.ts";
import { findAccount, findOperator, findPerson } from "../access/store.ts";
import type { Core } from "../app.ts";
import { Refusal } from "../platform/errors.ts";
import { StartupError } from "../platform/startup-error.ts";
import { type JsonOption, print, withCore } from "./context.ts";

type CreateOptions = { email: string; role: Role; account?: string; reason: string };

const PASSWORD_BYTES = 15;

export function addMemberCommands(program: Command): void {
  const members = program.command("members").description("the people who may sign in");

  members
    .command("create")
    .description("let a person sign in; a new person's password is shown only once")
    .requiredOption("--email <address>", "the person's e-mail address")
    .addOption(
      new Option("--role <role>", "what the person may do").choices(ROLES).makeOptionMandatory(),
    )
    .option("--account <name or id>", "where (default: the first account)")
    .option("--reason <reason>", "why, for the audit log", "made on the command line")
    .option("--json", "print one JSON document")
    .action(async (options: JsonOption & CreateOptions) => {
      const { member, password } = await withCore((core) => create(core, options));
      print(options, { member: { ...member, email: options.email, password } }, [
        `Made ${options.email} a member (${member.role}).`,
        password === null
          ? "The person is known already and keeps their password."
          : `Password: ${password}\nKeep it: it cannot be shown again.`,
      ]);
    });
}

async function create(
  { database, index_key, clock }: Core,
  { email, role, account: name_or_id, reason }: CreateOptions,
) {
  const account = name_or_id
    ? await findAccount(database, name_or_id)
    : await findOperator(database);
  if (!account) {
    throw new StartupError(`There is no account ${name_or_id}; see sliproad accounts list.`);
  }
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const password_hash = await hashPassword(password);
  const input = { account_id: account.id, email, password_hash, role, reason };
  try {
    return await database.transaction(async (tx) => {
      const known = await findPerson(tx, hashEmail(index_key, email));
      const actor = "command line" as const;
      const member = await createMember(tx, index_key, { ...input, actor }, clock.now());
      return { member, password: known ? null : password };
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartupError(`${error.problems[0]?.message ?? error.message}`);
  }
}
