import type { Chain, Token } from "../catalogue/chains.ts";
import type { DepositRail } from "../catalogue/rails.ts";
import type { BankCoordinates } from "../partners/bank/port.ts";
import { DAY_MS } from "../platform/durations.ts";
import { digestOf } from "../platform/sealing/seal.ts";

export const ONRAMP_STATUSES = ["initiated", "sending_fiat", "crypto_sent", "failed"] as const;
export type OnrampStatus = (typeof ONRAMP_STATUSES)[number];

/** Legal transitions. `sending_fiat` means: paid, conversion and delivery in progress. */
export const ONRAMP_MOVES: Readonly<Record<OnrampStatus, readonly OnrampStatus[]>> = {
  initiated: ["sending_fiat", "failed"],
  sending_fiat: ["crypto_sent", "failed"],
  crypto_sent: [],
  failed: [],
};

/** Until then a deposit is credited automatically; later the operator decides. */
const RATE_LOCKED_MS = DAY_MS;
/** Each one locks a rate for a user who need not pay, so their number is limited. */
export const UNPAID_PER_USER_MAX = 20;
/** An onramp that is not paid by then fails. */
export const UNPAID_LIFE_MS = 7 * DAY_MS;

export type Onramp = {
  account_id: string;
  id: string;
  user_id: string;
  status: OnrampStatus;
  status_message: string | null;
  crypto_currency: Token;
  crypto_rails: Chain;
  /** Millionths of a token. */
  destination_amount: bigint;
  destination_address: string;
  fiat_currency: string;
  fiat_rails: DepositRail;
  rate: string;
  /** Minor units of the currency; the deposit includes the fee. */
  fee: bigint;
  deposit_amount: bigint;
  price_version_id: string;
  deposit_instructions: BankCoordinates;
  /** The code by which a bank transfer's text is matched to this onramp. */
  deposit_message: string;
  /** The deposit that pays it, and the amount taken from it. */
  deposit_id: string | null;
  received: bigint | null;
  /** The ledger account that the deposit is in. */
  deposit_account: string | null;
  /** When it was paid. */
  paid_at: Date | null;
  /** Null until it is paid. From `sending` on the coins may have been sent, unless `refused`. */
  delivery: "waiting" | "sending" | "sent" | "refused" | null;
  tx_id: string | null;
  /** Number of the last event. */
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

export const DEPOSIT_STATUSES = [
  "unmatched",
  "matching",
  "matched",
  "releasing",
  "returning",
  "returned",
  "dismissed",
  "kept",
] as const;
export type DepositStatus = (typeof DEPOSIT_STATUSES)[number];

/**
 * The transitions of a received deposit, and the file that makes each:
 *
 *     bank line ─▶ unmatched | matching            record-credits (by its code)
 *     unmatched ─▶ matching | returning | dismissed  settle-deposits (the operator)
 *     unmatched ─▶ kept                            reconcile/treasury (the operator's own money)
 *     matched   ─▶ releasing                       settle-deposits
 *     matching  ─▶ matched | unmatched             move-deposits, with fund-onramp
 *     matched   ─▶ releasing                       deliver-onramps (held for too long)
 *     releasing ─▶ returning | matched | unmatched  move-deposits, with give-back-onramp
 *     returning ─▶ returned | unmatched            move-deposits, with the bank
 *
 * `unmatched` waits for the operator; the states in -ing proceed without the operator.
 */
export const DEPOSIT_MOVES: Readonly<Record<DepositStatus, readonly DepositStatus[]>> = {
  unmatched: ["matching", "returning", "dismissed", "kept"],
  matching: ["matched", "unmatched"],
  matched: ["releasing"],
  releasing: ["returning", "matched", "unmatched"],
  returning: ["returned", "unmatched"],
  returned: [],
  dismissed: [],
  kept: [],
};

/** Why a deposit waits for the operator. */
export const DEPOSIT_REASONS = {
  no_code: "The transfer text contains no deposit message.",
  unknown_code: "The transfer text contains an unknown code.",
  two_codes: "The transfer text contains the codes of several onramps.",
  conflict: "The bank already reported this reference with another amount, currency or date.",
  wrong_currency: "The deposit's currency differs from the onramp's.",
  short: "The amount is less than the onramp requires.",
  over: "The amount is more than the onramp requires.",
  late: "The deposit arrived after the onramp's rate had expired.",
  rate_moved: "The rate has moved too far since the onramp was created.",
  held: "A check held the onramp for too long, and it has failed.",
  double: "The onramp is already paid.",
  closed: "The onramp has failed and accepts no deposit.",
  excess: "The surplus of a deposit that was more than the onramp required.",
  return_refused: "The bank could not return the deposit.",
  not_creditable: "Tokens that could not be credited: the amount is too large for the ledger.",
  erased_user: "Tokens that reached the address of a user whose data was erased.",
  coins_left: "The onramp delivered its tokens before the deposit could be returned.",
} as const;
export type DepositReason = keyof typeof DEPOSIT_REASONS;

export type DepositDetails = { text: string; payer_name: string };

export type FiatDeposit = {
  account_id: string;
  id: string;
  bank_account: string;
  bank_reference: string;
  part: number;
  is_conflict: boolean;
  /** Minor units. */
  amount: bigint;
  currency: string;
  booked_at: Date;
  details: DepositDetails;
  /** Null if it was recorded before each bank account had its own ledger account. */
  ledger_account: string | null;
  status: DepositStatus;
  reason: DepositReason | null;
  is_posted: boolean;
  matched_by: "code" | "match" | "accept_difference" | null;
  onramp_account_id: string | null;
  onramp_id: string | null;
  matched_amount: bigint | null;
  /** Number of attempts to return it. */
  returns: number;
  created_at: Date;
  updated_at: Date;
};

type FundingFacts = Pick<Onramp, "status" | "fiat_currency" | "deposit_amount" | "created_at">;

/**
 * Why a deposit cannot pay an onramp; null when it can. Matched by its code, a deposit must have
 * the exact amount and be in time; the operator may accept a late one, and with `accept_difference`
 * another amount.
 */
export function fundingProblem(
  onramp: FundingFacts,
  deposit: Pick<FiatDeposit, "amount" | "matched_amount" | "currency" | "booked_at">,
  matched_by: NonNullable<FiatDeposit["matched_by"]>,
): DepositReason | null {
  if (onramp.status === "failed") return "closed";
  if (onramp.status !== "initiated") return "double";
  if (deposit.currency !== onramp.fiat_currency) return "wrong_currency";
  // Before the amount: an operator who accepts another amount must know that the rate has lapsed.
  const locked_until = onramp.created_at.getTime() + RATE_LOCKED_MS;
  if (matched_by === "code" && deposit.booked_at.getTime() > locked_until) return "late";
  if (matched_by === "accept_difference") return null;
  const amount = openAmount(deposit);
  if (amount === onramp.deposit_amount) return null;
  return amount < onramp.deposit_amount ? "short" : "over";
}

/** Whether a paid onramp can still return its deposit: its coins cannot have been sent. */
export function isReturnable({ status, delivery }: Pick<Onramp, "status" | "delivery">): boolean {
  return status === "sending_fiat" && (delivery === "waiting" || delivery === "refused");
}

/**
 * The amount of this row: what an onramp takes, or took and gave back, else the whole deposit. The
 * excess over that is a row of its own, with a higher `part`.
 */
export function openAmount(deposit: Pick<FiatDeposit, "amount" | "matched_amount">): bigint {
  return deposit.matched_amount ?? deposit.amount;
}

/**
 * Every visible, non-personal field: what the digest in the last event covers. The ledger covers
 * `delivery`.
 */
export function digestFacts(onramp: Omit<Onramp, "destination_address">): Buffer {
  return digestOf(
    onramp.account_id,
    onramp.id,
    onramp.user_id,
    onramp.status,
    onramp.status_message,
    onramp.crypto_currency,
    onramp.crypto_rails,
    onramp.destination_amount,
    onramp.fiat_currency,
    onramp.fiat_rails,
    onramp.rate,
    onramp.fee,
    onramp.deposit_amount,
    onramp.price_version_id,
    ...COORDINATES.map((name) => onramp.deposit_instructions[name]),
    onramp.deposit_message,
    onramp.deposit_id,
    onramp.received,
    onramp.tx_id,
    onramp.sequence,
    onramp.created_at.toISOString(),
    onramp.updated_at.toISOString(),
    // Only where there is one, so that older digests stay valid.
    ...(onramp.paid_at === null ? [] : [`paid at ${onramp.paid_at.toISOString()}`]),
  );
}

/** In a fixed order: the digest depends on it. */
const COORDINATES = [
  "bank_account_number",
  "bank_routing_number",
  "bank_iban",
  "bank_swift_bic",
  "bank_name",
  "bank_address",
  "bank_beneficiary_name",
] as const satisfies readonly (keyof BankCoordinates)[];
