import type { LimitDeps } from "../limits/load-limits.ts";
import { loadTokenValues } from "../limits/usd-rates.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { newId } from "../platform/ids.ts";
import { findUser, toUsers } from "../users/store.ts";
import { describeTransfer, type Vasp } from "./ivms101.ts";
import type { Transfer } from "./model.ts";
import { insertTravelRecord } from "./store.ts";

export type TravelDeps = {
  keyring: Keyring;
  limits: LimitDeps;
  /** In cents: transfers of more than this have a record. Null: none has. */
  travel_rule_above_usd: bigint | null;
  vasp: Vasp;
};

/**
 * Records who sends to whom, in the transaction that lets the tokens go, so that none leaves
 * without it. What is not known is marked, and does not hold the transfer.
 */
export async function recordTravel(
  tx: Transaction,
  { keyring, limits, travel_rule_above_usd, vasp }: TravelDeps,
  { address, price_version_id, ...transfer }: Transfer,
  now: Date,
): Promise<void> {
  if (travel_rule_above_usd === null) return;
  const { account_id, user_id, token, amount, record_id } = transfer;
  const value = await loadTokenValues(tx, limits, [price_version_id]);
  const amount_usd = value({ price_version_id, token, tokens: amount, is_paid_out: false });
  if (amount_usd <= travel_rule_above_usd) return;
  const row = await findUser(tx, { account_id, user_id });
  const keys = await keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const [user] = toUsers(row ? [row] : [], keys);
  if (!user) throw new Error("tokens are sent for a user who was erased");
  const { ivms101, missing } = describeTransfer(user, { record_id, address }, vasp);
  const status = missing.length === 0 ? "complete" : "incomplete";
  const record = { ...transfer, id: newId(now), amount_usd, status, missing, ivms101 } as const;
  insertTravelRecord(tx, { ...record, created_at: now }, keys.get(account_id, user_id)!);
}
