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

/** The details of a payee that count, in a fixed order. */
export function payeeFields(beneficiary: Instruction["beneficiary"]): string[] {
  return Object.entries(beneficiary)
    .filter(([, value]) => typeof value === "string" && value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}
