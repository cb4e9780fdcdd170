import { type Command, Option } from "commander";
import { findMember } from "../accounts/audited/find-member.ts";
import type { MemberKey } from "../accounts/change-members.ts";
import { ROLES, type Role } from "../accounts/model.ts";
import { hashEmail, openEmail } from "../accounts/person-email.ts";
import { listMembersWithFactors } from "../accounts/second-factor/list-members-with-factors.ts";
import { findPerson } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { type MemberChange, memberChange } from "../approvals/change-members.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { changeByApproval, changeText, findAccountOf, type Proposed } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

type ChangeOptions = JsonOption & {
  email: string;
  account?: string;
  reason: string;
  withOperator?: boolean;
};
type RoleOptions = ChangeOptions & { role: Role };

const ACCOUNT = ["--account <name or id>", "the account (default: the first account)"] as const;
const WITH_OPERATOR = [
  "--with-operator",
  "let the operator's members vote too; a vote of theirs is then needed",
] as const;
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
    .description("create a member; a mail invites a new person to choose a password")
    .requiredOption("--email <address>", "the person's e-mail address")
    .addOption(roleOption())
    .option(...ACCOUNT)
    .option("--reason <reason>", "the reason, for the audit log", "created on the command line")
    .option(...WITH_OPERATOR)
    .action(async (options: RoleOptions) => {
      const { member, proposal, has_outbox } = await withCore((core) => create(core, options));
      const { email, role } = options;
      const where = has_outbox ? "; read it with sliproad outbox" : "";
      const mail = `The service sends them a mail${where}.`;
      print(options, { member: { ...member, email, role }, proposal }, [
        changeText(proposal, `Created member ${email} (${role}).\n${mail}`),
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
  const rows = await listMembersWithFactors(core.database, account.id);
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
      .option("--reason <reason>", "the reason, for the audit log", "on the command line")
      .option(...WITH_OPERATOR);

  change("set-role", "change a member's role; takes effect within a second")
    .addOption(roleOption())
    .action(async (options: RoleOptions) => {
      const { role, email } = options;
      const { member, proposal } = await withCore((core) =>
        changeMember(core, options, { action: "set_role", role }),
      );
      print(options, { member: { ...member, email, role }, proposal }, [
        changeText(proposal, `${email} now has the role ${role}.`),
      ]);
    });

  change(
    "reset-factor",
    "remove app, passkeys and recovery codes of a member who lost them",
  ).action(async (options: ChangeOptions) => {
    const { email } = options;
    const { member, proposal } = await withCore((core) =>
      changeMember(core, options, { action: "reset_factor", is_operators: true }),
    );
    print(options, { member: { ...member, email }, proposal }, [
      changeText(proposal, `${email} signs in without a second factor.`),
    ]);
  });

  change("remove", "remove a member; their sessions and consents end immediately").action(
    async (options: ChangeOptions) => {
      const { email } = options;
      const { member, proposal } = await withCore((core) =>
        changeMember(core, options, { action: "remove" }),
      );
      print(options, { member: { ...member, email }, proposal }, [
        changeText(proposal, `${email} is no longer a member.`),
      ]);
    },
  );
}

async function changeMember(
  core: Core,
  { email, account: wanted, reason, withOperator }: ChangeOptions,
  change:
    | { action: "set_role"; role: Role }
    | { action: "remove" }
    | { action: "reset_factor"; is_operators: true },
): Promise<{ member: MemberKey; proposal: Proposed }> {
  const { database, index_key } = core;
  const account = await findAccountOf(core, wanted);
  const person = await findPerson(database, hashEmail(index_key, email));
  const member = person && { account_id: account.id, person_id: person.id };
  if (!member || !(await findMember(database, account.id, member.person_id))) {
    throw new StartupError(
      `${email} is not a member of ${account.name}; see sliproad members list.`,
    );
  }
  const input: MemberChange = { ...change, email, person_id: member.person_id };
  const is_operators = change.action === "reset_factor" || withOperator;
  return { member, proposal: await propose(core, account.id, input, reason, is_operators) };
}

async function create(core: Core, options: RoleOptions) {
  const { email, role, account: wanted, reason, withOperator } = options;
  const { database, index_key } = core;
  const account = await findAccountOf(core, wanted);
  const input: MemberChange = { action: "add", email, role };
  const proposal = await propose(core, account.id, input, reason, withOperator);
  const person = await findPerson(database, hashEmail(index_key, email));
  const member = { account_id: account.id, person_id: person?.id ?? null };
  return { member, proposal, has_outbox: core.config.smtp_url === undefined };
}

function propose(
  core: Core,
  account_id: string,
  input: MemberChange,
  reason: string,
  is_operators = false,
) {
  const change = memberChange({ ...core, mode: core.config.mode });
  return changeByApproval(core, change, { account_id, input, is_operators, reason });
}
