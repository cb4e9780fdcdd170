import type { BeneficiaryType } from "../catalogue/payment-detail-fields.ts";
import type { FieldName, Values } from "./fields.ts";

const NAMES_OF: Readonly<Record<BeneficiaryType, readonly FieldName[]>> = {
  individual: ["first_name", "last_name"],
  business: ["company_name"],
};

/**
 * The names that contradict what is known. A person has more or fewer given names than a payroll
 * knows, accents or none: two names agree when all words of one are among those of the other,
 * without regard to case, accents and signs.
 */
export function findOtherNames(
  type: BeneficiaryType,
  known: Partial<Values>,
  submitted: Partial<Values>,
): FieldName[] {
  return NAMES_OF[type].filter((name) => {
    const before = wordsOf(known[name]);
    const after = wordsOf(submitted[name]);
    return before.size > 0 && !isWithin(before, after) && !isWithin(after, before);
  });
}

function wordsOf(name: string | null | undefined): Set<string> {
  const plain = (name ?? "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return new Set(plain.split(/[^\p{L}\p{N}]+/u).filter(Boolean));
}

function isWithin(words: Set<string>, others: Set<string>): boolean {
  return words.size > 0 && [...words].every((word) => others.has(word));
}
