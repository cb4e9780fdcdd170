import { formatAmount } from "./format-amount.ts";

/** An amount in the one format of all pages: 1 234.56 EUR, to the digits of its currency. */
export function Amount({ value, currency }: { value: number | string; currency: string }) {
  return (
    <span className="amount">
      {formatAmount(value, currency)} <span className="currency">{currency.toUpperCase()}</span>
    </span>
  );
}
