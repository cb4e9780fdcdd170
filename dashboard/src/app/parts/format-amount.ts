const TOKENS = ["usdc", "usdt"];
/** They pay for transactions; booked in billionths. */
const COINS = ["pol", "eth", "trx", "sol"];

export function formatAmount(value: number | string, currency: string): string {
  const parts = formatOf(currency).formatToParts(value as number);
  return parts.map(({ type, value: text }) => SIGNS[type] ?? text).join("");
}

/** A narrow space between thousands, and the minus of typography. */
const SIGNS: Readonly<Record<string, string>> = { group: "\u202f", minusSign: "\u2212" };

const formats = new Map<string, Intl.NumberFormat>();

function formatOf(currency: string): Intl.NumberFormat {
  const known = formats.get(currency);
  if (known) return known;
  const made = new Intl.NumberFormat("en", digitsOf(currency));
  formats.set(currency, made);
  return made;
}

/** Tokens have six digits, of which two are always shown. */
export function digitsOf(currency: string): Intl.NumberFormatOptions {
  if (TOKENS.includes(currency)) return { minimumFractionDigits: 2, maximumFractionDigits: 6 };
  if (COINS.includes(currency)) return { minimumFractionDigits: 2, maximumFractionDigits: 9 };
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat("en", {
    style: "currency",
    currency: currency.toUpperCase(),
  }).resolvedOptions();
  return { minimumFractionDigits: digits, maximumFractionDigits: digits };
}

/** An amount in minor units as decimal text. */
export function fromMinor(minor: string, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = digitsOf(currency);
  if (digits === 0) return minor;
  const text = minor.padStart(digits + 1, "0");
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
