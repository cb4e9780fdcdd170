import { findAccountById } from "../../accounts/store.ts";
import { findRefunds } from "../../balances/refund-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { findDeposit } from "../../onramps/deposits/store.ts";
import { findOnramps } from "../../onramps/store.ts";
import type { OpenSend } from "../../partners/chain/evm/send/model.ts";
import { ownerOf } from "../../partners/chain/send-keys.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { nameOfUser } from "../../users/model.ts";
import { findUsers, openUsers } from "../../users/store.ts";

type SendDeps = Pick<ModuleCore, "database" | "keyring" | "operator_id">;

/** The refund, onramp or deposit that a transaction pays. */
type Paid = { account_id: string; user_id: string | null; amount: bigint; token: string };

/** Transactions with what they pay and to whom; sweeps and top-ups pay nobody. */
export async function describeSends(deps: SendDeps, sends: readonly OpenSend[]) {
  const paid = await findPaid(deps, sends);
  const { database, keyring } = deps;
  const keys = [...paid.values()].flatMap(({ account_id, user_id }) =>
    user_id === null ? [] : [{ account_id, user_id }],
  );
  const users = await openUsers(database, keyring, await findUsers(database, keys));
  const names = new Map(users.map((user) => [user.id, nameOfUser(user)]));
  const account_ids = [...new Set([...paid.values()].map(({ account_id }) => account_id))];
  const accounts = await Promise.all(account_ids.map((id) => findAccountById(database, id)));
  const account_names = new Map(accounts.map((account) => [account?.id, account?.name]));
  return sends.map((send) => {
    const { key, chain, state, state_since, problem, created_at, attempts, is_cancelled } = send;
    const one = paid.get(key);
    return {
      ...{ id: key, chain, state, state_since, problem, created_at, is_cancelled },
      /** What it is for: `refund`, `onramp`, `sweep` … */
      purpose: key.split(":")[0],
      tx_id: attempts.findLast((attempt) => attempt.tx_id !== null)?.tx_id ?? null,
      amount: one ? minorToText(one.amount, TOKEN_DIGITS) : null,
      token: one?.token ?? null,
      person: one?.user_id ? (names.get(one.user_id) ?? null) : null,
      account: one ? (account_names.get(one.account_id) ?? null) : null,
    };
  });
}

async function findPaid(
  { database, operator_id }: SendDeps,
  sends: readonly OpenSend[],
): Promise<Map<string, Paid>> {
  const owners = sends.flatMap(({ key }) => {
    const owner = ownerOf(key);
    return owner ? [{ key, owner }] : [];
  });
  const keysOf = (kind: "refund" | "onramp") =>
    owners.flatMap(({ owner }) => (owner.kind === kind ? [owner] : []));
  const deposit_ids = owners.flatMap(({ owner }) => (owner.kind === "deposit" ? [owner.id] : []));
  const [refunds, onramps, deposits] = await Promise.all([
    findRefunds(database, keysOf("refund")),
    findOnramps(database, keysOf("onramp")),
    Promise.all(deposit_ids.map((id) => findDeposit(database, operator_id, id))),
  ]);
  const records = new Map<string, Paid>([
    ...refunds.map((row) => [row.id, row] as const),
    ...onramps.map((row) => {
      const { account_id, user_id, destination_amount: amount, crypto_currency: token } = row;
      return [row.id, { account_id, user_id, amount, token }] as const;
    }),
    ...deposits.flatMap((row) => {
      if (!row) return [];
      const { id, account_id, amount, currency: token } = row;
      return [[id, { account_id, user_id: null, amount, token }] as const];
    }),
  ]);
  return new Map(
    owners.flatMap(({ key, owner }) => {
      const record = records.get(owner.id);
      return record ? [[key, record] as const] : [];
    }),
  );
}
