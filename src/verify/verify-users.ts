import { KYC_MOVES, SWIFT_CURRENCIES } from "../kyc/model.ts";
import { digestKyc, type Kyc, type KycStatus } from "../users/model.ts";
import { verifyEvented } from "./verify-events.ts";

type Row = {
  account_id: string;
  id: string;
  status: KycStatus;
  usd: Kyc["usd"];
  eur: Kyc["eur"];
  sequence: number;
  is_erased: boolean;
  has_key: boolean;
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
    select: `select account_id, id, kyc_status as status, sequence,
        erased_at is not null as is_erased,
        exists (select from subject_keys k where k.account_id = users.account_id
          and k.subject_id = users.id) as has_key,
        json_build_object('status', kyc_usd_status, 'swift_status', kyc_usd_swift_status) as usd,
        json_build_object('status', kyc_eur_status, 'swift_status', kyc_eur_swift_status) as eur
      from users`,
  },
  async (_session, account_id, users) => {
    for (const user of users) {
      const fault = checkUser(user);
      if (fault) return `user ${user.id} of account ${account_id}: ${fault}`;
    }
    return null;
  },
);

/** Erased completely or not at all, and cleared for no more than the general status allows. */
function checkUser(user: Row): string | null {
  if (user.is_erased && user.has_key) return "it is erased, but the key of its data exists";
  if (!user.is_erased && !user.has_key) return "the key of its data is missing";
  return checkMap(user);
}

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
