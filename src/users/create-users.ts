import { randomBytes } from "node:crypto";
import type { Command, UseCase } from "../platform/commands/use-case.ts";
import { KEY_BYTES } from "../platform/encryption/cipher.ts";
import {
  type AccountKeys,
  createSubjectKeys,
  type Keyring,
} from "../platform/encryption/keyring.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { KYC_NOT_STARTED, type User, type UserFields } from "./model.ts";
import { renderUser } from "./render.ts";
import { emailKey, findTakenEmails, hashUserEmail, insertUsers } from "./store.ts";

type NewUser = { fields: UserFields; problems: readonly Problem[] };

type Loaded = { account_keys: AccountKeys; taken: Map<string, string> };
type Created = { user: User; email_index: Buffer; key: Buffer };

export function createUsers(
  keyring: Keyring,
  index_key: Buffer,
): UseCase<NewUser, Loaded, Created> {
  const emailIndex = ({ account_id, input }: Command<NewUser>) =>
    hashUserEmail(index_key, account_id, input.fields.identity.email ?? "");
  return {
    name: "create-users",
    rows: () => 2,
    load: async (tx, commands) => {
      const emails = commands.map((command) => ({
        account_id: command.account_id,
        email_index: emailIndex(command),
      }));
      const [account_keys, taken] = await Promise.all([
        keyring.openAccounts(tx, commands),
        findTakenEmails(tx, emails),
      ]);
      return { account_keys, taken };
    },
    decide: ({ taken }, command, now) => {
      const email_index = emailIndex(command);
      const name = emailKey(command.account_id, email_index);
      const problems = [...command.input.problems];
      if (taken.has(name)) problems.push(emailTaken());
      if (problems.length > 0) return { refusal: Refusal.of(problems) };
      const user = newUser(command, now);
      taken.set(name, user.id);
      const key = randomBytes(KEY_BYTES);
      return { output: { user, email_index, key }, subject: { subject_id: user.id, key } };
    },
    record: (tx, { account_keys }, accepted, now) => {
      const created = accepted.map((entry) => entry.output);
      const subjects = created.map(({ user, key }) => ({
        account_id: user.account_id,
        subject_id: user.id,
        key,
      }));
      createSubjectKeys(tx, account_keys, subjects, now);
      insertUsers(tx, created);
    },
    render: ({ user }) => renderUser(user),
  };
}

export function emailTaken(): Problem {
  const message = "Another user of this account has this e-mail address; use that user.";
  return { field: "user.email", code: "record_not_unique", message };
}

function newUser({ account_id, input }: Command<NewUser>, now: Date): User {
  return {
    account_id,
    id: newId(now),
    ...input.fields,
    kyc: KYC_NOT_STARTED,
    sequence: 0,
    created_at: now,
    updated_at: now,
    deactivated_at: null,
  };
}
