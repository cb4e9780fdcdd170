import { expect, it } from "vitest";
import { plainText } from "../../dashboard/src/app/parts/plain-text.ts";

const THIN = "\u202f";

it.each([
  ["Refund a payout of 1200 eur.", `Refund a payout of 1${THIN}200.00 EUR.`],
  ["1234567.5 usdc on polygon", `1${THIN}234${THIN}567.50 USDC on polygon`],
  ["1 of 2, 20 eur by local", "1 of 2, 20.00 EUR by local"],
  // Not an amount: a number before another word, and a part of a longer one.
  ["121 payouts of a quote, 12 days", "121 payouts of a quote, 12 days"],
  ["version 1.2.3 eur", "version 1.2.3 eur"],
  ["2026 may be", "2026 may be"],
  ["01a1dd11-4aee-7000-adc7-78aca4556f62, for 502 usd", "…a4556f62, for 502.00 USD"],
  [`pdf, SHA-256 ${"0123456789abcdef".repeat(4)}`, "pdf, SHA-256 0123456789ab…"],
])("%s", (text, shown) => {
  expect(plainText(text)).toBe(shown);
});
