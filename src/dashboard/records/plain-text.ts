import { isToken } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";

const MONEY = /(?<![\w.])(-?\d+(?:\.\d+)?) ([a-z]{3,4})\b/g;
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const SHA_256 = /\b[0-9a-f]{64}\b/g;
/** A narrow space between thousands, and the minus of typography. */
const SIGNS: Readonly<Record<string, string>> = { group: "\u202f", minusSign: "\u2212" };

/** A sentence for people, as the dashboard's own pages show it: amounts in the one format. */
export function plainText(text: string): string {
  return text
    .replaceAll(UUID, (id) => `…${id.slice(-8)}`)
    .replaceAll(SHA_256, (hash) => `${hash.slice(0, 12)}…`)
    .replaceAll(MONEY, (all, amount: string, code: string) =>
      isToken(code) || minorDigits(code) !== undefined ? showAmount(amount, code) : all,
    );
}

/** Tokens have six digits, of which two are always shown. */
export function showAmount(amount: string, currency: string): string {
  const digits = isToken(currency) ? 6 : (minorDigits(currency) ?? 9);
  const shown = { minimumFractionDigits: Math.min(digits, 2), maximumFractionDigits: digits };
  const parts = new Intl.NumberFormat("en", shown).formatToParts(amount as unknown as number);
  const text = parts.map(({ type, value }) => SIGNS[type] ?? value).join("");
  return `${text} ${currency.toUpperCase()}`;
}
