import { BANK_IDENTIFIERS } from "../../catalogue/payment-detail-fields.ts";
import type { Instruction } from "./port.ts";

type Content = Pick<Instruction, "amount" | "currency">;

/** A payment was submitted under an id that the bank has for another one. */
export class OtherContentError extends Error {
  override name = "OtherContentError";
}

/** Refuses an instruction whose id is that of another payment: nobody may take it for paid. */
export function assertSamePayment(
  { end_to_end_id, amount, currency }: Instruction,
  known: Content,
  is_same_payee: boolean,
): void {
  if (known.amount === amount && known.currency === currency && is_same_payee) return;
  throw new OtherContentError(`the bank has ${end_to_end_id} with other content`);
}

type Beneficiary = Instruction["beneficiary"];

/**
 * Whether a payment that the bank knows is repeated. Another version may name fewer codes of the
 * payee's bank than the one that submitted it; what the bank has is not changed by it.
 */
export function isSamePayee(known: Beneficiary, repeated: Beneficiary): boolean {
  const [before, now] = [payeeFields(known), payeeFields(repeated)];
  const is_same = JSON.stringify(before.payee) === JSON.stringify(now.payee);
  return is_same && now.codes.every((code) => before.codes.includes(code));
}

const CODES: ReadonlySet<string> = new Set(BANK_IDENTIFIERS);

/** The details of a payee that count, in a fixed order; the codes of their bank apart. */
export function payeeFields(beneficiary: Beneficiary): { payee: string[]; codes: string[] } {
  const given = Object.entries(beneficiary)
    .filter(([, value]) => typeof value === "string" && value !== "")
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const textsOf = (is_code: boolean) =>
    given.flatMap(([name, value]) => (CODES.has(name) === is_code ? [`${name}=${value}`] : []));
  return { payee: textsOf(false), codes: textsOf(true) };
}
