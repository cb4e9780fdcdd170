import Type from "typebox";
import { minorDigits } from "../catalogue/currencies.ts";
import type { MarketRisk } from "../catalogue/market-risk.ts";
import type { Database } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToNumber } from "../platform/money.ts";
import { nullable, titledObject } from "../platform/schema-parts.ts";
import { readExposures, stoppedBy } from "./exposure.ts";
import type { PriceVersions } from "./price-book.ts";

const usd = (description: string) => nullable(Type.Number(), description);

const ExposuresAnswer = Type.Object({
  exposures: Type.Array(
    titledObject("Exposure", {
      currency: Type.String({ description: "A currency or token." }),
      amount: Type.Number({ description: "Above zero if it has to be bought." }),
      amount_usd: usd("Its value without sign; null if there is no rate."),
      maximum_usd: usd("The operator's maximum; null if there is none."),
      stopped: Type.Boolean({ description: "Whether it is above its maximum." }),
    }),
  ),
});

const USD_DIGITS = 2;

export function addExposureRoutes(
  addRoute: AddRoute,
  deps: { database: Database; prices: PriceVersions; risk: MarketRisk; operator_id: string },
): void {
  addRoute({
    method: "GET",
    path: "/exposures",
    operation: "listExposures",
    summary: "List exposures",
    description:
      "Operator keys only. The open position of the whole installation in each currency and " +
      "token. A currency above its maximum is not quoted until the position falls.",
    tag: "Quotes",
    answer: ExposuresAnswer,
    errors: ["insufficient_scope"],
    handle: async ({ caller, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      if (caller.account_id !== deps.operator_id) {
        throw new Refusal("insufficient_scope", "Only the operator's API keys can use this route.");
      }
      const exposures = await readExposures(deps.database, deps);
      const { offramps, onramps } = stoppedBy(exposures);
      const inUsd = (cents: bigint | null) =>
        cents === null ? null : minorToNumber(cents, USD_DIGITS);
      return JSON.stringify({
        exposures: exposures.map(({ currency, amount, usd, usd_max }) => ({
          currency,
          amount: minorToNumber(amount, minorDigits(currency)!),
          amount_usd: inUsd(usd),
          maximum_usd: inUsd(usd_max),
          stopped: offramps.includes(currency) || onramps.includes(currency),
        })),
      });
    },
  });
}
