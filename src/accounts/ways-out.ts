import { KEY_SCOPE_NAMES, type KeyScope, scopeOf } from "./key-scopes.ts";
import { mayDo } from "./member-callers/operations.ts";
import { ROLES, type Role } from "./model.ts";
import { may } from "./roles.ts";

type WayOut = {
  readonly meaning: string;
  /** What a caller has to send. */
  readonly operations: readonly string[];
  /** Whose keys: the account's own, or those of the operator's account. */
  readonly keys: "own" | "operator";
  /**
   * Above the approval amount two members must confirm it. `from_own_deposit` is not counted, since
   * only money that came in for it leaves, nor is `from_buyer`, since another account pays it.
   */
  readonly above: "two_members" | "from_own_deposit" | "from_buyer";
};

/** Every way by which money leaves, with the operations that it takes. */
export const WAYS_OUT = {
  pay_new_payee: {
    meaning: "Pay a payee of one's own choice, from a deposit or a balance",
    operations: ["createPaymentDetail", "createQuote", "createOfframps", "executeQuote"],
    keys: "own",
    above: "two_members",
  },
  execute_prepared: {
    meaning: "Execute payouts that others prepared",
    operations: ["executeQuote"],
    keys: "own",
    above: "two_members",
  },
  reroute_payout: {
    meaning: "Send a returned payout to another payee",
    operations: ["createPaymentDetail", "rerouteOfframp"],
    keys: "own",
    above: "two_members",
  },
  refund_balance: {
    meaning: "Send a user's balance to an address of one's own choice",
    operations: ["createRefundAddress", "createRefund"],
    keys: "own",
    above: "two_members",
  },
  deliver_onramp: {
    meaning: "Have a bank deposit delivered as coins to an address of one's own choice",
    operations: ["createOnramp"],
    keys: "own",
    above: "from_own_deposit",
  },
  redirect_invoice: {
    meaning: "Redirect what others pay for an invoice",
    operations: ["changeInvoice"],
    keys: "own",
    above: "from_buyer",
  },
  match_deposit: {
    meaning: "Assign an unmatched bank deposit to an onramp of one's own choice",
    operations: ["createOnramp", "matchDeposit"],
    keys: "operator",
    above: "two_members",
  },
  return_deposit: {
    meaning: "Send an unmatched bank deposit back to its sender",
    operations: ["returnDeposit"],
    keys: "operator",
    above: "two_members",
  },
  resolve_exception: {
    meaning: "Return, assign or write off money that the bank sent and nothing explains",
    operations: ["resolveBankException"],
    keys: "operator",
    above: "two_members",
  },
} as const satisfies Record<string, WayOut>;

export type WayOutName = keyof typeof WAYS_OUT;
export const WAY_OUT_NAMES = Object.keys(WAYS_OUT) as WayOutName[];

/** Somebody who acts against the account: a member with a role, or the holder of a key. */
export type Insider = `role:${Role}` | `key:${KeyScope}`;

/** The scope `sandbox` is none: in live mode it permits nothing. */
export const INSIDERS: readonly Insider[] = [
  ...ROLES.map((role) => `role:${role}` as const),
  ...KEY_SCOPE_NAMES.filter((scope) => scope !== "sandbox").map((scope) => `key:${scope}` as const),
];

/** How much the insiders together move by a way, without anybody else. */
export type Reach = "nothing" | "up_to_approval_amount" | "any_amount";

export function scopesOf(way: WayOutName): KeyScope[] {
  return [...new Set(WAYS_OUT[way].operations.map((operation) => scopeOf(operation)!))];
}

/** A key with its scope, a member in the dashboard with their role. */
function maySend(insider: Insider, operation: string): boolean {
  const role = ROLES.find((known) => insider === `role:${known}`);
  return role ? mayDo(role, operation) : insider === `key:${scopeOf(operation)}`;
}

export function reachOf(insiders: readonly Insider[], way: WayOutName): Reach {
  const can_send = WAYS_OUT[way].operations.every((operation) =>
    insiders.some((insider) => maySend(insider, operation)),
  );
  if (!can_send) return "nothing";
  if (WAYS_OUT[way].above !== "two_members") return "any_amount";
  const voters = insiders.filter(
    (insider) => insider.startsWith("role:") && may(insider.slice(5) as Role, "vote"),
  );
  return voters.length >= 2 ? "any_amount" : "up_to_approval_amount";
}
