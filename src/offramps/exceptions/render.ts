import Type from "typebox";
import { minorDigits } from "../../catalogue/currencies.ts";
import { listAnswer } from "../../platform/http/list.ts";
import { compileRender } from "../../platform/http/render.ts";
import { minorToText } from "../../platform/money.ts";
import { NULLABLE_TEXT, nullable, TIME, titledObject, UUID } from "../../platform/schema-parts.ts";
import { type BankException, EXCEPTION_KINDS, EXCEPTION_STATUSES, RESOLUTIONS } from "./model.ts";

const BankExceptionRecord = titledObject("BankException", {
  id: UUID,
  status: Type.Enum([...EXCEPTION_STATUSES]),
  kind: Type.Enum([...EXCEPTION_KINDS]),
  answer: Type.Enum(["booked", "returned", "rejected"], { description: "What the bank said." }),
  account_id: UUID,
  offramp_id: nullable(UUID, "The offramp that the end-to-end id names; null if it names none."),
  end_to_end_id: Type.String(),
  bank_reference: Type.String(),
  amount: Type.Number(),
  held_amount: Type.Number({ description: "What came to suspense because of the answer." }),
  currency: Type.String(),
  resolution: nullable(Type.Enum([...RESOLUTIONS])),
  reason: NULLABLE_TEXT,
  assigned_offramp_id: nullable(UUID),
  created_at: TIME,
  updated_at: TIME,
});
export const BankExceptionAnswer = Type.Object({ bank_exception: BankExceptionRecord });
export const BankExceptionsAnswer = listAnswer("bank_exceptions", BankExceptionRecord);

const writeOne = compileRender(BankExceptionAnswer);
const writeList = compileRender(BankExceptionsAnswer);

export function renderException(exception: BankException): string {
  return writeOne({ bank_exception: toRecord(exception) });
}

export function renderExceptions(exceptions: readonly BankException[], has_more: boolean): string {
  return writeList({ bank_exceptions: exceptions.map(toRecord), has_more });
}

function toRecord(exception: BankException) {
  const { amount, held, returns: _, assigned_attempt: __, ...shown } = exception;
  return {
    ...shown,
    amount: numberOf(amount, exception.currency),
    held_amount: numberOf(held, exception.currency),
    created_at: exception.created_at.toISOString(),
    updated_at: exception.updated_at.toISOString(),
  };
}

/** A bank may report any currency; most have two digits. */
export function exceptionAmount(amount: bigint, currency: string): string {
  return minorToText(amount, minorDigits(currency) ?? 2);
}

function numberOf(amount: bigint, currency: string): number {
  return Number(exceptionAmount(amount, currency));
}
