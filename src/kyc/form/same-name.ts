import type { BeneficiaryType } from "../../catalogue/payment-detail-fields.ts";
import type { IdentityFieldName, Values } from "../fields.ts";

const NAMES_OF: Readonly<Record<BeneficiaryType, readonly IdentityFieldName[]>> = {
  individual: ["first_name", "last_name"],
  business: ["company_name"],
};

/**
 * The names that contradict the known ones. A person may have more or fewer given names than a
 * payroll lists, with or without accents and punctuation: two names match when all words of one are
 * among those of the other, or when they are equal without spaces.
 */
export function findOtherNames(
  type: BeneficiaryType,
  known: Partial<Values>,
  submitted: Partial<Values>,
): IdentityFieldName[] {
  return NAMES_OF[type].filter((name) => {
    const before = known[name] ?? "";
    return before !== "" && !isSameName(before, submitted[name] ?? "");
  });
}

export function isSameName(one: string, other: string): boolean {
  const [a, b] = [fold(one), fold(other)];
  if (joined(a) === joined(b)) return joined(a) !== "" || one === other;
  // Jean-Pierre matches both "Jean Pierre" and "Jeanpierre".
  return areWithin(wordsOf(a, SIGNS), wordsOf(b, SIGNS)) || areWithin(wordsOf(a), wordsOf(b));
}

/** Words that accompany names and are not names by themselves. */
const PARTICLES: ReadonlySet<string> = new Set([
  ...["a", "al", "ben", "bin", "bint", "binti", "da", "das", "de", "del", "della", "der", "des"],
  ...["di", "do", "dos", "du", "e", "el", "ibn", "la", "las", "le", "los", "ten", "ter", "van"],
  ...["von", "y", "zu", "zum", "zur"],
]);
/** Letters without a removable accent, and their usual transcription. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ł: "l", ø: "o", ı: "i", ß: "ss", æ: "a", œ: "o", đ: "d", ð: "d", þ: "th", ħ: "h" },
  ...{ ŋ: "n", ə: "a", ς: "σ" },
};
/** The accents of Latin, Greek and Cyrillic. The vowel signs of other scripts are letters. */
const ACCENTS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff]/g;
const JOINERS = /[\u200c\u200d]/g;
const SIGNS = /[^\p{L}\p{M}\p{N}]+/u;
const SPACES = /\s+/u;

/** Müller, Mueller and Muller are one name: of two such vowels the first is kept. */
function fold(name: string): string {
  const plain = name.toLowerCase().normalize("NFKD").replace(ACCENTS, "").replace(JOINERS, "");
  const letters = [...plain].map((letter) => LETTERS[letter] ?? letter).join("");
  return letters.replace(/([aou])e/g, "$1").replace(/aa/g, "a");
}

function joined(folded: string): string {
  return folded.split(SIGNS).join("");
}

/** Without a separator, splits at spaces only and keeps punctuation. */
function wordsOf(folded: string, separator = SPACES): Set<string> {
  return new Set(folded.split(separator).map(joined).filter(Boolean));
}

function areWithin(one: Set<string>, other: Set<string>): boolean {
  return isWithin(one, other) || isWithin(other, one);
}

/** A particle or an initial alone does not identify a person. */
function isWithin(words: Set<string>, others: Set<string>): boolean {
  const says_something = [...words].some((word) => !PARTICLES.has(word) && !/^[a-z]$/.test(word));
  return says_something && [...words].every((word) => others.has(word));
}
