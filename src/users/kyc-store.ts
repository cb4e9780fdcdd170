import { listFrozenAccounts, listSaidFrozen } from "../accounts/audited/frozen-accounts.ts";
import { findLastEvents, isLastEvent, type LastEvents } from "../events/last-events.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Session } from "../platform/db/database.ts";
import { type AccountSet, accountsOf, columnsOf } from "../platform/db/rows.ts";
import { readAgreeing } from "../platform/sealing/put-back.ts";
import { digestKyc, type Kyc, type ScreeningStatus } from "./model.ts";
import { type KycColumns, toKyc, type UserKey } from "./store.ts";
import { USERS } from "./vouched-users.ts";

type KycRow = KycColumns & {
  sequence: number;
  frozen_at: Date | null;
  screening_status: ScreeningStatus;
  screening_held_at: Date | null;
  is_stale: boolean;
  has_match: boolean;
};

/** Not screened against the lists in use since the data last changed. */
const IS_STALE = `exists (select from screening_state
  where version is not null and version is distinct from users.screening_version)`;

/** Reads the table of a later module: a user with such a match is not clear. */
const hasMatch = ({ is_one }: AccountSet) => `exists (select from screening_matches m
  where m.account_id = ${is_one ? "$1" : "users.account_id"} and m.user_id = users.id
    and m.record_id = users.id and m.status in ('open', 'confirmed'))`;

/**
 * The KYC status maps of users (no comments). Fails if somebody changed a user or an account, or
 * put one back to what it was: before a freeze, a suspension or a match.
 */
export function findKycs(session: Session, keys: readonly UserKey[]): Promise<AccountMap<Kyc>> {
  return readKycs(session, keys, "");
}

/**
 * The same, locked until the transaction ends. The lock also prevents an erasure before the rows
 * about to be written are there to be erased.
 */
export function lockKycs(tx: Session, keys: readonly UserKey[]): Promise<AccountMap<Kyc>> {
  return readKycs(tx, keys, "order by account_id, id for share");
}

async function readKycs(
  session: Session,
  keys: readonly UserKey[],
  locking: string,
): Promise<AccountMap<Kyc>> {
  const accounts = accountsOf(session, keys);
  const owned = keys.map(({ account_id, user_id: id }) => ({ account_id, id }));
  // In one flush, the rows before the logs: of a row that was waited for, the logs are newer.
  const read = () =>
    Promise.all([
      session.query<KycRow>(
        `select account_id, id, ${USERS.columns.join(", ")}, mac, ${IS_STALE} as is_stale,
           ${hasMatch(accounts)} as has_match
         from users where account_id ${accounts.equal} and id = any($2::uuid[])
           and erased_at is null ${locking}`,
        [accounts.value, ...columnsOf(keys, "user_id")],
      ),
      listFrozenAccounts(session, [...new Set(keys.map((key) => key.account_id))]),
      listSaidFrozen(session, "user", owned),
      findLastEvents(session, owned),
    ]);
  const [rows, frozen] = await readAgreeing(session, read, ([users, , said, events]) => {
    const wrong = USERS.assertVouched(session, users).find(
      (row) => !isAsSaid(session, row, said, events),
    );
    return wrong && { table: "users", key: [wrong.account_id, wrong.id] };
  });
  const kycs = new AccountMap<Kyc>();
  for (const row of rows) {
    const { frozen_at, screening_status: status, is_stale, screening_held_at: held_at } = row;
    kycs.set(row.account_id, row.id, {
      ...toKyc(row, null),
      is_frozen: frozen_at !== null || frozen.has(row.account_id),
      is_deactivated: row.deactivated_at !== null,
      screening: { status, is_stale, held_at },
    });
  }
  return kycs;
}

/** A user of whom less is allowed than the logs say needs no alarm here: nothing leaves. */
function isAsSaid(
  session: Session,
  row: KycRow,
  said_frozen: ReadonlySet<string>,
  events: LastEvents,
): boolean {
  const { account_id, id, sequence, frozen_at, screening_status, has_match } = row;
  if (frozen_at === null && said_frozen.has(`${account_id} ${id}`)) return false;
  if (screening_status === "clear" && has_match) return false;
  const kyc = toKyc(row, null);
  if (sequence === 0 && kyc.general.status !== "not_started") return false;
  return isLastEvent(session, events, {
    ...row,
    facts: digestKyc({ account_id, id, sequence, kyc }),
  });
}
