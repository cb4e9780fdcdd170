import type { Chain, Token } from "../catalogue/chains.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { owedTo } from "../ledger/model.ts";
import { postEntries } from "../ledger/post.ts";
import { refundStarted } from "../ledger/postings.ts";
import { type Balances, findBalances } from "../ledger/store.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { minorToText } from "../platform/money.ts";
import { type Checked, Problems, problemsOf } from "../platform/problems.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { lockUsers } from "../users/store.ts";
import {
  findRegistered,
  hashAddress,
  insertRefunds,
  type Refund,
  registeredKey,
} from "./refund-store.ts";
import { listReservations, type Reservation } from "./reservation-store.ts";

export const SEND_REFUND_TASK = "send-refund";

export type RefundTerms = { token: Token; chain: Chain; amount: bigint; address: string };
export type RefundRequest = { user_id: string; wanted: Checked<RefundTerms> };

type LoadedRefunds = {
  users: Set<string>;
  keys: SubjectKeys;
  balances: Balances;
  registered: ReadonlyMap<string, unknown>;
  reservations: readonly Reservation[];
  /** What earlier commands of this set have taken from each balance. */
  taken: Map<string, bigint>;
};
type Started = { refund: Refund; key: Buffer };

/**
 * Refunds a user's balance to an address that the user has registered; to another address only with
 * two-person approval.
 */
export function refundBalances(
  keyring: Keyring,
  index_key: Buffer,
  render: (refund: Refund) => string,
): UseCase<RefundRequest, LoadedRefunds, Started> {
  return {
    name: "refund-balances",
    rows: () => 4,
    load: async (tx, commands) => {
      const users = commands.map(({ account_id, input }) => ({
        account_id,
        user_id: input.user_id,
      }));
      // Every operation that lowers `owed` locks the user first, then reads the balance.
      const rows = await lockUsers(tx, users);
      const [keys, balances, registered, reservations] = await Promise.all([
        keyring.openSubjects(
          tx,
          users.map(({ account_id, user_id }) => ({ account_id, subject_id: user_id })),
        ),
        findBalances(tx, commands.flatMap(owedKeys)),
        findRegistered(
          tx,
          commands.flatMap(({ account_id, input: { user_id, wanted } }) =>
            "value" in wanted
              ? [{ account_id, user_id, address_index: indexOf(index_key, wanted.value) }]
              : [],
          ),
        ),
        listReservations(tx, users),
      ]);
      const known = new Set(rows.map((row) => `${row.account_id} ${row.id}`));
      const taken = new Map<string, bigint>();
      return { users: known, keys, balances, registered, reservations, taken };
    },
    decide: (loaded, commands, now) =>
      new Map(
        commands.map((command) => [
          command.id,
          decideOne(loaded, command, isRegistered(index_key, loaded, command), now),
        ]),
      ),
    record: (tx, _loaded, accepted, now) => {
      const refunds = accepted.map(({ output }) => ({ ...output.refund, key: output.key }));
      insertRefunds(tx, refunds);
      postEntries(tx, refunds.map(refundStarted), now);
      enqueueTasks(
        tx,
        refunds.map(({ account_id, id }) => taskNow(SEND_REFUND_TASK, { account_id, id }, now)),
      );
    },
    render: ({ refund }) => render(refund),
  };
}

/** Whether the user of the command has registered its address. */
export function isRegistered(
  index_key: Buffer,
  { registered }: LoadedRefunds,
  { account_id, input: { user_id, wanted } }: Command<RefundRequest>,
): boolean {
  if ("problems" in wanted) return false;
  return registered.has(registeredKey({ account_id, user_id }, indexOf(index_key, wanted.value)));
}

function indexOf(index_key: Buffer, { chain, address }: RefundTerms): Buffer {
  return hashAddress(index_key, chain, address);
}

function decideOne(
  loaded: LoadedRefunds,
  command: Command<RefundRequest>,
  is_registered: boolean,
  now: Date,
): Verdict<Started> {
  const { account_id, input } = command;
  const { user_id, wanted } = input;
  const key = loaded.keys.get(account_id, user_id);
  if (!key || !loaded.users.has(`${account_id} ${user_id}`)) {
    return { refusal: Refusal.of([...problemsOf(wanted), notFound("user_id")]) };
  }
  if ("problems" in wanted) return { refusal: Refusal.of(wanted.problems) };
  const { token, chain, amount, address } = wanted.value;
  const problems = new Problems();
  if (!is_registered && command.approval === undefined) {
    const message = "Register the address first: POST /users/:user_id/refund_addresses.";
    problems.invalid("refund.address", message);
  }
  const balance_name = `${account_id} ${user_id} ${token} ${chain}`;
  const taken = loaded.taken.get(balance_name) ?? 0n;
  const [owed_key] = owedKeys(command);
  const balance = loaded.balances.get(owed_key!) - taken;
  const reserved = sumReserved(loaded.reservations, { account_id, user_id, token, chain });
  if (amount > balance - reserved) {
    const shown = `${minorToText(balance, TOKEN_DIGITS)} ${token}`;
    const message = `The user's balance on ${chain} is ${shown}.`;
    const set_aside = `Executed quotes have reserved ${minorToText(reserved, TOKEN_DIGITS)} of it.`;
    problems.invalid("refund.amount", reserved > 0n ? `${message} ${set_aside}` : message);
  }
  if (!problems.is_empty) return { refusal: Refusal.of(problems.list) };
  loaded.taken.set(balance_name, taken + amount);
  const refund: Refund = {
    account_id,
    id: newId(now),
    user_id,
    token,
    chain,
    amount,
    address,
    status: "pending",
    tx_id: null,
    created_at: now,
    updated_at: now,
  };
  return { output: { refund, key }, subject: { subject_id: user_id, key } };
}

function owedKeys({ account_id, input: { user_id, wanted } }: Command<RefundRequest>) {
  if ("problems" in wanted) return [];
  const { token, chain } = wanted.value;
  return [{ account_id, ledger_account: owedTo(user_id, chain), currency: token }];
}

/** The part of a user's balance in a token on a chain that is reserved for executed quotes. */
export function sumReserved(
  reservations: readonly Reservation[],
  of: { account_id: string; user_id: string; token: string; chain: string },
): bigint {
  return reservations
    .filter(
      ({ account_id, user_id, deposit_token, deposit_token_chain }) =>
        account_id === of.account_id &&
        user_id === of.user_id &&
        deposit_token === of.token &&
        deposit_token_chain === of.chain,
    )
    .reduce((sum, { reserved }) => sum + reserved, 0n);
}
