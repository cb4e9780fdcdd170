import Type from "typebox";
import { listApiKeysOfAccount, listCreators, type UsedKey } from "../../accounts/api-key-store.ts";
import { createApiKey } from "../../accounts/create-api-key.ts";
import { KEY_SCOPES } from "../../accounts/key-scopes.ts";
import {
  assertActiveMember,
  sessionOf,
} from "../../accounts/member-callers/authenticate-member.ts";
import { type ApiKey, makeApiKey } from "../../accounts/model.ts";
import { openEmail } from "../../accounts/person-email.ts";
import { readKeyScopes, readNetworks } from "../../accounts/restrict-key.ts";
import { revokeApiKey } from "../../accounts/revoke-api-key.ts";
import { rotateApiKey } from "../../accounts/rotate-api-key.ts";
import { CONTROLS, hasControlCharacters, isVisible } from "../../catalogue/text.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../../platform/durations.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { type Parsed, Problems } from "../../platform/problems.ts";
import { closedObject, optional } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";

const KEYS_PATH = "/dashboard/api/keys";
const NAME_MAX = 100;
const DAYS_MAX = 3650;
const OVERLAP_HOURS_MAX = 24 * 90;
const LIST_MAX = 50;
const COMMON = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;
const REASON = "in the dashboard";

/** API keys of the account: who sees them, creates them, and ends them. */
export function addKeyRoutes(addRoute: AddRoute, deps: ModuleCore): void {
  addList(addRoute, deps);
  addCreate(addRoute, deps);
  addRotate(addRoute, deps);
  addRevoke(addRoute, deps);
}

function addList(addRoute: AddRoute, { database, index_key }: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "GET",
    path: KEYS_PATH,
    operation: "listKeys",
    summary: "List API keys",
    description: "Newest first, with what each scope permits.",
    query: listQuery({}),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const page = requirePage(query, problems);
      const found = await listApiKeysOfAccount(database, account_id, page);
      const { rows: keys, has_more } = cutPage(found, page);
      const creators = keys.flatMap((key) => key.created_by_person ?? []);
      const people = await listCreators(database, account_id, [...new Set(creators)]);
      const named = new Map(
        people.map(({ person_id, email, is_member }) => {
          const created_by = openEmail(index_key, person_id, email);
          return [person_id, { created_by, has_creator_left: !is_member }];
        }),
      );
      const scopes = Object.entries(KEY_SCOPES).map(([name, { meaning }]) => ({ name, meaning }));
      return JSON.stringify({ keys: keys.map((key) => toShown(key, named)), scopes, has_more });
    },
  });
}

type Creator = { created_by: string | null; has_creator_left: boolean };

/** Field by field: the row has more than the key. */
function toShown(key: UsedKey, named: ReadonlyMap<string, Creator>) {
  const { id, name, prefix, last_four, scopes, networks } = key;
  const { created_at, used_at, expires_at, revoked_at } = key;
  const creator = named.get(key.created_by_person ?? "");
  return {
    ...{ id, name, prefix, last_four, scopes, networks },
    ...(creator ?? { created_by: null, has_creator_left: false }),
    ...{ created_at, used_at, expires_at, revoked_at },
  };
}

function addCreate(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, index_key, clock, mode } = deps;
  const texts = optional(Type.Array(Type.String(), { maxItems: LIST_MAX }));
  addRoute({
    ...COMMON,
    method: "POST",
    path: KEYS_PATH,
    operation: "createKey",
    stores_nothing: true,
    summary: "Create an API key",
    description: "The answer is the only one that contains the key.",
    body: closedObject({
      name: Type.String(),
      scopes: texts,
      networks: texts,
      expires_in_days: optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX })),
    }),
    body_example: { name: "Payroll", scopes: ["read"] },
    errors: ["value_too_long"],
    handle: async ({ caller, body, problems }) => {
      const found = new Problems(problems);
      const name = body.name?.trim() ?? "";
      if (!isVisible(name)) found.report("name", "parameter_missing", "Send a name.");
      // Members who vote read it as the name of who asked.
      if (hasControlCharacters(name)) found.invalid("name", CONTROLS);
      if (name.length > NAME_MAX) {
        found.report("name", "value_too_long", `Send at most ${NAME_MAX} characters.`);
      }
      const scopes = readList(found, "scopes", body.scopes, readKeyScopes);
      const networks = readList(found, "networks", body.networks, readNetworks);
      found.throwIfAny();
      const now = realTime(clock);
      const expires_at = after(now, (body.expires_in_days ?? 0) * DAY_MS);
      const { made, key } = await database.transaction(async (tx) => {
        const { account_id, person_id } = await assertActiveMember(tx, caller, now);
        const restrictions = { scopes, networks, expires_at };
        const by = { actor: `member:${person_id}`, reason: REASON } as const;
        const key = makeApiKey(index_key, mode, account_id);
        const input = { account_id, name, key, created_by_person: person_id, restrictions, ...by };
        return { made: createApiKey(tx, index_key, input, clock.now()), key };
      });
      return renderKey(made, key);
    },
  });
}

/** Empty is not “nothing” but a mistake: a key without scopes may do everything. */
function readList<Item>(
  found: Problems,
  field: "scopes" | "networks",
  given: readonly (string | undefined)[] | null | undefined,
  read: (texts: readonly string[]) => Parsed<Item[]>,
): Item[] | null {
  if (given == null) return null;
  const texts = given.flatMap((text) => text ?? []);
  if (texts.length === 0) found.invalid(field, "Choose at least one, or leave it out.");
  const parsed = read(texts);
  if ("value" in parsed) return parsed.value;
  found.invalid(field, parsed.reason);
  return null;
}

function after(now: Date, duration_ms: number): Date | null {
  return duration_ms > 0 ? new Date(now.getTime() + duration_ms) : null;
}

function renderKey({ id, name, last_four, expires_at }: ApiKey, key: string): string {
  return JSON.stringify({ api_key: { id, name, last_four, expires_at }, key });
}

function addRotate(addRoute: AddRoute, deps: ModuleCore): void {
  const { database, index_key, clock, mode } = deps;
  addRoute({
    ...COMMON,
    method: "POST",
    path: `${KEYS_PATH}/:key_id/rotate`,
    operation: "rotateKey",
    stores_nothing: true,
    summary: "Replace an API key",
    description: "The new one may do the same; both work for a while.",
    body: closedObject({
      overlap_hours: Type.Integer({ minimum: 0, maximum: OVERLAP_HOURS_MAX }),
      expires_in_days: optional(Type.Integer({ minimum: 1, maximum: DAYS_MAX })),
    }),
    body_example: { overlap_hours: 24 },
    errors: [],
    handle: async ({ caller, params, body, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const now = realTime(clock);
      const { account_id, person_id } = sessionOf(caller.credential_id);
      const assertSession = (tx: Transaction) => assertActiveMember(tx, caller, now);
      const input = {
        ...{ id: params.key_id, mode, real_time: now },
        for_member: { account_id, person_id, assertSession },
        old_ends_at: new Date(now.getTime() + body.overlap_hours! * HOUR_MS),
        expires_at: after(now, (body.expires_in_days ?? 0) * DAY_MS),
        actor: `member:${person_id}`,
        reason: REASON,
      } as const;
      const rotated = await rotateApiKey(database, index_key, input, clock.now());
      if (!rotated) throw Refusal.of([notFound("key_id")]);
      return renderKey(rotated.created, rotated.key);
    },
  });
}

function addRevoke(addRoute: AddRoute, { database, clock }: ModuleCore): void {
  addRoute({
    ...COMMON,
    method: "POST",
    path: `${KEYS_PATH}/:key_id/revoke`,
    operation: "revokeKey",
    stores_nothing: true,
    summary: "Revoke an API key",
    description: "At once for writes, within a second for reads.",
    errors: [],
    handle: async ({ caller, params, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const { account_id, person_id } = await assertActiveMember(database, caller, realTime(clock));
      const by = { actor: `member:${person_id}`, reason: REASON } as const;
      const key = await revokeApiKey(
        database,
        { id: params.key_id, account_id, ...by },
        clock.now(),
      );
      if (!key) throw Refusal.of([notFound("key_id")]);
      return JSON.stringify({ api_key: { id: key.id, revoked_at: key.revoked_at } });
    },
  });
}
