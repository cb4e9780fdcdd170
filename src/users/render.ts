import type { Static } from "typebox";
import { formatDate } from "../catalogue/dates.ts";
import { compileRender } from "../platform/http/render.ts";
import type { User } from "./model.ts";
import { KycEvent, UserAnswer, UserListAnswer, type UserRecord } from "./schemas.ts";

const writeUser = compileRender(UserAnswer);
const writeUsers = compileRender(UserListAnswer);
const writeEvent = compileRender(KycEvent);

export function renderUser(user: User): string {
  return writeUser({ user: toRecord(user) });
}

export function renderUsers(users: readonly User[], has_more: boolean): string {
  return writeUsers({ users: users.map(toRecord), has_more });
}

/** The body of the event for a change of the user's KYC. */
export function renderKycEvent(user: User): string {
  return writeEvent({
    event: "kyc_update",
    timestamp: user.updated_at.getTime(),
    payload: { user: toRecord(user) },
  });
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
    deactivated_at: user.deactivated_at?.toISOString() ?? null,
  };
}
