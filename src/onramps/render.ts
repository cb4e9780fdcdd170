import type { Static } from "typebox";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { compileRender } from "../platform/http/render.ts";
import { minorToNumber, minorToText } from "../platform/money.ts";
import { formatDepositCode } from "./deposits/deposit-code.ts";
import { DEPOSIT_REASONS, type FiatDeposit, type Onramp } from "./model.ts";
import {
  FiatDepositAnswer,
  FiatDepositListAnswer,
  type FiatDepositRecord,
  OnrampListAnswer,
  type OnrampRecord,
  OnrampWithInstructions,
} from "./schemas.ts";

const writeOnramp = compileRender(OnrampWithInstructions);
const writeOnramps = compileRender(OnrampListAnswer);
const writeDeposit = compileRender(FiatDepositAnswer);
const writeDeposits = compileRender(FiatDepositListAnswer);

export function renderOnramp(onramp: Onramp): string {
  return `{"onramp":${withInstructions(onramp)}}`;
}

export function renderOnramps(onramps: readonly Onramp[], has_more: boolean): string {
  return writeOnramps({ onramps: onramps.map(toRecord), has_more });
}

export function renderOnrampEvent(onramp: Onramp): string {
  const timestamp = onramp.updated_at.getTime();
  return (
    `{"event":"onramp_update","timestamp":${timestamp},` +
    `"payload":{"onramp":${withInstructions(onramp)}}}`
  );
}

export function renderDeposit(deposit: FiatDeposit): string {
  return writeDeposit({ deposit: toDepositRecord(deposit) });
}

export function renderDeposits(deposits: readonly FiatDeposit[], has_more: boolean): string {
  return writeDeposits({ deposits: deposits.map(toDepositRecord), has_more });
}

function withInstructions(onramp: Onramp): string {
  const deposit_message = formatDepositCode(onramp.deposit_message);
  const deposit_instructions = { ...onramp.deposit_instructions, deposit_message };
  return writeOnramp({ ...toRecord(onramp), deposit_instructions });
}

/** The schema chooses the fields that are written. */
function toRecord(onramp: Onramp): Static<typeof OnrampRecord> {
  const digits = minorDigits(onramp.fiat_currency)!;
  return {
    ...onramp,
    destination_amount: minorToNumber(onramp.destination_amount, TOKEN_DIGITS),
    deposit_amount: minorToNumber(onramp.deposit_amount, digits),
    fee: minorToNumber(onramp.fee, digits),
    rate: Number(onramp.rate),
    created_at: onramp.created_at.toISOString(),
    updated_at: onramp.updated_at.toISOString(),
  };
}

function toDepositRecord(deposit: FiatDeposit): Static<typeof FiatDepositRecord> {
  const { matched_amount } = deposit;
  // A bank may report a currency that we do not support; most currencies have two digits.
  const digits = minorDigits(deposit.currency) ?? 2;
  return {
    ...deposit,
    ...deposit.details,
    message: deposit.reason && DEPOSIT_REASONS[deposit.reason],
    // Tokens set aside may have more digits than a number; `text` names the exact amount.
    amount: Number(minorToText(deposit.amount, digits)),
    booked_at: deposit.booked_at.toISOString(),
    account_id: deposit.onramp_account_id,
    matched_amount: matched_amount === null ? null : minorToNumber(matched_amount, digits),
    created_at: deposit.created_at.toISOString(),
    updated_at: deposit.updated_at.toISOString(),
  };
}
