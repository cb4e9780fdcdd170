import { expect, it } from "vitest";
import { formatAmount } from "../../dashboard/src/app/parts/format-amount.ts";

it("an amount has narrow spaces between thousands, its currency's digits and a real minus", () => {
  expect(formatAmount("-1234.5", "eur")).toBe("\u22121\u202f234.50");
  expect(formatAmount(1234, "jpy")).toBe("1\u202f234");
  expect(formatAmount("0.123456", "usdc")).toBe("0.123456");
});
