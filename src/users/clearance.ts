import type { Problem } from "../platform/errors.ts";
import type { Kyc } from "./model.ts";

/** When a user must have passed KYC. */
export type KycEnforcement = "execution" | "payment_detail" | "off";

/** A frozen user can receive, but nothing leaves, whether KYC is enforced or not. */
export function holdProblems(kyc: Kyc, field: string): Problem[] {
  return kyc.is_frozen ? [{ field, code: "on_hold", message: ON_HOLD }] : [];
}

const ON_HOLD = "The operator has put this user or account on hold; contact the operator.";

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
