import type { ScreenedPerson, ScreeningHit, ScreeningPort } from "../partners/screening/port.ts";
import { screenInTurn } from "../partners/screening/screen-in-turn.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { personOfDetail } from "../payment-details/screened-payee.ts";
import {
  lockUnscreenedDetails,
  toPaymentDetails,
  updateDetailsScreened,
} from "../payment-details/store.ts";
import type { Transaction } from "../platform/db/database.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { User } from "../users/model.ts";
import { lockUsers, toUsers, type UserKey, updateScreened } from "../users/store.ts";
import { listCompanyPeople } from "./company-people.ts";
import { listDepositors, personOfDepositor } from "./depositors.ts";
import {
  digestPerson,
  type MatchFacts,
  personOfUser,
  type ScreenedRecordKind,
  type ScreeningMatch,
  statusOf,
} from "./model.ts";
import { settleRecords } from "./settle-records.ts";
import {
  insertMatches,
  listMatchFacts,
  listUnscreened,
  listWaitingUsers,
  updateMatchStatuses,
} from "./store.ts";
import { findListedWallets } from "./wallet-store.ts";

export type ScreenDeps = Pick<
  ModuleCore,
  "database" | "clock" | "keyring" | "index_key" | "log" | "operator_id"
> & {
  screening: ScreeningPort;
};

const USERS_AT_ONCE = 100;
/**
 * Payees compared in one transaction, in less than a second. A user may have any number of them,
 * and is locked meanwhile: who credits deposits, of all accounts, waits for that.
 */
const DETAILS_AT_ONCE = 200;

type ScreenedRecord = {
  kind: ScreenedRecordKind;
  account_id: string;
  id: string;
  user_id: string;
  /** Itself, whoever has paid for it, and who acts for a company or owns it. */
  people: ScreenedPerson[];
  key: Buffer;
};

/**
 * Screens the users, and their payment details, whose verdict is older than their data or the
 * lists, and stores what was found. Called when they are created or changed, before a request is
 * answered; before money leaves; and for everybody when a list changes. Without a list it does
 * nothing.
 */
export async function screenUsers(deps: ScreenDeps, users: readonly UserKey[]): Promise<void> {
  const lists = deps.screening.lists();
  if (!lists || users.length === 0) return;
  const { by_account } = deps.database;
  const sets = by_account ? [...Map.groupBy(users, (user) => user.account_id).values()] : [users];
  for (const set of sets) {
    const stale = await listUnscreened(deps.database, set, lists.version);
    for (let at = 0; at < stale.length; at += USERS_AT_ONCE) {
      let some: readonly UserKey[] = stale.slice(at, at + USERS_AT_ONCE);
      const screenNext = (tx: Transaction) => screenLocked(tx, deps, some, lists.version);
      while (some.length > 0 && (await deps.database.transaction(screenNext))) {
        some = await listUnscreened(deps.database, some, lists.version);
      }
    }
  }
}

/** Screens the users, and the next of their payment details; true if there may be more. */
async function screenLocked(
  tx: Transaction,
  deps: ScreenDeps,
  keys: readonly UserKey[],
  version: string,
): Promise<boolean> {
  const { keyring } = deps;
  const locked = await lockUsers(tx, keys);
  const subject_keys = await keyring.openUserKeys(tx, keys);
  // Whoever's key is gone cannot be compared: they and their payees stay unscreened, and nothing
  // leaves to them. Their payees must not fill the places of those that can be compared.
  const rows = locked.filter(({ account_id, id }) => subject_keys.has(account_id, id));
  const readable = rows.map(({ account_id, id }) => ({ account_id, user_id: id }));
  if (readable.length === 0) return false;
  const [kycs, detail_rows, waiting] = await Promise.all([
    findKycs(tx, readable),
    lockUnscreenedDetails(tx, readable, version, DETAILS_AT_ONCE),
    listWaitingUsers(tx, readable),
  ]);
  const [wallets, depositors, of_companies] = await Promise.all([
    findListedWallets(tx, readable, subject_keys, listedBy(deps.screening)),
    listDepositors(tx, deps, readable),
    listCompanyPeople(tx, readable, subject_keys),
  ]);
  const users = toUsers(rows, subject_keys);
  const details = toPaymentDetails(detail_rows, subject_keys);
  const now = deps.clock.now();
  const records: ScreenedRecord[] = [
    ...users.map((user) =>
      recordOfUser(user, {
        wallets: wallets.get(user.id) ?? [],
        depositors: depositors.get(user.id) ?? [],
        of_company: of_companies.get(user.id) ?? [],
      }),
    ),
    ...details.map(recordOfDetail),
  ].map((record) => ({ ...record, key: subject_keys.get(record.account_id, record.user_id)! }));
  const compared: { record: ScreenedRecord; found: Found[] }[] = [];
  for (const record of records) compared.push({ record, found: await compare(deps, record) });
  const digests = compared.flatMap(({ found }) => found.map(({ person_digest }) => person_digest));
  const facts = await listMatchFacts(tx, readable, digests);
  const known = Map.groupBy(facts, ({ record_id }) => record_id);
  const judged = new Map<string, MatchFacts[]>();
  for (const { record, found } of compared) {
    judged.set(record.id, judgeRecord(tx, deps, record, found, known.get(record.id) ?? [], now));
  }
  const settled = { users: rows, kycs, waiting, details, keys: subject_keys, judged };
  const held = settleRecords(tx, settled, now);
  updateScreened(
    tx,
    held.map((user) => ({ ...user, screening_version: version })),
  );
  updateDetailsScreened(
    tx,
    details.map(({ account_id, id }) => ({ account_id, id, screening_version: version })),
  );
  return detail_rows.length === DETAILS_AT_ONCE;
}

/** Only what a list has is compared with the person: there may be any number of the others. */
function listedBy({ screen }: ScreeningPort) {
  return (wallets: readonly string[]): string[] => {
    const hits = screen({
      kind: "individual",
      names: [],
      birth_date: null,
      countries: [],
      wallets,
    });
    return hits.map(({ listed }) => listed);
  };
}

function recordOfUser(
  user: User,
  known: { wallets: string[]; depositors: string[]; of_company: ScreenedPerson[] },
): Omit<ScreenedRecord, "key"> {
  const { account_id, id } = user;
  const person = personOfUser(user, known.wallets);
  const others = [...new Set(known.depositors)].map((name) => personOfDepositor(name, person));
  const people = [person, ...others.filter((other) => other !== null), ...known.of_company];
  return { kind: "user", account_id, id, user_id: id, people };
}

function recordOfDetail(detail: PaymentDetail): Omit<ScreenedRecord, "key"> {
  const { account_id, id, user_id, fields } = detail;
  return { kind: "payment_detail", account_id, id, user_id, people: [personOfDetail(fields)] };
}

type Found = { person: ScreenedPerson; hit: ScreeningHit; person_digest: Buffer };

/** The entries of the lists that the people of a record are like. */
async function compare(
  { screening, index_key }: ScreenDeps,
  { account_id, people }: ScreenedRecord,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const person of people) {
    for (const hit of await screenInTurn(screening, account_id, person)) {
      const person_digest = digestPerson(index_key, account_id, person, hit);
      found.push({ person, hit, person_digest });
    }
  }
  return found;
}

/**
 * Writes what is new about one record. A decision about the same person and the same entry still
 * holds. An open match is closed when its entry has left the list, or another match with the entry
 * says as much. That the person is no longer like the entry is not enough: whoever changes the name
 * of a user, or adds a birth date, must not lift the hold that a reviewer has to decide on.
 */
function judgeRecord(
  tx: Transaction,
  { log, screening }: ScreenDeps,
  record: ScreenedRecord,
  found: readonly Found[],
  known: readonly MatchFacts[],
  now: Date,
): MatchFacts[] {
  const { account_id, id: record_id, user_id, kind: record_kind, key } = record;
  const added: ScreeningMatch[] = [];
  const alike = new Set<string>();
  for (const { person, hit, person_digest } of found) {
    const { list, id: entry_id, digest: entry_digest } = hit.entry;
    const pair = { list, entry_id, entry_digest };
    const same = known.find((match) => isSamePair(match, pair, person_digest));
    if (same) {
      alike.add(same.id);
      continue;
    }
    added.push({
      ...{ account_id, id: newId(now), user_id, record_kind, record_id, ...pair, person_digest },
      ...{ verdict: hit.verdict, score: Number(hit.score.toFixed(3)), status: "open" },
      details: { person, entry: hit.entry, listed: hit.listed, reason: null },
      ...{ decided_by: null, decided_at: null, created_at: now, updated_at: now },
    });
  }
  insertMatches(
    tx,
    added.map((match) => ({ ...match, key })),
  );
  // What a reviewer has cleared takes nothing's place.
  const undecided = known.filter(({ id, status }) => alike.has(id) && isUndecided(status));
  const after = known.map((match) => {
    const is_alike = alike.has(match.id);
    const is_replaced = [...added, ...undecided].some((one) => replaces(one, match));
    return { ...match, status: statusAfter(screening, match, is_alike, is_replaced) };
  });
  updateMatchStatuses(
    tx,
    after
      .filter(({ status }, at) => status !== known[at]!.status)
      .map(({ id, status }) => ({ account_id, id, status, updated_at: now })),
  );
  if (statusOf(added) === "match") {
    const ids = { account_id, user_id, record: `${record_kind}:${record_id}` };
    log.warn(
      { ...ids, next: "sliproad screening list" },
      "a person matches an entry of a screening list: the money is held",
    );
  }
  return [...after, ...added];
}

function isSamePair(
  match: MatchFacts,
  pair: { list: string; entry_id: string; entry_digest: string },
  person_digest: Buffer,
): boolean {
  return (
    match.list === pair.list &&
    match.entry_id === pair.entry_id &&
    match.entry_digest === pair.entry_digest &&
    match.person_digest.equals(person_digest)
  );
}

function isUndecided(status: MatchFacts["status"]): boolean {
  return status === "open" || status === "closed";
}

/** Whoever reviews `one` decides about the same entry, with no weaker verdict. */
function replaces(one: MatchFacts, { list, entry_id, verdict }: MatchFacts): boolean {
  const is_same_entry = one.list === list && one.entry_id === entry_id;
  return is_same_entry && (one.verdict === "match" || verdict === "possible_match");
}

function statusAfter(
  { isListed }: Pick<ScreeningPort, "isListed">,
  { status, list, entry_id }: MatchFacts,
  is_alike: boolean,
  is_replaced: boolean,
): MatchFacts["status"] {
  if (is_alike) return status === "closed" ? "open" : status;
  const is_over = is_replaced || !isListed({ list, id: entry_id });
  return status === "open" && is_over ? "closed" : status;
}
