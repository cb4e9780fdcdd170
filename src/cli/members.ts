import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { type MemberKey, removeMember, setMemberRole } from "../accounts/change-members.ts";
import { createMember } from "../accounts/create-member.ts";
import { ROLES, type Role } from "../accounts/model.ts";
import { hashEmail, openEmail } from "../accounts/person-email.ts";
import { hashPassword } from "../accounts/sign-in/passwords.ts";
import { findMember, findPerson, listMembers } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { NEW_MEMBER_WAIT_MS } from "../approvals/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { byOperator, findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type ChangeOptions = JsonOption & { email: string; account?: string; reason: string };
type RoleOptions = ChangeOptions & { role: Role };

const PASSWORD_BYTES = 15;
const ACCOUNT = ["--account <name or id>", "the account (default: the first account)"] as const;
const roleOption = () =>
  new Option("--role <role>", "the person's role").choices(ROLES).makeOptionMandatory();

export function addMemberCommands(program: Command): void {
  const members = program.command("members").description("manage the people who can sign in");
  addCreate(members);
  addList(members);
  addChanges(members);
}

function addCreate(members: Command): void {
  members
    .command("create")
    .description("create a member; a new person's password is shown only once")
    .requiredOption("--email <address>", "the person's e-mail address")
    .addOption(roleOption())
    .option(...ACCOUNT)
    .option("--reason <reason>", "the reason, for the audit log", "created on the command line")
    .action(async (options: RoleOptions) => {
      const { member, password } = await withCore((core) => create(core, options));
      print(options, { member: { ...member, email: options.email, password } }, [
        `Created member ${options.email} (${member.role}).`,
        password === null
          ? "The person already exists and keeps their password."
          : `Password: ${password}\nStore it now: it cannot be shown again.`,
      ]);
    });
}

function addList(members: Command): void {
  members
    .command("list")
    .description("list the members of an account")
    .option(...ACCOUNT)
    .action(async (options: JsonOption & { account?: string }) => {
      const found = await withCore((core) => list(core, options.account));
      print(
        options,
        { members: found },
        found.map(({ email, role, person_id }) => `${person_id}  ${role}  ${email}`),
      );
    });
}

async function list(core: Core, wanted: string | undefined) {
  const account = await findAccountOf(core, wanted);
  const rows = await listMembers(core.database, account.id);
  return rows.map(({ email, ...row }) => ({
    ...row,
    email: openEmail(core.index_key, row.person_id, email),
  }));
}

function addChanges(members: Command): void {
  const change = (name: string, description: string) =>
    members
      .command(name)
      .description(description)
      .requiredOption("--email <address>", "the person's e-mail address")
      .option(...ACCOUNT)
      .option("--reason <reason>", "the reason, for the audit log", "on the command line");

  change("set-role", "change a member's role; takes effect within a second")
    .addOption(roleOption())
    .action(async (options: RoleOptions) => {
      const { role, email } = options;
      const member = await withCore((core) =>
        changeMember(core, options, (tx, member, by) => setMemberRole(tx, member, role, ...by)),
      );
      print(options, { member: { ...member, email, role } }, [
        `${email} now has the role ${role}.`,
      ]);
    });

  change("remove", "remove a member; their sessions and consents end immediately").action(
    async (options: ChangeOptions) => {
      const { email } = options;
      const member = await withCore((core) =>
        changeMember(core, options, (tx, member, by) => removeMember(tx, member, ...by)),
      );
      print(options, { member: { ...member, email } }, [`${email} is no longer a member.`]);
    },
  );
}

async function changeMember(
  core: Core,
  { email, account: wanted, reason }: ChangeOptions,
  change: (
    tx: Transaction,
    member: MemberKey,
    by: readonly [ReturnType<typeof byOperator>, Date],
  ) => Promise<void>,
): Promise<MemberKey> {
  const { database, index_key, clock } = core;
  const account = await findAccountOf(core, wanted);
  const person = await findPerson(database, hashEmail(index_key, email));
  const member = person && { account_id: account.id, person_id: person.id };
  if (!member || !(await findMember(database, account.id, member.person_id))) {
    throw new StartupError(
      `${email} is not a member of ${account.name}; see sliproad members list.`,
    );
  }
  const by = [byOperator(reason), clock.now()] as const;
  await inWords(database.transaction((tx) => change(tx, member, by)));
  return member;
}

/** A refusal in the words of the command line. */
async function inWords<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new StartupError(`${error.problems[0]?.message ?? error.message}`);
  }
}

async function create(core: Core, { email, role, account: wanted, reason }: RoleOptions) {
  const { database, index_key, clock } = core;
  const account = await findAccountOf(core, wanted);
  const password = randomBytes(PASSWORD_BYTES).toString("base64url");
  const password_hash = await hashPassword(password);
  const vote_wait_ms = core.config.mode === "live" ? NEW_MEMBER_WAIT_MS : 0;
  const by = byOperator(reason);
  const input = { account_id: account.id, email, password_hash, role, vote_wait_ms, ...by };
  return inWords(
    database.transaction(async (tx) => {
      const known = await findPerson(tx, hashEmail(index_key, email));
      const member = await createMember(tx, index_key, input, clock.now());
      return { member, password: known ? null : password };
    }),
  );
}
