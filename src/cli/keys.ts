import type { Command } from "commander";
import { listApiKeys } from "../accounts/api-key-store.ts";
import { recordAudit } from "../accounts/audit.ts";
import { createApiKey } from "../accounts/create-api-key.ts";
import { makeApiKey } from "../accounts/model.ts";
import { hashEmail } from "../accounts/person-email.ts";
import { revokeApiKey } from "../accounts/revoke-api-key.ts";
import { findMember, findPerson } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import type { Session } from "../platform/db/database.ts";
import { type Rotation, rotateEncryption } from "../platform/encryption/rotate-encryption.ts";
import { isId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import { withCore } from "./context.ts";
import { byOperator, findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

type ReasonOption = JsonOption & { reason: string };
type CreateOptions = ReasonOption & { account?: string; name: string; creator?: string };

export function addKeyCommands(program: Command): void {
  const keys = program.command("keys").description("manage API keys and the encryption master key");

  keys
    .command("create")
    .description("create an API key; it is shown only once")
    .option("--account <name or id>", "whose key it is (default: the first account)")
    .option("--name <name>", "a name that says what the key is for", "created on the command line")
    .option(
      "--creator <address>",
      "e-mail of the member it is for: counts as the proposer of what the key requests",
    )
    .option("--reason <reason>", "the reason, for the audit log", "created on the command line")
    .action(async (options: CreateOptions) => {
      const { key, api_key } = await withCore((core) => create(core, options));
      print(options, { api_key: { ...api_key, key } }, [
        key,
        "Store it now: it cannot be shown again.",
      ]);
    });

  keys
    .command("list")
    .description("list the API keys, without the keys themselves")
    .action(async (options: JsonOption) => {
      const list = await withCore(({ database }) => listApiKeys(database));
      print(
        options,
        { api_keys: list },
        list.map((key) => {
          const state = key.revoked_at ? `revoked ${key.revoked_at.toISOString()}` : "active";
          const label = `${key.prefix}…${key.last_four}`;
          return [key.id, label, key.account_name, key.name, state].join("  ");
        }),
      );
    });

  keys
    .command("revoke")
    .description("revoke an API key: immediately for writes, within a second for reads")
    .argument("<id>", "the key's id, from keys list")
    .option("--reason <reason>", "the reason, for the audit log", "revoked on the command line")
    .action(async (id: string, options: ReasonOption) => {
      const { reason } = options;
      const key = await withCore(async ({ database, clock }) =>
        isId(id) ? revokeApiKey(database, { id, ...byOperator(reason) }, clock.now()) : undefined,
      );
      if (!key) throw new StartupError(`There is no API key ${id}; see sliproad keys list.`);
      print(options, { api_key: key }, [`Revoked ${key.prefix}…${key.last_four}.`]);
    });

  keys
    .command("rotate-encryption")
    .description("create a new master key and re-encrypt all keys with it")
    .option("--reason <reason>", "the reason, for the audit log", "rotated on the command line")
    .action(async (options: ReasonOption) => {
      const rotated = await withProgress(options, (progress) =>
        withCore((core) => rotate(core, options.reason, progress)),
      );
      const accounts = rotated.accounts === 1 ? "1 account" : `${rotated.accounts} accounts`;
      print(options, rotated, [
        `Re-encrypted the keys of ${accounts} with master key ${rotated.key_id}.`,
        AFTER_ROTATION[rotated.kept_in],
      ]);
    });
}

const AFTER_ROTATION: Readonly<Record<Rotation["kept_in"], string>> = {
  environment: "SLIPROAD_ENCRYPTION_KEY_PREVIOUS is no longer needed.",
  "data directory": "The new key is in the data directory; running processes already use it.",
  "key service": "Old master keys in settings or the data directory are no longer needed.",
};

async function create(core: Core, options: CreateOptions) {
  const { database, index_key, clock, config } = core;
  const { id: account_id } = await findAccountOf(core, options.account);
  const key = makeApiKey(config.mode);
  const { name, reason } = options;
  const created_by_person = await findCreator(database, index_key, account_id, options.creator);
  const input = { account_id, name, key, created_by_person, ...byOperator(reason) };
  const api_key = await database.transaction(async (tx) =>
    createApiKey(tx, index_key, input, clock.now()),
  );
  return { key, api_key };
}

async function findCreator(
  database: Session,
  index_key: Buffer,
  account_id: string,
  email: string | undefined,
): Promise<string | null> {
  if (email === undefined) return null;
  const person = await findPerson(database, hashEmail(index_key, email));
  if (person && (await findMember(database, account_id, person.id))) return person.id;
  throw new StartupError(`${email} is not a member of the account; see sliproad members list.`);
}

async function rotate(core: Core, reason: string, progress: Progress): Promise<Rotation> {
  const { config, database, masters, clock, first_start } = core;
  const rotation = await rotateEncryption(database, masters, config, (state) =>
    progress.show({ ...state, unit: "account keys" }),
  );
  const { accounts, key_id } = rotation;
  const entry = {
    account_id: first_start.operator.id,
    ...byOperator(reason),
    action: "encryption.rotate",
    record: `master_key:${key_id}`,
    detail: { accounts },
  };
  await database.transaction(async (tx) => recordAudit(tx, entry, clock.now()));
  return rotation;
}
