import Type from "typebox";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { describeFees, describeOnrampFees } from "../catalogue/describe-fees.ts";
import type { FeeSchedule } from "../catalogue/fee-table.ts";
import { DEPOSIT_RAILS, RAILS } from "../catalogue/rails.ts";
import { Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { nullable, titledObject } from "../platform/schema-parts.ts";

const parts = {
  basis_points: Type.Integer({
    description: "Share of the amount: 1 basis point is 0.01 %.",
  }),
  flat_usd: Type.Number({
    description: "Flat part in usd, converted to the currency at the rates of the quote.",
  }),
};

const FeesAnswer = Type.Object({
  fees: Type.Array(
    titledObject("Fee", {
      currency: Type.String(),
      rails: Type.Enum([...RAILS]),
      ...parts,
      minimum_amount: nullable(
        Type.Number(),
        "Minimum `destination_amount`; null where it is stated in usd.",
      ),
      minimum_usd_equivalent: nullable(
        Type.Number(),
        "Minimum in usd, where there is none in the currency.",
      ),
    }),
    { description: "Fees of offramps, by currency and rail." },
  ),
  onramp_fees: Type.Array(
    titledObject("OnrampFee", {
      currency: Type.String(),
      rails: Type.Enum([...DEPOSIT_RAILS]),
      ...parts,
    }),
    { description: "Fees of onramps, by currency and rail of the bank deposit." },
  ),
});

/** The fees that this installation charges: the shipped table, or the operator's. */
export function addFeeRoutes(
  addRoute: AddRoute,
  { catalogue, fees }: { catalogue: Catalogue; fees: FeeSchedule },
): void {
  addRoute({
    method: "GET",
    path: "/fees",
    operation: "listFees",
    summary: "List fees",
    description:
      "The fee of each currency and rail: basis points of the amount plus a flat part, rounded " +
      "up to the currency's smallest unit. Also the minimum amount of each. A quote keeps the " +
      "fees that it was created with.",
    tag: "Quotes",
    answer: FeesAnswer,
    errors: [],
    handle: async ({ problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      return JSON.stringify({
        fees: describeFees(catalogue, fees),
        onramp_fees: describeOnrampFees(catalogue, fees),
      });
    },
  });
}
