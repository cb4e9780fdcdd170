import type { Chain, Token } from "../catalogue/chains.ts";
import type { DepositRail } from "../catalogue/rails.ts";
import { type LimitDeps, type Limits, loadLimits, lockLimits } from "../limits/load-limits.ts";
import type { Spend } from "../limits/model.ts";
import type { BankCoordinates } from "../partners/bank/port.ts";
import type { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { OnrampPrice } from "../prices/fees-and-minimums.ts";
import {
  clearanceProblems,
  deactivationProblems,
  holdProblems,
  type KycEnforcement,
} from "../users/clearance.ts";
import { findKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import { screenAgain } from "../users/screen-again.ts";
import { lockUsers, usersOf } from "../users/store.ts";
import { createDepositCode } from "./deposits/deposit-code.ts";
import { type Onramp, UNPAID_LIFE_MS, UNPAID_PER_USER_MAX } from "./model.ts";
import { onrampEvents } from "./record-changes.ts";
import { renderOnramp } from "./render.ts";
import { countInitiated, insertOnramps, type KeyedOnramp } from "./store.ts";
import { EXPIRE_ONRAMP_TASK } from "./task-kinds.ts";

/** What is delivered for which deposit, checked and priced. */
export type OnrampTerms = OnrampPrice & {
  crypto_currency: Token;
  crypto_rails: Chain;
  destination_amount: bigint;
  destination_address: string;
  fiat_currency: string;
  fiat_rails: DepositRail;
  price_version_id: string;
  deposit_instructions: BankCoordinates;
};

type NewOnramp = {
  user_id: string;
  /** Null when the request is refused, because of problems or a missing rate. */
  terms: OnrampTerms | null;
  problems: readonly Problem[];
};

type Loaded = {
  users: AccountMap<Kyc>;
  keys: SubjectKeys;
  /** Unpaid onramps of each user, including those that this set creates. */
  unpaid: AccountMap<number>;
  limits: Limits;
};

const RETRY_AFTER_SECONDS = 60;

export function createOnramps(
  keyring: Keyring,
  kyc_enforcement: KycEnforcement,
  limit_deps: LimitDeps,
  is_screening: boolean,
): UseCase<NewOnramp, Loaded, KeyedOnramp> {
  return {
    name: "create-onramps",
    rows: () => 4,
    load: async (tx, commands) => {
      const of = usersOf(commands);
      // Locked, so that no user is erased before the rows below are written, and of two
      // transactions that count at once the second sees what the first created.
      const [locked_ids] = await Promise.all([lockLimits(tx, commands), lockUsers(tx, of)]);
      const version_ids = commands.flatMap(({ input }) => input.terms?.price_version_id ?? []);
      const limits = await loadLimits(tx, limit_deps, locked_ids, {
        version_ids,
        spends: (value) =>
          commands.flatMap(({ account_id, input: { user_id, terms } }) =>
            terms ? [spendOf(value, { account_id, user_id }, terms)] : [],
          ),
      });
      const [users, keys, unpaid] = await Promise.all([
        findKycs(tx, of),
        keyring.openUserKeys(tx, of),
        countInitiated(tx, of),
      ]);
      return { users, keys, unpaid, limits };
    },
    decide: (loaded, command, now) => decideOne(kyc_enforcement, loaded, command, now),
    record: (tx, _loaded, accepted, now) => {
      const entries = accepted.map((entry) => entry.output);
      insertOnramps(tx, entries);
      screenAgain(
        tx,
        is_screening,
        entries.map(({ onramp }) => onramp),
        now,
      );
      onrampEvents(
        tx,
        entries.map((entry) => ({ ...entry, from_status: null })),
        now,
      );
      const onramps = entries.map(({ onramp }) => onramp);
      const expires_at = new Date(now.getTime() + UNPAID_LIFE_MS);
      enqueueTasks(tx, EXPIRE_ONRAMP_TASK, onramps, now, expires_at);
    },
    render: ({ onramp }) => renderOnramp(onramp),
  };
}

function decideOne(
  kyc_enforcement: KycEnforcement,
  { users, keys, unpaid, limits }: Loaded,
  { account_id, input }: Command<NewOnramp>,
  now: Date,
): Verdict<KeyedOnramp> {
  const { user_id, terms } = input;
  const problems = [...input.problems];
  const kyc = users.get(account_id, user_id);
  const key = keys.get(account_id, user_id);
  if (!kyc || !key) return { refusal: Refusal.of([...problems, notFound("user_id")]) };
  problems.push(...holdProblems(kyc, "user_id"), ...deactivationProblems(kyc, "user_id"));
  if (kyc_enforcement !== "off") problems.push(...clearanceProblems(kyc, null, null, "user_id"));
  const count = (unpaid.get(account_id, user_id) ?? 0) + 1;
  if (count > UNPAID_PER_USER_MAX) {
    const message =
      `The user has ${UNPAID_PER_USER_MAX} unpaid onramps; ` +
      "create another one when one of them is paid or has failed.";
    problems.push({ field: "user_id", code: "limit_exceeded", message });
  }
  const spend = terms && spendOf(limits.value, { account_id, user_id }, terms);
  if (spend) problems.push(...limits.problems(spend, "onramp.destination_amount"));
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  if (spend) limits.take(spend);
  if (!terms) {
    const message =
      "Current rates are not available, so no onramp can be created; try again later.";
    return { refusal: new Refusal("unavailable", message, RETRY_AFTER_SECONDS) };
  }
  unpaid.set(account_id, user_id, count);
  const { fee_minor, deposit_minor, ...agreed } = terms;
  const onramp: Onramp = {
    account_id,
    id: newId(now),
    user_id,
    status: "initiated",
    status_message: null,
    ...agreed,
    fee: fee_minor,
    deposit_amount: deposit_minor,
    deposit_message: createDepositCode(),
    deposit_id: null,
    received: null,
    deposit_account: null,
    paid_at: null,
    delivery: null,
    tx_id: null,
    sequence: 1,
    created_at: now,
    updated_at: now,
  };
  return { output: { onramp, key }, subject: { subject_id: user_id, key } };
}

function spendOf(
  value: Limits["value"],
  user: { account_id: string; user_id: string },
  { price_version_id, crypto_currency: token, destination_amount: tokens }: OnrampTerms,
): Spend {
  const usd = value({ price_version_id, token, tokens, is_paid_out: false });
  return { ...user, largest: usd, parts: [{ payee: null, usd, count: 1 }] };
}
