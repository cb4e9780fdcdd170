import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { lowerAscii } from "../catalogue/text.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Accepted, Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { emailTaken } from "./create-users.ts";
import { checkUserChange, isIdentityEditable, type User } from "./model.ts";
import { renderUser } from "./render.ts";
import {
  emailKey,
  findTakenEmails,
  hashUserEmail,
  lockUsers,
  toUsers,
  updateIdentities,
  usersOf,
} from "./store.ts";
import { USER_CHANGED_TASK } from "./task-kinds.ts";

type UserChange = { user_id: string; change: unknown; problems: readonly Problem[] };

type Loaded = { users: AccountMap<User>; keys: SubjectKeys; taken: Map<string, string> };
type Updated = { user: User; email_index: Buffer; key: Buffer };

export function updateUsers(
  catalogue: Catalogue,
  keyring: Keyring,
  index_key: Buffer,
): UseCase<UserChange, Loaded, Updated> {
  const decideOne = (loaded: Loaded, command: Command<UserChange>, now: Date): Verdict<Updated> => {
    const { account_id, input } = command;
    const user = loaded.users.get(account_id, input.user_id);
    if (!user) return { refusal: Refusal.of([...input.problems, notFound("user_id")]) };
    const today = now.toISOString().slice(0, 10);
    const checked = checkUserChange(catalogue, user, input.change, today, input.problems);
    const problems = [...input.problems, ...checked.problems];
    const email_index = hashUserEmail(index_key, account_id, checked.fields.identity.email ?? "");
    const owner = loaded.taken.get(emailKey(account_id, email_index));
    if (owner !== undefined && owner !== user.id) problems.push(emailTaken());
    if (!isIdentityEditable(user) && changesIdentity(input.change))
      problems.push(approvedAlready());
    if (problems.length > 0) return { refusal: Refusal.of(problems) };
    // Never decreases: the timestamps of the user's events are derived from it.
    const updated_at = new Date(Math.max(now.getTime(), user.updated_at.getTime()));
    const changed = { ...user, ...checked.fields, updated_at };
    // A later command of the same set must see this change.
    loaded.users.set(account_id, user.id, changed);
    loaded.taken.set(emailKey(account_id, email_index), user.id);
    const key = loaded.keys.get(account_id, user.id)!;
    return { output: { user: changed, email_index, key }, subject: { subject_id: user.id, key } };
  };
  return {
    name: "update-users",
    rows: () => 1,
    load: async (tx, commands) => {
      const keys_of = usersOf(commands);
      const [rows, keys, taken] = await Promise.all([
        lockUsers(tx, keys_of),
        keyring.openUserKeys(tx, keys_of),
        findTakenEmails(tx, emailsOf(index_key, commands)),
      ]);
      return { users: AccountMap.of(toUsers(rows, keys), (user) => user), keys, taken };
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      // Of several changes of one user only the last is written: it contains the earlier ones.
      const last = new Map(accepted.map(({ output }) => [output.user.id, output]));
      updateIdentities(tx, [...last.values()]);
      const reviewed = [...last.values()].filter(({ user }) => isReviewed(user));
      const changed = reviewed.map(({ user }) => user);
      enqueueTasks(tx, USER_CHANGED_TASK, changed, now);
      recordActs(tx, accepted, now);
    },
    render: ({ user }) => renderUser(user),
  };
}

/** Who changed what: no event tells of it. Names of fields only: an entry outlives the person. */
function recordActs(
  tx: Transaction,
  accepted: readonly Accepted<UserChange, Updated>[],
  now: Date,
): void {
  const acts = accepted.map(({ command, output: { user } }) => {
    const { account_id, id } = user;
    const act = { account_id, actor: actorOf(command), record: `user:${id}`, reason: "" };
    const fields = Object.keys(command.input.change ?? {}).sort();
    return { ...act, action: "user.update" as const, detail: { fields: fields.join(" ") } };
  });
  recordAudits(tx, acts, now);
}

function emailsOf(index_key: Buffer, commands: readonly Command<UserChange>[]) {
  return commands.flatMap(({ account_id, input }) => {
    const email = (input.change as { email?: unknown } | undefined)?.email;
    if (typeof email !== "string") return [];
    const normalised = lowerAscii(email.trim());
    return [{ account_id, email_index: hashUserEmail(index_key, account_id, normalised) }];
  });
}

/** Whether reviewers may have proposed a decision on the user: not before the first submission. */
function isReviewed({ kyc }: User): boolean {
  return !["not_started", "initiated"].includes(kyc.general.status);
}

function changesIdentity(change: unknown): boolean {
  return Object.keys(change ?? {}).some((name) => name !== "metadata");
}

function approvedAlready(): Problem {
  const message = "The identity of an approved user cannot be changed.";
  return { field: "user", code: "invalid_transition", message };
}
