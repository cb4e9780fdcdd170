import { payableStatus } from "../../payment-details/model.ts";
import { lockPaymentDetails } from "../../payment-details/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { lockKycs } from "../../users/kyc-store.ts";
import { fileGate, type GatePolicy } from "../gates.ts";
import { findOfframps } from "../store.ts";
import { offrampIdOf } from "./model.ts";

type LeavingPolicy = Pick<GatePolicy, "kyc_enforcement">;
type SentPayment = { account_id: string; end_to_end_id: string };

/**
 * Those of the payments that wait at a bank's door and must not leave now: their user or account is
 * frozen, screened or no longer approved, or the payee is being checked. Documents, invoices and
 * approvals were settled when the payout began.
 */
export async function findStoppedPayouts(
  tx: Transaction,
  policy: LeavingPolicy,
  payments: readonly SentPayment[],
): Promise<Set<string>> {
  const stopped = new Set<string>();
  for (let from = 0; from < payments.length; from += READ_AT_ONCE) {
    const part = payments.slice(from, from + READ_AT_ONCE);
    for (const id of await findStopped(tx, policy, part)) stopped.add(id);
  }
  return stopped;
}

const READ_AT_ONCE = 500;

async function findStopped(
  tx: Transaction,
  policy: LeavingPolicy,
  payments: readonly SentPayment[],
): Promise<string[]> {
  const keys = payments.flatMap(({ account_id, end_to_end_id }) => {
    const id = offrampIdOf(end_to_end_id);
    return id === null ? [] : [{ account_id, id }];
  });
  if (keys.length === 0) return [];
  const offramps = AccountMap.of(await findOfframps(tx, keys), (offramp) => offramp);
  const found = payments.flatMap(({ account_id, end_to_end_id }) => {
    const offramp = offramps.get(account_id, offrampIdOf(end_to_end_id) ?? "");
    return offramp ? [{ end_to_end_id, offramp }] : [];
  });
  const users = found.map(({ offramp }) => offramp);
  const details = found.map(({ offramp: { account_id, payment_detail_id: id } }) => ({
    ...{ account_id, id },
  }));
  const [kycs, detail_rows] = [
    await lockKycs(tx, users),
    AccountMap.of(await lockPaymentDetails(tx, details), (row) => row),
  ];
  const stopped = found.filter(({ offramp }) => {
    const { account_id, user_id, payment_detail_id } = offramp;
    const detail = detail_rows.get(account_id, payment_detail_id);
    const detail_status = detail && payableStatus(detail);
    const kyc = kycs.get(account_id, user_id);
    return fileGate(policy, offramp, { kyc, detail_status }) !== null;
  });
  return stopped.map(({ end_to_end_id }) => end_to_end_id);
}
