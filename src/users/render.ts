import type { Static } from "typebox";
import { formatDate } from "../catalogue/dates.ts";
import { compileRender } from "../platform/http/render.ts";
import type { User } from "./model.ts";
import { UserAnswer, UserListAnswer, type UserRecord } from "./schemas.ts";

const writeUser = compileRender(UserAnswer);
const writeUsers = compileRender(UserListAnswer);

export function renderUser(user: User): string {
  return writeUser({ user: toRecord(user) });
}

export function renderUsers(users: readonly User[], has_more: boolean): string {
  return writeUsers({ users: users.map(toRecord), has_more });
}

function toRecord(user: User): Static<typeof UserRecord> {
  const { identity, kyc } = user;
  return {
    ...identity,
    id: user.id,
    beneficiary_type: user.beneficiary_type,
    email: identity.email ?? "",
    date_of_birth: identity.date_of_birth && formatDate(identity.date_of_birth),
    kyc,
    created_at: user.created_at.toISOString(),
    updated_at: user.updated_at.toISOString(),
  };
}
