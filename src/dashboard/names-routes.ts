import Type from "typebox";
import { listApiKeysOfAccount } from "../accounts/api-key-store.ts";
import { openEmail } from "../accounts/person-email.ts";
import { listMembersById } from "../accounts/store.ts";
import { ACCOUNT_IDENTIFIERS } from "../catalogue/payment-detail-fields.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { findPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { isId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { closedObject } from "../platform/schema-parts.ts";
import { nameOfUser } from "../users/model.ts";
import { findUsers, openUsers } from "../users/store.ts";

type NamesDeps = Pick<ModuleCore, "database" | "keyring" | "index_key">;

/** A page of a list names at most this many records of a kind. */
const IDS_MAX = 100;
const API_KEYS_MAX = 100;
const Ids = Type.Optional(Type.String({ maxLength: IDS_MAX * 37 }));
const NamesQuery = closedObject({ users: Ids, payment_details: Ids, actors: Ids });

/** How the records of a list are shown instead of by their ids. */
export function addNamesRoute(addRoute: AddRoute, deps: NamesDeps): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/names",
    operation: "listNames",
    summary: "List names",
    description: "The names of users, bank accounts, members and API keys, by their ids.",
    tag: "Dashboard",
    members_only: true,
    query: NamesQuery,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query }) => {
      const { account_id } = caller;
      const [users, payment_details, actors] = await Promise.all([
        nameUsers(deps, account_id, readIds(query.users)),
        nameDetails(deps, account_id, readIds(query.payment_details)),
        nameActors(deps, account_id, readIds(query.actors)),
      ]);
      return JSON.stringify({ users, payment_details, actors });
    },
  });
}

function readIds(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(isId).slice(0, IDS_MAX);
}

async function nameUsers(deps: NamesDeps, account_id: string, ids: readonly string[]) {
  if (ids.length === 0) return {};
  const { database, keyring } = deps;
  const keys = ids.map((user_id) => ({ account_id, user_id }));
  const users = await openUsers(database, keyring, await findUsers(database, keys));
  return Object.fromEntries(
    users.map((user) => [user.id, { name: nameOfUser(user), kyc_status: user.kyc.general.status }]),
  );
}

/** Members by their e-mail, API keys by the name that somebody gave them. */
async function nameActors(deps: NamesDeps, account_id: string, ids: readonly string[]) {
  if (ids.length === 0) return {};
  const { database, index_key } = deps;
  const [keys, people] = await Promise.all([
    listApiKeysOfAccount(database, account_id, API_KEYS_MAX),
    listMembersById(database, [account_id], [...ids]),
  ]);
  return Object.fromEntries([
    ...keys
      .filter(({ id }) => ids.includes(id))
      .map((key) => [key.id, `API key ${key.name || `…${key.last_four}`}`] as const),
    ...people.map(
      ({ person_id, email }) => [person_id, openEmail(index_key, person_id, email)] as const,
    ),
  ]);
}

async function nameDetails(deps: NamesDeps, account_id: string, ids: readonly string[]) {
  if (ids.length === 0) return {};
  const { database, keyring } = deps;
  const rows = await findPaymentDetails(
    database,
    ids.map((id) => ({ account_id, id })),
  );
  const subjects = rows.map((row) => ({ account_id, subject_id: row.user_id }));
  const details = toPaymentDetails(rows, await keyring.openSubjects(database, subjects));
  return Object.fromEntries(details.map((detail) => [detail.id, nameOf(detail)]));
}

function nameOf({ fields, status }: PaymentDetail) {
  const identifier = ACCOUNT_IDENTIFIERS.map((name) => fields[name]).find((text) => text) ?? "";
  return {
    holder: fields.account_name ?? "",
    bank: fields.bank_name ?? "",
    account: identifier.slice(-4),
    currency: fields.currency ?? "",
    status,
  };
}
