import { formatAmount } from "./format-amount.ts";

const TOKENS = ["usdc", "usdt"];
const CURRENCIES: ReadonlySet<string> = new Set([
  ...Intl.supportedValuesOf("currency").map((code) => code.toLowerCase()),
  ...TOKENS,
]);
const MONEY = /(?<![\w.])(\d+(?:\.\d+)?) ([a-z]{3,4})\b/g;
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const SHA_256 = /\b[0-9a-f]{64}\b/g;

/** A sentence of the server for people: amounts in the one format, and short ids and hashes. */
export function plainText(text: string): string {
  return text
    .replaceAll(UUID, (id) => `…${id.slice(-8)}`)
    .replaceAll(SHA_256, (hash) => `${hash.slice(0, 12)}…`)
    .replaceAll(MONEY, (all, amount: string, code: string) =>
      CURRENCIES.has(code) ? `${formatAmount(amount, code)} ${code.toUpperCase()}` : all,
    );
}
