import type { Catalogue } from "../../catalogue/catalogue.ts";
import {
  describeFees,
  describeOnrampFees,
  type OfframpFeeRow,
} from "../../catalogue/describe-fees.ts";
import type { FeeSchedule } from "../../catalogue/fee-table.ts";
import { page, table } from "./page-text.ts";

/** The fees page, from the table that the service charges by. */
export function feesPage(catalogue: Catalogue, fees: FeeSchedule): string {
  const head = ["currency", "rails", "basis points", "flat part in usd"];
  return page("Fees", [
    "A fee is a share of the destination amount in basis points (1 bp = 0.01 %), plus a flat " +
      "part that is stated in usd and converted at the rates of the quote. It is rounded up to " +
      "the smallest unit of the currency. `GET /fees` answers this table as your installation " +
      "uses it: an operator can change it with a file (`SLIPROAD_FEES_FILE`).",
    "For example, 19000 usd by swift cost 19000 × 0.40 % + 49 = 125 usd, and 1000 eur by local " +
      "rails cost 4 eur.",
    "## Offramps",
    "An amount equal to the minimum is accepted. Minimums in usd are converted at the rates of " +
      "the quote.",
    table(
      [...head, "minimum amount"],
      describeFees(catalogue, fees).map((row) => [
        `\`${row.currency}\``,
        `\`${row.rails}\``,
        `${row.basis_points}`,
        `${row.flat_usd}`,
        minimumOf(row),
      ]),
    ),
    "## Onramps",
    "The fee is a share of the destination amount at the locked rate, in the currency of the " +
      "bank deposit.",
    table(
      head,
      describeOnrampFees(catalogue, fees).map(({ currency, rails, basis_points, flat_usd }) => [
        `\`${currency}\``,
        `\`${rails}\``,
        `${basis_points}`,
        `${flat_usd}`,
      ]),
    ),
  ]);
}

function minimumOf({ currency, minimum_amount, minimum_usd_equivalent }: OfframpFeeRow): string {
  if (minimum_amount !== null) return `${minimum_amount} ${currency}`;
  return `equivalent of ${minimum_usd_equivalent} usd`;
}
