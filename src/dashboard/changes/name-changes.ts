import type { Role } from "../../accounts/model.ts";
import { may, type PermissionName } from "../../accounts/roles.ts";
import type { Change } from "./store.ts";

/** Who may be told that such a record changed: the roles that may read it. */
const PERMISSION_OF: Readonly<Record<string, PermissionName>> = {
  quotes: "see_records",
  users: "see_records",
  payment_details: "see_records",
  deposits: "see_records",
  fiat_deposits: "see_records",
  onramps: "see_records",
  quote: "see_records",
  offramp: "see_records",
  user: "see_records",
  payment_detail: "see_records",
  refund: "see_records",
  deposit: "see_records",
  bank_exception: "see_records",
  screening_match: "see_records",
  proposal: "see_account",
  account: "see_account",
  person: "manage_members",
  api_key: "see_keys_and_log",
  app: "see_apps",
  payout_batch: "prepare_payouts",
};
/** An entry of the audit log about somebody who only looked. */
const READ = /\.read(_file)?$/;

/**
 * The names under which a change is told to a member, none for what their role may not read.
 * `audit` is any entry of the audit log, `me` what concerns the member's own sign-in.
 */
export function nameChange(
  { source, name, record_id, action }: Change,
  { role, person_id }: { role: Role; person_id: string },
): string[] {
  if (source === "event") return may(role, "see_records") ? [name] : [];
  const names: string[] = [];
  if (source === "audit" && may(role, "see_keys_and_log")) names.push("audit");
  // A page that is read again because it was read would never end.
  if (action !== null && READ.test(action)) return names;
  if (name === "person" && record_id === person_id) names.push("me");
  const permission = PERMISSION_OF[name];
  if (permission && may(role, permission)) names.push(name);
  return names;
}
