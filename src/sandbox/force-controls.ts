import { type ApprovedChangeDeps, rerouteWithApproval } from "../offramps/approved-changes.ts";
import type { GatePolicy } from "../offramps/gates.ts";
import type { Offramp } from "../offramps/model.ts";
import {
  type PayDeps,
  type PaymentRule,
  paymentUseCase,
  type QuotePayment,
} from "../offramps/quotes/payment-use-case.ts";
import { sandboxTxId } from "../partners/chain/tx-id.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { runOnce } from "../platform/commands/run-once.ts";
import type { Command } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import type { Caller } from "../platform/http/route.ts";
import { newId } from "../platform/ids.ts";
import { statusOf } from "../screening/model.ts";
import { listMatchFacts } from "../screening/store.ts";
import { holdProblems } from "../users/clearance.ts";
import { lockKycs } from "../users/kyc-store.ts";

/** Who asks for a status. */
export type ForcedBy = Pick<Caller, "credential_id" | "actor" | "refuse">;

// The sandbox passes identity and document checks by itself. What limits who may move how much
// applies to it as to every other route: holds, limits and approval.
const OPEN_GATES: GatePolicy = { kyc_enforcement: "off", documents: "never" };
const CONTROLS: readonly Problem["code"][] = ["on_hold", "limit_exceeded"];

const FORCED_EXECUTION: PaymentRule<QuotePayment, null> = {
  name: "force-quotes",
  rows: 3,
  is_from_balance: false,
  load: async () => null,
  isRepeated: ({ executed_at }) => executed_at !== null,
  problems: (_payable, _command, _extra, shared) =>
    shared.filter(({ code }) => CONTROLS.includes(code)),
  pay: ({ quote }, _input, _extra, now) => ({
    ...quote,
    executed_at: now,
    tx_id: sandboxTxId(quote.deposit_token_chain, quote.id),
    tx_network: "sandbox",
    tx_named_at: now,
    tx_status: "final",
    updated_at: now,
  }),
  record: () => {},
};

/**
 * The sandbox plays partners. What the account itself decides needs the permission of whoever asks,
 * as by the route for it.
 */
export function requirePermission({ refuse }: ForcedBy, operation: string): void {
  const refusal = refuse?.({ operation, ip: null });
  if (refusal) throw refusal;
}

/** Executes the offramp's quote, if it was not; above the approval amount with a proposal. */
export async function forceExecution(
  tx: Transaction,
  deps: PayDeps,
  { account_id, user_id, quote_id }: Offramp,
  by: ForcedBy,
  now: Date,
): Promise<void> {
  const input = { user_id, quote_id, problems: [] };
  const use_case = paymentUseCase({ ...deps, policy: OPEN_GATES }, FORCED_EXECUTION);
  const outcome = await runOnce(tx, use_case, commandOf(account_id, input, by, now), now);
  if ("refusal" in outcome) throw outcome.refusal;
}

/** Re-routes a bounced payout to the bank account that it was sent to before. */
export async function forceReroute(
  tx: Transaction,
  deps: ApprovedChangeDeps,
  { account_id, user_id, id: offramp_id, payment_detail_id }: Offramp,
  by: ForcedBy,
  now: Date,
): Promise<void> {
  requirePermission(by, "rerouteOfframp");
  const requested = { payment_detail_id };
  const input = { user_id, quote_id: null, offramp_id, requested, problems: [] };
  const use_case = rerouteWithApproval({ ...deps, policy: OPEN_GATES });
  const outcome = await runOnce(tx, use_case, commandOf(account_id, input, by, now), now);
  if ("refusal" in outcome) throw outcome.refusal;
  if ("proposed" in outcome.output) {
    throw needsApproval("Re-route it with POST /users/:user_id/offramps/:offramp_id/reroute.");
  }
}

function commandOf<Input>(
  account_id: string,
  input: Input,
  { credential_id, actor }: ForcedBy,
  now: Date,
): Command<Input> {
  const by = { credential_id, ...(actor ? { actor } : {}) };
  return { id: newId(now), account_id, ...by, input, idempotency: null };
}

/** Locks the user; throws while nothing of theirs may leave. */
export async function refuseWhileHeld(
  tx: Transaction,
  user: { account_id: string; user_id: string },
  field: string,
): Promise<void> {
  const kyc = (await lockKycs(tx, [user])).get(user.account_id, user.user_id);
  const problems = kyc ? holdProblems(kyc, field) : [];
  if (problems.length > 0) throw Refusal.of(problems);
}

/** The same for a payout: nor while its payee is like an entry of a list. */
export async function refuseWhileStopped(
  tx: Transaction,
  offramp: Pick<Offramp, "account_id" | "user_id" | "payment_detail_id">,
  field: string,
): Promise<void> {
  await refuseWhileHeld(tx, offramp, field);
  await refuseWhileCompared(tx, { ...offramp, id: offramp.payment_detail_id }, field);
}

/** Only a reviewer of the operator's approves a payee who is like an entry of a list. */
export async function refuseWhileCompared(
  tx: Transaction,
  { account_id, user_id, id }: Pick<PaymentDetail, "account_id" | "user_id" | "id">,
  field: string,
): Promise<void> {
  const facts = await listMatchFacts(tx, [{ account_id, user_id }]);
  if (statusOf(facts.filter(({ record_id }) => record_id === id)) === "clear") return;
  const message = "Checks on this payment detail are still running.";
  throw Refusal.of([{ field, code: "on_hold", message }]);
}

export function needsApproval(advice: string): Refusal {
  return new Refusal("invalid_transition", `Two members must approve this payment. ${advice}`);
}
