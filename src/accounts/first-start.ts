import { randomBytes } from "node:crypto";
import type { Mode } from "../platform/config/config.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { StartupError } from "../platform/startup-error.ts";
import { createAccount } from "./create-account.ts";
import { createApiKey } from "./create-api-key.ts";
import { createMember } from "./create-member.ts";
import { type Account, isKeyOfMode, makeApiKey } from "./model.ts";
import { hashPassword } from "./sign-in/passwords.ts";
import { findOperator, lockInstallation } from "./store.ts";

type FirstStartInput = {
  mode: Mode;
  api_key: string | undefined;
  admin_email: string | undefined;
  admin_password: string | undefined;
};

/** What was created, to be shown once; `created` is null on every later start. */
export type FirstStart = {
  operator: Account;
  created: {
    api_key: string;
    admin_email: string;
    admin_password: string;
    /** True for values from the settings: the operator knows them, so they are never shown. */
    given: { api_key: boolean; admin_password: boolean };
  } | null;
};

const EMAIL_DEFAULT = "admin@sliproad.test";
const BY = { actor: "first start", reason: "first start of the installation" } as const;

/** Creates the first account, key and member of a new installation, all or none of them. */
export async function firstStart(
  database: Database,
  keyring: Keyring,
  index_key: Buffer,
  input: FirstStartInput,
  now: Date,
): Promise<FirstStart> {
  const existing = await findOperator(database);
  if (existing) return { operator: existing, created: null };
  if (input.api_key !== undefined && !isKeyOfMode(input.api_key, input.mode)) {
    throw new StartupError(`SLIPROAD_API_KEY is not a key for ${input.mode} mode.`);
  }
  const admin_email = input.admin_email ?? EMAIL_DEFAULT;
  const admin_password = input.admin_password ?? randomBytes(15).toString("base64url");
  const password_hash = await hashPassword(admin_password);
  return database.transaction(async (tx) => {
    // When several processes start at once, one creates the account and the others find it.
    await lockInstallation(tx);
    const made_meanwhile = await findOperator(tx);
    if (made_meanwhile) return { operator: made_meanwhile, created: null };
    const name = input.mode === "sandbox" ? "demo" : "operator";
    const webhooks_enabled = input.mode === "sandbox";
    const account = { name, is_operator: true, webhooks_enabled, ...BY };
    const operator = await createAccount(tx, keyring, account, now);
    const account_id = operator.id;
    const api_key = input.api_key ?? makeApiKey(index_key, input.mode, account_id);
    createApiKey(tx, index_key, { account_id, name: "first", key: api_key, ...BY }, now);
    const email = admin_email;
    await createMember(
      tx,
      index_key,
      { account_id, email, password_hash, role: "admin", ...BY },
      now,
    );
    const given = {
      api_key: input.api_key !== undefined,
      admin_password: input.admin_password !== undefined,
    };
    return { operator, created: { api_key, admin_email, admin_password, given } };
  });
}
