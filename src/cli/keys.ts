import type { Command } from "commander";
import { listApiKeys, listApiKeysById, type UsedKey } from "../accounts/api-key-store.ts";
import { recordAudit } from "../accounts/audit.ts";
import { findMember } from "../accounts/audited/find-member.ts";
import { createApiKey } from "../accounts/create-api-key.ts";
import { KEY_SCOPE_NAMES } from "../accounts/key-scopes.ts";
import { makeApiKey } from "../accounts/model.ts";
import { hashEmail } from "../accounts/person-email.ts";
import { readKeyScopes, readNetworks } from "../accounts/restrict-key.ts";
import { revokeApiKey } from "../accounts/revoke-api-key.ts";
import { rotateApiKey } from "../accounts/rotate-api-key.ts";
import { findPerson } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import type { Session } from "../platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../platform/durations.ts";
import { type Rotation, rotateEncryption } from "../platform/encryption/rotate-encryption.ts";
import { isId } from "../platform/ids.ts";
import type { Parsed } from "../platform/problems.ts";
import { StartupError } from "../platform/startup-error.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { withCore } from "./context.ts";
import { byOperator, findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";

type ReasonOption = JsonOption & { reason: string };
type CreateOptions = ReasonOption & {
  account?: string;
  name: string;
  creator?: string;
  scope?: string[];
  network?: string[];
  expires?: string;
};
type RotateOptions = ReasonOption & { overlap: string; expires?: string };

const SCOPES = KEY_SCOPE_NAMES.join(", ");
const OVERLAP_HOURS_MAX = 24 * 90;

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
    .option("--scope <scope...>", `what it may do (default: everything): ${SCOPES}`)
    .option("--network <network...>", "IP addresses or networks that it may be used from")
    .option("--expires <time>", "when it ends: a number of days such as 90d, or a date")
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
      print(options, { api_keys: list }, list.map(lineOf));
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

  addRotation(keys);
}

function addRotation(keys: Command): void {
  keys
    .command("rotate")
    .description("replace an API key by one with the same scopes; both work for a while")
    .argument("<id>", "the old key's id, from keys list")
    .option("--overlap <hours>", "how many hours the old key stays valid", "24")
    .option("--expires <time>", "when the new key ends: 90d, a date, or never")
    .option("--reason <reason>", "the reason, for the audit log", "rotated on the command line")
    .action(async (id: string, options: RotateOptions) => {
      const { key, created, old } = await withCore((core) => rotateKey(core, id, options));
      print(options, { api_key: { ...created, key }, old }, [
        key,
        "Store it now: it cannot be shown again.",
        `${old.prefix}…${old.last_four} stays valid until ${old.expires_at!.toISOString()}.`,
      ]);
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
  const key = makeApiKey(index_key, config.mode, account_id);
  const { name, reason } = options;
  const created_by_person = await findCreator(database, index_key, account_id, options.creator);
  const restrictions = {
    scopes: options.scope ? accepted("--scope", readKeyScopes(options.scope)) : null,
    networks: options.network ? accepted("--network", readNetworks(options.network)) : null,
    expires_at: options.expires === undefined ? null : readExpiry(options.expires, realTime(clock)),
  };
  const input = { account_id, name, key, created_by_person, restrictions, ...byOperator(reason) };
  const api_key = await database.transaction(async (tx) =>
    createApiKey(tx, index_key, input, clock.now()),
  );
  return { key, api_key };
}

async function rotateKey(core: Core, id: string, options: RotateOptions) {
  const { database, index_key, clock, config } = core;
  const now = realTime(clock);
  const hours = Number(options.overlap);
  if (!(hours >= 0 && hours <= OVERLAP_HOURS_MAX)) {
    throw new StartupError(`--overlap: send a number of hours up to ${OVERLAP_HOURS_MAX}.`);
  }
  const [known] = isId(id) ? await listApiKeysById(database, [id]) : [];
  if (known?.expires_at && options.expires === undefined) {
    throw new StartupError("The old key expires: say with --expires when the new one does.");
  }
  const { expires = "never", reason } = options;
  const expires_at = expires === "never" ? null : readExpiry(expires, now);
  const { mode } = config;
  const old_ends_at = new Date(now.getTime() + hours * HOUR_MS);
  const input = { id, mode, old_ends_at, expires_at, real_time: now, ...byOperator(reason) };
  const rotated = known && (await rotateApiKey(database, index_key, input, clock.now()));
  if (!rotated) throw new StartupError(`There is no valid API key ${id}; see sliproad keys list.`);
  return rotated;
}

function readExpiry(text: string, now: Date): Date {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  const at = days ? new Date(now.getTime() + Number(days) * DAY_MS) : readDate(text);
  if (at && at > now) return at;
  throw new StartupError("--expires: send a number of days such as 90d, or a date to come.");
}

/** A date is its end: a key that expires on a day works on that day. */
function readDate(text: string): Date | null {
  const start_ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(start_ms) ? null : new Date(start_ms + DAY_MS);
}

function accepted<Value>(option: string, parsed: Parsed<Value>): Value {
  if ("value" in parsed) return parsed.value;
  throw new StartupError(`${option}: ${parsed.reason}`);
}

function lineOf(key: UsedKey & { account_name: string }): string {
  const { revoked_at, expires_at, used_at, scopes, networks } = key;
  const parts = [key.id, `${key.prefix}…${key.last_four}`, key.account_name, key.name];
  if (revoked_at) parts.push(`revoked ${revoked_at.toISOString()}`);
  else parts.push(expires_at ? `valid until ${expires_at.toISOString()}` : "active");
  parts.push(scopes ? scopes.join(",") : "all scopes");
  if (networks) parts.push(`from ${networks.join(",")}`);
  parts.push(used_at ? `used ${used_at.toISOString()}` : "never used");
  return parts.join("  ");
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
    action: "encryption.rotate" as const,
    record: `master_key:${key_id}`,
    detail: { accounts },
  };
  await database.transaction(async (tx) => recordAudit(tx, entry, clock.now()));
  return rotation;
}
