import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import {
  type Chain,
  type NetworkFees,
  REFUND_MIN,
  TOKEN_DIGITS,
  type Token,
} from "../catalogue/chains.ts";
import { refundStarted } from "../ledger/balance-postings.ts";
import { owedTo } from "../ledger/model.ts";
import { postEntries } from "../ledger/post-entries.ts";
import { type Balances, findBalances } from "../ledger/store.ts";
import { type LimitDeps, type Limits, loadLimits, lockLimits } from "../limits/load-limits.ts";
import type { Spend } from "../limits/model.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { minorToText } from "../platform/money.ts";
import { type Checked, Problems, problemsOf } from "../platform/problems.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { giveBackProblems, isScreeningOpen, type KycEnforcement } from "../users/clearance.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc, KycStatus } from "../users/model.ts";
import { screenAgain } from "../users/screen-again.ts";
import { lockUsers, type UserKey, type UserRow, usersOf } from "../users/store.ts";
import { destinationOf, isBarred, mayGoElsewhere, type RefundDestination } from "./destinations.ts";
import {
  findRegistered,
  hashAddress,
  insertRefunds,
  type Refund,
  registeredKey,
} from "./refund-store.ts";
import { findReservations, type Reservations } from "./reservation-store.ts";
import { type AddressMoney, addressKey, listFromAddresses } from "./sender-store.ts";

export const SEND_REFUND_TASK = "send-refund";

export type RefundTerms = { token: Token; chain: Chain; amount: bigint; address: string };
export type RefundRequest = {
  user_id: string;
  wanted: Checked<RefundTerms>;
  /** Empty if none was given. */
  reason: string;
};

export type LoadedRefunds = {
  kycs: AccountMap<Kyc>;
  limits: Limits;
  users: AccountMap<UserRow>;
  keys: SubjectKeys;
  balances: Balances;
  registered: ReadonlyMap<string, { created_at: Date }>;
  /** What came from each address and has neither been paid out nor gone back. */
  from_addresses: Map<string, bigint>;
  reservations: Reservations;
  /** What earlier commands of this set have taken from each balance. */
  taken: Map<string, bigint>;
};
type Started = { refund: Refund; key: Buffer; address_index: Buffer };

export type RefundDeps = {
  limits: LimitDeps;
  keyring: Keyring;
  index_key: Buffer;
  network_fees: NetworkFees;
  kyc_enforcement: KycEnforcement;
  /** There are screening lists: new wallets are compared with them. */
  is_screening: boolean;
  /** Fails if somebody changed what is reserved for executed quotes. A later module provides it. */
  assertReserved(tx: Transaction, users: readonly UserKey[]): Promise<void>;
};

/**
 * Refunds a user's balance: to where the tokens came from, to an address that the user has
 * registered, or with two-person approval to another one (`destinations.ts`).
 */
export function refundBalances(
  deps: RefundDeps,
  render: (refund: Refund) => string,
): UseCase<RefundRequest, LoadedRefunds, Started> {
  return {
    name: "refund-balances",
    rows: () => 4,
    load: (tx, commands) => load(deps, tx, commands),
    decide: (loaded, command, now) => decideOne(deps, loaded, command, now),
    record: (tx, _loaded, accepted, now) => {
      const refunds = accepted.map(({ output }) => output.refund);
      insertRefunds(
        tx,
        accepted.map(({ output: { refund, ...sealed } }) => ({ ...refund, ...sealed })),
      );
      postEntries(tx, refunds.map(refundStarted), now);
      screenAgain(tx, deps.is_screening, refunds, now);
      enqueueTasks(tx, SEND_REFUND_TASK, refunds, now);
      const acts = accepted.map(({ command, output: { refund } }) => {
        const { account_id, id } = refund;
        const act = { account_id, actor: actorOf(command), record: `refund:${id}` };
        return { ...act, action: "refund.create" as const, reason: command.input.reason };
      });
      recordAudits(tx, acts, now);
    },
    render: ({ refund }) => render(refund),
  };
}

async function load(
  { keyring, index_key, limits: limit_deps, assertReserved }: RefundDeps,
  tx: Transaction,
  commands: readonly Command<RefundRequest>[],
): Promise<LoadedRefunds> {
  const users = usersOf(commands);
  const addresses = commands.flatMap((command) => addressOf(index_key, command) ?? []);
  // Every operation that lowers `owed` locks the account, where amounts count, then the user, and
  // then reads the balance.
  const [locked_ids, rows, kycs] = await Promise.all([
    lockLimits(tx, commands),
    lockUsers(tx, users),
    findKycs(tx, users),
  ]);
  const limits = await loadLimits(tx, limit_deps, locked_ids, {
    spends: (value) =>
      commands.flatMap(({ account_id, input: { user_id, wanted } }) =>
        "problems" in wanted ? [] : [spendOf(value, { account_id, user_id }, wanted.value)],
      ),
  });
  const [keys, balances, registered, from_addresses, reservations] = await Promise.all([
    keyring.openUserKeys(tx, users),
    findBalances(tx, commands.flatMap(owedKeys)),
    findRegistered(tx, addresses),
    listFromAddresses(tx, addresses),
    findReservations(tx, users, []),
    assertReserved(tx, users),
  ]);
  return {
    users: AccountMap.of(rows, (row) => row),
    kycs,
    limits,
    keys,
    balances,
    registered,
    from_addresses,
    reservations,
    taken: new Map(),
  };
}

/** The destination of a command; undefined when it is invalid. */
function addressOf(
  index_key: Buffer,
  { account_id, input: { user_id, wanted } }: Command<RefundRequest>,
): AddressMoney | undefined {
  if ("problems" in wanted) return undefined;
  const { token, chain, address } = wanted.value;
  const address_index = hashAddress(index_key, chain, address);
  return { account_id, user_id, token, chain, address, address_index };
}

/** Where the refund of a command goes; `other` for an invalid one. */
export function findDestination(
  index_key: Buffer,
  { registered, from_addresses }: LoadedRefunds,
  command: Command<RefundRequest>,
): RefundDestination {
  const address = addressOf(index_key, command);
  const { wanted } = command.input;
  if (!address || "problems" in wanted) return "other";
  const is_registered = registered.has(registeredKey(address, address.address_index));
  const from_address = from_addresses.get(addressKey(address)) ?? 0n;
  return destinationOf(wanted.value.amount, { from_address, is_registered });
}

/** Whether nothing leaves for this user without two members, one of them the operator's. */
export function isUserBarred(
  { users, kycs }: LoadedRefunds,
  { account_id, input }: Command<RefundRequest>,
): boolean {
  const user = users.get(account_id, input.user_id);
  const kyc = kycs.get(account_id, input.user_id);
  return user !== undefined && (isBarred(user.kyc_status) || (kyc ? isScreeningOpen(kyc) : false));
}

function decideOne(
  deps: RefundDeps,
  loaded: LoadedRefunds,
  command: Command<RefundRequest>,
  now: Date,
): Verdict<Started> {
  const { account_id, input } = command;
  const { user_id, wanted } = input;
  const key = loaded.keys.get(account_id, user_id);
  const user = loaded.users.get(account_id, user_id);
  if (!key || !user) {
    return { refusal: Refusal.of([...problemsOf(wanted), notFound("user_id")]) };
  }
  if ("problems" in wanted) return { refusal: Refusal.of(wanted.problems) };
  const address = addressOf(deps.index_key, command)!;
  const problems = new Problems();
  checkDestination(problems, deps, loaded, { command, address, kyc_status: user.kyc_status });
  checkAmount(problems, deps, wanted.value);
  const spend = spendOf(loaded.limits.value, { account_id, user_id }, wanted.value);
  problems.add(giveBackProblems(loaded.kycs.get(account_id, user_id)!, command, "user_id"));
  problems.add(loaded.limits.problems(spend, "refund.amount"));
  const balance_name = takeBalance(problems, loaded, command, wanted.value);
  if (!problems.is_empty) return { refusal: Refusal.of(problems.list) };
  loaded.limits.take(spend);
  const { amount } = wanted.value;
  const { taken, from_addresses } = loaded;
  taken.set(balance_name, (taken.get(balance_name) ?? 0n) + amount);
  const from = addressKey(address);
  from_addresses.set(from, (from_addresses.get(from) ?? 0n) - amount);
  const refund: Refund = {
    ...wanted.value,
    network_fee: deps.network_fees[wanted.value.chain],
    account_id,
    id: newId(now),
    user_id,
    status: "pending",
    tx_id: null,
    created_at: now,
    updated_at: now,
  };
  const output = { refund, key, address_index: address.address_index };
  return { output, subject: { subject_id: user_id, key } };
}

/** A refund counts for the user and the account; a payee is a bank account. */
function spendOf(
  value: Limits["value"],
  user: { account_id: string; user_id: string },
  { token, amount: tokens }: RefundTerms,
): Spend {
  const usd = value({ price_version_id: null, token, tokens, is_paid_out: false });
  return { ...user, largest: usd, parts: [{ payee: null, usd, count: 1 }] };
}

/** When the user of a command registered its address; null when it is not registered. */
export function registeredAt(
  index_key: Buffer,
  { registered }: LoadedRefunds,
  command: Command<RefundRequest>,
): Date | null {
  const address = addressOf(index_key, command);
  if (!address) return null;
  return registered.get(registeredKey(address, address.address_index))?.created_at ?? null;
}

type Asked = { command: Command<RefundRequest>; address: AddressMoney; kyc_status: KycStatus };

function checkDestination(
  problems: Problems,
  { index_key, kyc_enforcement }: RefundDeps,
  loaded: LoadedRefunds,
  { command, address, kyc_status }: Asked,
): void {
  const field = "refund.address";
  const destination = findDestination(index_key, loaded, command);
  if (destination !== "sender" && !mayGoElsewhere(kyc_status, kyc_enforcement)) {
    const left = loaded.from_addresses.get(addressKey(address)) ?? 0n;
    const shown = `${minorToText(left > 0n ? left : 0n, TOKEN_DIGITS)} ${address.token}`;
    problems.report(
      field,
      "not_yet_passed_kyc_kyb",
      "The user has not passed identity verification: refunds go only to the address that the " +
        "tokens came from, at most what came from there and was not paid out. That is " +
        `${shown} for this address.`,
    );
  } else if (destination === "other" && command.approval === undefined) {
    const message = "Register the address first: POST /users/:user_id/refund_addresses.";
    problems.invalid(field, message);
  }
  if (isBarred(kyc_status) && !command.operator_approval && command.approval !== "asked") {
    const message =
      "This user's tokens leave only when two members confirm it, one of them the operator's.";
    problems.report(field, "not_yet_passed_kyc_kyb", message);
  }
}

function checkAmount(
  problems: Problems,
  { network_fees }: RefundDeps,
  { amount, token, chain }: RefundTerms,
): void {
  const fee = network_fees[chain];
  if (amount >= REFUND_MIN && amount > fee) return;
  const minimum = `${minorToText(REFUND_MIN, TOKEN_DIGITS)} ${token}`;
  const message =
    amount < REFUND_MIN
      ? `Refund at least ${minimum}.`
      : `Refund more than the network fee on ${chain}: ${minorToText(fee, TOKEN_DIGITS)} ${token}.`;
  problems.report("refund.amount", "below_currency_limit", message);
}

/** Checks that the balance covers the amount; returns the balance's name in `taken`. */
function takeBalance(
  problems: Problems,
  { balances, reservations, taken }: LoadedRefunds,
  command: Command<RefundRequest>,
  { token, chain, amount }: RefundTerms,
): string {
  const { account_id } = command;
  const { user_id } = command.input;
  const name = `${account_id} ${user_id} ${token} ${chain}`;
  const [owed_key] = owedKeys(command);
  const balance = balances.get(owed_key!) - (taken.get(name) ?? 0n);
  const in_balance = { account_id, user_id, deposit_token: token, deposit_token_chain: chain };
  const reserved = reservations.sumOf(in_balance);
  if (amount > balance - reserved) {
    const shown = `${minorToText(balance, TOKEN_DIGITS)} ${token}`;
    const message = `The user's balance on ${chain} is ${shown}.`;
    const set_aside = `Executed quotes have reserved ${minorToText(reserved, TOKEN_DIGITS)} of it.`;
    problems.invalid("refund.amount", reserved > 0n ? `${message} ${set_aside}` : message);
  }
  return name;
}

function owedKeys({ account_id, input: { user_id, wanted } }: Command<RefundRequest>) {
  if ("problems" in wanted) return [];
  const { token, chain } = wanted.value;
  return [{ account_id, ledger_account: owedTo(user_id, chain), currency: token }];
}
