import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import type { Chain } from "../catalogue/chains.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Accepted, Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { type Checked, problemsOf } from "../platform/problems.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { screenAgain } from "../users/screen-again.ts";
import { usersOf } from "../users/store.ts";
import {
  countRefundAddresses,
  findRegistered,
  hashAddress,
  insertRefundAddresses,
  openAddress,
  type RefundAddress,
  registeredKey,
  type SealedRow,
} from "./refund-store.ts";

type NewRefundAddress = {
  user_id: string;
  wanted: Checked<{ chain: Chain; address: string }>;
};

type Loaded = {
  users: AccountMap<Kyc>;
  keys: SubjectKeys;
  registered: Map<string, SealedRow<RefundAddress>>;
  /** How many addresses each user has. */
  counts: AccountMap<number>;
  /** What earlier commands of this set have registered. */
  added: Map<string, RefundAddress>;
};
type Registered = { entry: RefundAddress; key: Buffer; address_index: Buffer; is_new: boolean };

/** All of a user's are compared with screening lists whenever one is added. */
const ADDRESSES_MAX = 1_000;

type RegisterDeps = { keyring: Keyring; index_key: Buffer; is_screening: boolean };

/** Registers where a user's crypto may be refunded to; registering it again changes nothing. */
export function registerRefundAddresses(
  { keyring, index_key, is_screening }: RegisterDeps,
  render: (entry: RefundAddress) => string,
): UseCase<NewRefundAddress, Loaded, Registered> {
  const indexOf = ({ chain, address }: { chain: Chain; address: string }) =>
    hashAddress(index_key, chain, address);
  return {
    name: "register-refund-addresses",
    rows: () => 1,
    load: async (tx, commands) => {
      const users = usersOf(commands);
      const [found, keys, counts, registered] = await Promise.all([
        findKycs(tx, users),
        keyring.openUserKeys(tx, users),
        countRefundAddresses(tx, users),
        findRegistered(
          tx,
          commands.flatMap(({ account_id, input: { user_id, wanted } }) =>
            "value" in wanted
              ? [{ account_id, user_id, address_index: indexOf(wanted.value) }]
              : [],
          ),
        ),
      ]);
      return { users: found, keys, registered, counts, added: new Map() };
    },
    decide: (loaded, command, now) => decideOne(loaded, command, indexOf, now),
    record: (tx, _loaded, accepted, now) => {
      const added = accepted.map(({ output }) => output).filter((output) => output.is_new);
      if (added.length === 0) return;
      recordActs(tx, accepted, now);
      insertRefundAddresses(
        tx,
        added.map(({ entry, key, address_index }) => ({ ...entry, key, address_index })),
      );
      screenAgain(
        tx,
        is_screening,
        added.map(({ entry }) => entry),
        now,
      );
    },
    render: ({ entry }) => render(entry),
  };
}

/** Who named it: money may leave for it without approval once it is old enough. */
function recordActs(
  tx: Transaction,
  accepted: readonly Accepted<NewRefundAddress, Registered>[],
  now: Date,
): void {
  const added = accepted.filter(({ output }) => output.is_new);
  const acts = added.map(({ command, output: { entry } }) => {
    const { account_id, user_id, id: refund_address_id, chain } = entry;
    const act = { account_id, actor: actorOf(command), record: `user:${user_id}`, reason: "" };
    return {
      ...act,
      action: "refund_address.create" as const,
      detail: { refund_address_id, chain },
    };
  });
  recordAudits(tx, acts, now);
}

function decideOne(
  { users, keys, registered, counts, added }: Loaded,
  { account_id, input }: Command<NewRefundAddress>,
  indexOf: (wanted: { chain: Chain; address: string }) => Buffer,
  now: Date,
): Verdict<Registered> {
  const { user_id, wanted } = input;
  const key = keys.get(account_id, user_id);
  if (!key || !users.has(account_id, user_id)) {
    return { refusal: Refusal.of([...problemsOf(wanted), notFound("user_id")]) };
  }
  if ("problems" in wanted) return { refusal: Refusal.of(wanted.problems) };
  const { chain, address } = wanted.value;
  const address_index = indexOf(wanted.value);
  const subject = { subject_id: user_id, key };
  const name = registeredKey({ account_id, user_id }, address_index);
  const known = registered.get(name);
  const earlier = known
    ? { ...known, address: openAddress("refund_addresses", known, key) }
    : added.get(name);
  if (earlier) return { output: { entry: earlier, key, address_index, is_new: false }, subject };
  const count = (counts.get(account_id, user_id) ?? 0) + 1;
  if (count > ADDRESSES_MAX) {
    const message = `The user has ${ADDRESSES_MAX} refund addresses; refund to one of them.`;
    const field = "refund_address.address";
    return { refusal: Refusal.of([{ field, code: "limit_exceeded", message }]) };
  }
  counts.set(account_id, user_id, count);
  const entry: RefundAddress = {
    account_id,
    id: newId(now),
    user_id,
    chain,
    address,
    created_at: now,
  };
  added.set(name, entry);
  return { output: { entry, key, address_index, is_new: true }, subject };
}
