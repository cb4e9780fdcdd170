import { vouchedTable } from "../platform/sealing/vouched-rows.ts";

/**
 * What a user may do. Not covered: what is encrypted for its row, and which lists the user was
 * compared with, which changes with every change of a record.
 */
export const USERS = vouchedTable(
  "users",
  ["account_id", "id"],
  [
    ...["beneficiary_type", "kyc_status", "kyc_usd_status", "kyc_usd_swift_status"],
    ...["kyc_eur_status", "kyc_eur_swift_status", "sequence", "created_at", "erased_at"],
    ...["frozen_at", "deactivated_at", "screening_status", "screening_held_at"],
  ],
);

/** What the database fills in for a new user. */
export const UNHELD = {
  ...{ sequence: 0, erased_at: null, frozen_at: null, deactivated_at: null },
  ...{ screening_status: "clear", screening_held_at: null },
};
