import { ACCOUNT_IDENTIFIERS } from "../catalogue/payment-detail-fields.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { findPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { ModuleCore } from "../platform/module.ts";
import { nameOfUser, type User } from "../users/model.ts";
import { findUsers, openUsers } from "../users/store.ts";

type NamesDeps = Pick<ModuleCore, "database" | "keyring">;

type UserName = { name: string; kyc_status: string };
type DetailName = {
  holder: string;
  bank: string;
  /** The last four characters of what identifies the account. */
  account: string;
  currency: string;
  status: string;
};

export async function nameUsers(
  { database, keyring }: NamesDeps,
  account_id: string,
  ids: readonly string[],
): Promise<Record<string, UserName>> {
  if (ids.length === 0) return {};
  const keys = ids.map((user_id) => ({ account_id, user_id }));
  const users = await openUsers(database, keyring, await findUsers(database, keys));
  return Object.fromEntries(users.map((user) => [user.id, nameUser(user)]));
}

function nameUser(user: User): UserName {
  return { name: nameOfUser(user), kyc_status: user.kyc.general.status };
}

export async function nameDetails(
  { database, keyring }: NamesDeps,
  account_id: string,
  ids: readonly string[],
): Promise<Record<string, DetailName>> {
  if (ids.length === 0) return {};
  const rows = await findPaymentDetails(
    database,
    ids.map((id) => ({ account_id, id })),
  );
  const subjects = rows.map((row) => ({ account_id, subject_id: row.user_id }));
  const details = toPaymentDetails(rows, await keyring.openSubjects(database, subjects));
  return Object.fromEntries(details.map((detail) => [detail.id, nameDetail(detail)]));
}

function nameDetail({ fields, status }: PaymentDetail): DetailName {
  const identifier = ACCOUNT_IDENTIFIERS.map((name) => fields[name]).find((text) => text) ?? "";
  return {
    holder: fields.account_name ?? "",
    bank: fields.bank_name ?? "",
    account: identifier.slice(-4),
    currency: fields.currency ?? "",
    status,
  };
}
