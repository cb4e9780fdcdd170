import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { lockKycs } from "../users/kyc-store.ts";
import type { Kyc } from "../users/model.ts";
import type { PaymentDetail } from "./model.ts";
import { type ChangedDetail, moveDetail, recordDetailChanges } from "./record-detail-changes.ts";
import { renderPaymentDetail } from "./render.ts";
import { lockPaymentDetails, toPaymentDetails } from "./store.ts";

type Deactivation = { user_id: string; id: string; problems: readonly Problem[] };

/** Null when it was already deactivated. */
type Deactivated = { detail: PaymentDetail; change: ChangedDetail | null };
type Loaded = { users: AccountMap<Kyc>; details: AccountMap<PaymentDetail>; keys: SubjectKeys };

/** Always allowed and safe to repeat; new offramps are refused from then on. */
export function deactivatePaymentDetails(
  keyring: Keyring,
): UseCase<Deactivation, Loaded, Deactivated> {
  return {
    name: "deactivate-payment-details",
    rows: () => 1,
    load: async (tx, commands) => {
      const wanted = commands.map(({ account_id, input: { id, user_id } }) => {
        return { account_id, id, user_id };
      });
      const [users, rows, keys] = await Promise.all([
        // A cached key may belong to a person erased in the meantime.
        lockKycs(tx, wanted),
        lockPaymentDetails(tx, wanted),
        keyring.openUserKeys(tx, wanted),
      ]);
      const details = AccountMap.of(toPaymentDetails(rows, keys), (detail) => detail);
      return { users, details, keys };
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) =>
      recordDetailChanges(
        tx,
        accepted.flatMap(({ output }) => output.change ?? []),
        now,
      ),
    render: ({ detail }) => renderPaymentDetail(detail),
  };
}

function decideOne(
  { users, details, keys }: Loaded,
  { account_id, input }: Command<Deactivation>,
  now: Date,
): Verdict<Deactivated> {
  if (!users.has(account_id, input.user_id)) {
    return { refusal: Refusal.of([...input.problems, notFound("user_id")]) };
  }
  const detail = details.get(account_id, input.id);
  if (!detail || detail.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("payment_detail_id")]) };
  }
  if (input.problems.length > 0) return { refusal: Refusal.of(input.problems) };
  const key = keys.get(account_id, input.user_id)!;
  const subject = { subject_id: input.user_id, key };
  if (detail.status === "deactivated") return { output: { detail, change: null }, subject };
  const change = moveDetail(detail, "deactivated", key, now);
  details.set(account_id, input.id, change.detail);
  return { output: { detail: change.detail, change }, subject };
}
