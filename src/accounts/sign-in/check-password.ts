import type { Problem } from "../../platform/errors.ts";

/** With a second factor 8 would do (NIST SP 800-63B-4); not everybody has one. */
export const PASSWORD_LENGTH_MIN = 12;
export const PASSWORD_LENGTH_MAX = 200;

const PRODUCT = "sliproad";
/** A shorter part of an e-mail address occurs in too many good passwords. */
const EMAIL_PART_MIN = 4;
const KEYBOARD_ROWS = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop"];
const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const SUBSTITUTES: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
  "!": "i",
};

/**
 * What is wrong with a new password. Length counts, kinds of characters do not; what attackers try
 * first is refused: common passwords (a list of about 49 000) with digits or signs around them or
 * in place of letters, repetitions, rows of the keyboard, the e-mail address, the product's name.
 */
export async function checkPassword(password: string, email: string): Promise<Problem[]> {
  const problem = lengthProblem(password) ?? (await guessProblem(password, email));
  return problem === null ? [] : [{ field: "password", code: "record_invalid", message: problem }];
}

function lengthProblem(password: string): string | null {
  const length = [...password.normalize("NFKC")].length;
  if (length < PASSWORD_LENGTH_MIN) {
    return `Choose a password of at least ${PASSWORD_LENGTH_MIN} characters.`;
  }
  if (length > PASSWORD_LENGTH_MAX) {
    return `Choose a password of at most ${PASSWORD_LENGTH_MAX} characters.`;
  }
  return null;
}

async function guessProblem(password: string, email: string): Promise<string | null> {
  const text = password.normalize("NFKC").toLowerCase();
  if (isSimple(text)) return "This password is a simple sequence. Choose another one.";
  const own = ownWords(email);
  const common = await commonPasswords();
  if (common.has(text)) return TOO_COMMON;
  for (const form of [text, plainLetters(text)]) {
    const words = new Set(form.split(/[^\p{L}]+/u).filter((word) => word.length > 1));
    if (words.size === 0) return "Use letters as well as digits and signs.";
    const left = [...words].filter((word) => !own.has(word));
    if (left.length === 0) return "Do not use your e-mail address or the name Sliproad.";
    const guessed = left.filter((word) => common.has(word) || isSimple(word));
    if (guessed.length === left.length && left.length === 1) return TOO_COMMON;
  }
  return null;
}

const TOO_COMMON =
  "This password is too common, or made from one that is. Choose another one, for example four " +
  "words that do not belong together.";

/** Without the digits and signs around it, and with letters instead of those inside. */
function plainLetters(text: string): string {
  const inner = text.replace(/^[^\p{L}@$]+|[^\p{L}]+$/gu, "");
  return inner.replace(/[0134579@$!]/g, (sign) => SUBSTITUTES[sign] ?? sign);
}

/** A repetition of a few characters, or a part of the alphabet or of a row of the keyboard. */
function isSimple(text: string): boolean {
  const half = Math.floor(text.length / 2);
  for (let length = 1; length <= half; length += 1) {
    const unit = text.slice(0, length);
    if (unit.repeat(Math.ceil(text.length / length)).startsWith(text)) return true;
  }
  return [...KEYBOARD_ROWS, ALPHABET].some((row) => {
    const around = row.repeat(Math.ceil(text.length / row.length) + 1);
    return around.includes(text) || [...around].reverse().join("").includes(text);
  });
}

function ownWords(email: string): Set<string> {
  const parts = email.toLowerCase().split(/[^\p{L}]+/u);
  return new Set([PRODUCT, ...parts.filter((part) => part.length >= EMAIL_PART_MIN)]);
}

let loaded: Promise<ReadonlySet<string>> | undefined;

/** Loaded when the first password is set: most processes never need it. */
function commonPasswords(): Promise<ReadonlySet<string>> {
  loaded ??= import("@zxcvbn-ts/language-common").then(
    ({ dictionary }) => new Set(dictionary["passwords-common"] as string[]),
  );
  return loaded;
}
