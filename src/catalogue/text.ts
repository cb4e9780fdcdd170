import type { Problem } from "../platform/errors.ts";

/** Absent, null or only white space: all count as not sent. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}

/** A caller's text, trimmed; a value of another type counts as no text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** NUL, which PostgreSQL cannot store, and lone surrogates, which are not valid text. */
export function hasForbiddenCharacters(text: string): boolean {
  return text.includes("\0") || !text.isWellFormed();
}

/**
 * Line breaks and similar: they would end a field early in the files that banks read. And what
 * overrides the direction of text: the account number after such a name would be shown reversed.
 */
export function hasControlCharacters(text: string): boolean {
  return /\p{Cc}|\u2028|\u2029|\u202d|\u202e/u.test(text);
}

/**
 * Whether a text has a character that can be seen: not only white space, zero-width and other
 * format characters, or marks without a letter. A name without one looks like no name.
 */
export function isVisible(text: string): boolean {
  return /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}

export const CONTROLS = "Remove line breaks and other control characters.";

export const INVISIBLE = "Send text with at least one visible character.";

/** Length in characters as people and PostgreSQL count them, not in UTF-16 units. */
export function isLongerThan(text: string, characters_max: number): boolean {
  if (text.length <= characters_max) return false;
  if (text.length > characters_max * 2) return true;
  return [...text].length > characters_max;
}

// Only A to Z: JavaScript's functions turn "ß" into "SS" and the ligature "ﬁ" into "FI", and so a
// typo into another country or account.
export function upperAscii(text: string): string {
  return /[a-z]/.test(text) ? withLetters(text, "a", "A") : text;
}

export function lowerAscii(text: string): string {
  return /[A-Z]/.test(text) ? withLetters(text, "A", "a") : text;
}

const LETTERS = 26;

/**
 * With other letters from the given one on. As bytes: calling a function for every letter of a
 * megabyte would take a second.
 */
function withLetters(text: string, from: "a" | "A", to: "a" | "A"): string {
  const [first, moved] = [from.charCodeAt(0), to.charCodeAt(0) - from.charCodeAt(0)];
  const units = Buffer.from(text, "utf16le");
  for (let at = 0; at < units.length; at += 2) {
    const place = units[at]! - first;
    if (units[at + 1] === 0 && place >= 0 && place < LETTERS) units[at]! += moved;
  }
  return units.toString("utf16le");
}

/** Without the white space and hyphens that people type in long numbers. */
export function compact(text: string): string {
  return text.replace(/[\s\u2010\u2011-]+/g, "");
}

const EMAIL = /^[^\s@"<>(),;:\\]+@[^\s@"<>(),;:\\]+\.[^\s@"<>(),;:\\.]{2,}$/;
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * An e-mail address in the form in which it is stored and looked up; null if it is none. With
 * characters that cannot be seen, two addresses would look the same.
 */
export function readEmail(text: string): string | null {
  return EMAIL.test(text) && !UNSEEN.test(text) ? lowerAscii(text.normalize("NFC")) : null;
}

export const REASON_LENGTH_MAX = 500;

/** A reason that need not be given; empty if none was. */
export function readReason(
  value: unknown,
  already: readonly Problem[],
): { reason: string; problems: readonly Problem[] } {
  const reason = typeof value === "string" ? value : "";
  const found = reason === "" ? [] : reasonProblems(reason, already);
  return { reason, problems: [...already, ...found] };
}

/** A decision without a reason helps nobody who reads it later. */
export function reasonProblems(reason: string, already: readonly Problem[]): Problem[] {
  const field = "reason";
  if (already.some((problem) => problem.field === field)) return [];
  if (!isVisible(reason)) {
    const message = "Give a reason for the decision.";
    return [{ field, code: "parameter_missing", message }];
  }
  if (hasControlCharacters(reason)) return [{ field, code: "record_invalid", message: CONTROLS }];
  if (!isLongerThan(reason, REASON_LENGTH_MAX)) return [];
  const message = `Shorten the reason to at most ${REASON_LENGTH_MAX} characters.`;
  return [{ field, code: "value_too_long", message }];
}

/**
 * Why parsing would silently change the URL; null if it would not. What is stored and shown must be
 * what is called, and others may read it differently: where its host ends, for example.
 */
export function whyUrlChanges(text: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\s\u0000-\u001f\u007f]/.test(text)) {
    return "Remove the spaces and control characters from the URL.";
  }
  if (text.includes("\\")) return "Remove the \\ from the URL.";
  const lacks_host = /^https?:(?!\/\/[^/])/i.test(text);
  return lacks_host ? "Send the URL with its host, such as https://example.com." : null;
}
