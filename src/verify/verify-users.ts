import { digestKyc, KYC_MOVES, SWIFT_CURRENCIES } from "../kyc/model.ts";
import type { Kyc, KycStatus } from "../users/model.ts";
import { verifyEvented } from "./verify-events.ts";

type Row = {
  account_id: string;
  id: string;
  status: KycStatus;
  usd: Kyc["usd"];
  eur: Kyc["eur"];
  sequence: number;
};

/** Compares the KYC of every user, including erased ones, with its events. */
export const verifyUsers = verifyEvented<Row>(
  {
    table: "users",
    name: "user",
    event: "kyc_update",
    moves: KYC_MOVES,
    before_events: "not_started",
    digest: ({ status, usd, eur, ...row }) =>
      digestKyc({ ...row, kyc: { general: { status }, usd, eur } }),
    query: `select account_id, id, kyc_status as status, sequence,
        json_build_object('status', kyc_usd_status, 'swift_status', kyc_usd_swift_status) as usd,
        json_build_object('status', kyc_eur_status, 'swift_status', kyc_eur_swift_status) as eur
      from users where account_id = $1 and id > $2 order by id limit $3`,
  },
  async (_session, account_id, users) => {
    for (const user of users) {
      const fault = checkMap(user);
      if (fault) return `user ${user.id} of account ${account_id}: ${fault}`;
    }
    return null;
  },
);

/** Nothing is cleared beyond what the general status allows, even if the chain is valid. */
function checkMap(user: Row): string | null {
  for (const currency of SWIFT_CURRENCIES) {
    const { status, swift_status } = user[currency];
    if (status !== user.status) return `it is ${user.status}, but ${status} in ${currency}`;
    if (swift_status !== status && status !== "approved") {
      return `it is ${status}, but ${swift_status} for swift in ${currency}`;
    }
  }
  return null;
}
