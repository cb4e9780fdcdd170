import { createHash } from "node:crypto";
import anyAscii from "any-ascii";

/** Every character that all banks of SEPA accept, and that SWIFT's older messages can carry. */
const ACCEPTED = /^[a-zA-Z0-9/\-?:().,'+ ]$/;

/** What the transliteration would write otherwise than banks and payees expect. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  ...pairs("ä ae ö oe ü ue Ä Ae Ö Oe Ü Ue ß ss ẞ SS ø o Ø O æ ae Æ Ae þ th Þ Th ð d Ð D"),
  ...pairs(`& + @ (at) _ - ; , " ' \` ' < ( > ) [ ( ] ) { ( } ) | / \\ / ~ - = -`),
  ...pairs("€ EUR £ GBP № No"),
]);

const UMLAUT_IN_CAPITALS = /[ÄÖÜÆÞ](?=\p{Lu})|(?<=\p{Lu})[ÄÖÜÆÞ](?!\p{Ll})/gu;

/**
 * A text in the characters that banks accept. A letter is never dropped: it is transliterated, and
 * what has no transliteration becomes a dot. Spaces are collapsed. Slashes stand neither at an end
 * nor twice in a row, since banks use them to separate fields.
 */
export function toBankText(text: string): string {
  const composed = text
    .toWellFormed()
    .normalize("NFC")
    .replace(UMLAUT_IN_CAPITALS, (letter) => REPLACED.get(letter)!.toUpperCase());
  let written = "";
  for (const character of composed) written += toAccepted(character);
  return trimmed(written.replace(/ {2,}/g, " ").replace(/\/{2,}/g, "/"));
}

/** A text that is shortened if need be: for texts that identify nobody. */
export function fitText(text: string, characters_max: number): string {
  return trimmed(toBankText(text).slice(0, characters_max));
}

/**
 * A name that is shortened if need be. A shortened one ends with a digest of the whole, so that two
 * payees whose names begin alike do not become one.
 */
export function fitName(name: string, characters_max: number): string {
  const whole = toBankText(name);
  if (whole.length <= characters_max) return whole;
  const digest = createHash("sha256").update(whole).digest("hex").slice(0, DIGEST_LENGTH);
  const kept = trimmed(whole.slice(0, characters_max - DIGEST_LENGTH - 1));
  return `${kept} ${digest.toUpperCase()}`;
}

const DIGEST_LENGTH = 8;

/** Whether something a person can read is left of a text. */
export function isReadable(bank_text: string): boolean {
  return /[a-zA-Z0-9]/.test(bank_text);
}

function toAccepted(character: string): string {
  if (ACCEPTED.test(character)) return character;
  const replaced = REPLACED.get(character);
  if (replaced !== undefined) return replaced;
  if (/\s/.test(character)) return " ";
  // Marks belong to the letter before; format characters are not seen.
  if (/[\p{M}\p{Cf}]/u.test(character)) return "";
  const ascii = [...anyAscii(character)].map((one) =>
    ACCEPTED.test(one) ? one : (REPLACED.get(one) ?? "."),
  );
  return ascii.length === 0 ? "." : ascii.join("");
}

/** Without spaces and slashes at the ends, and without what starts a field in older messages. */
function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && " /:-".includes(text[start]!)) start += 1;
  while (end > start && " /".includes(text[end - 1]!)) end -= 1;
  return text.slice(start, end);
}

function pairs(text: string): [string, string][] {
  const words = text.split(" ");
  return Array.from({ length: words.length / 2 }, (_, at) => [words[2 * at]!, words[2 * at + 1]!]);
}
