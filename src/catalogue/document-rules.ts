import type { Rail } from "./rails.ts";

/** Above (not at) this destination amount, in cents, an offramp needs a document. */
const DOCUMENT_THRESHOLDS: ReadonlyMap<string, bigint> = new Map([
  ["eur", 15_000_00n],
  ["usd", 10_000_00n],
]);

/** These rails need one at any amount. */
const DOCUMENT_RAILS: readonly Rail[] = ["swift"];

/** Whether an offramp needs `submitted_url` at creation. */
export function documentRequired(currency: string, rail: Rail, amount_minor: bigint): boolean {
  const threshold = DOCUMENT_THRESHOLDS.get(currency);
  return DOCUMENT_RAILS.includes(rail) || (threshold !== undefined && amount_minor > threshold);
}
