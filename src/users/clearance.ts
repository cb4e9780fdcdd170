import type { Problem } from "../platform/errors.ts";
import type { Kyc } from "./model.ts";
import type { UserKey } from "./store.ts";

/** Screens those users whose verdict is out of date. A later module provides it. */
export type ScreenUsers = (users: readonly UserKey[]) => Promise<void>;

/**
 * The same after a request has stored its record: it never fails, because its answer must say what
 * was stored. A user who could not be screened is on hold, and is screened before money leaves.
 */
export type ScreenWritten = (user: UserKey) => Promise<void>;

/** When a user must have passed KYC. */
export type KycEnforcement = "execution" | "payment_detail" | "off";

/**
 * A frozen user, and one whose screening is not clear, can receive, but nothing leaves, whether KYC
 * is enforced or not.
 */
export function holdProblems(kyc: Kyc, field: string): Problem[] {
  if (kyc.is_frozen) return [frozenProblem(field)];
  const { status = "clear", is_stale = false } = kyc.screening ?? {};
  return status !== "clear" || is_stale ? [{ field, code: "on_hold", message: IN_CHECKS }] : [];
}

/** Whether nothing but a verdict that is out of date holds the user; it is renewed at once. */
export function isBeingScreened({ is_frozen, screening }: Kyc): boolean {
  return !is_frozen && screening?.status === "clear" && screening.is_stale === true;
}

/** What is refused while a user or an account is frozen. */
export function frozenProblem(field: string): Problem {
  return { field, code: "on_hold", message: ON_HOLD };
}

/** Whether somebody has to decide if the user is on a list: two members may let a refund go. */
export function isScreeningOpen({ screening }: Kyc): boolean {
  return screening?.status === "possible_match" || screening?.status === "match";
}

/**
 * What prevents giving a user's money back. Two members, one of them the operator's, may decide on
 * it while the user's screening is open.
 */
export function giveBackProblems(
  kyc: Kyc,
  { operator_approval, approval }: { operator_approval?: boolean; approval?: string },
  field: string,
): Problem[] {
  const is_decided = operator_approval === true || approval === "asked";
  const { screening: _, ...rest } = kyc;
  return holdProblems(is_decided && isScreeningOpen(kyc) ? rest : kyc, field);
}

const ON_HOLD = "The operator has put this user or account on hold; contact the operator.";
/** Never more than that: whoever is on a list must not learn it from us. */
const IN_CHECKS = "Checks on this user are still running; nothing leaves until they are done.";

/** Nothing new is started for a user who is to be erased; what is under way is completed. */
export function deactivationProblems(
  { is_deactivated }: Pick<Kyc, "is_deactivated">,
  field: string,
): Problem[] {
  return is_deactivated ? [{ field, code: "invalid_transition", message: DEACTIVATED }] : [];
}

const DEACTIVATED =
  "The erasure of this user was requested, so nothing new can be started; to withdraw the " +
  "request, call POST /users/:user_id/restore.";

/**
 * What prevents paying this user over a rail. Swift in eur needs the clearance for eur, in any
 * other currency the one for usd.
 */
export function clearanceProblems(
  kyc: Kyc,
  currency: string | null,
  rail: string | null,
  field: string,
): Problem[] {
  if (kyc.general.status !== "approved") {
    const message = "The user must pass identity verification first; create a KYC session.";
    return [{ field, code: "not_yet_passed_kyc_kyb", message }];
  }
  const swift_status = currency === "eur" ? kyc.eur.swift_status : kyc.usd.swift_status;
  if (rail === "swift" && swift_status !== "approved") {
    const message = "The user is not approved for swift in this currency; use another rail.";
    return [{ field, code: "not_approved_for_payout_rail", message }];
  }
  return [];
}
