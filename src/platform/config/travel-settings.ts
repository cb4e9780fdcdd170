import { lei, matching, minorUnits, optional, orOff } from "./setting-kinds.ts";

/** Which transfers of tokens record who sends to whom, and who the sender's provider is. */
export const TRAVEL_SETTINGS = {
  travel_rule_above_usd: {
    name: "SLIPROAD_TRAVEL_RULE_ABOVE_USD",
    default_text: "0",
    meaning:
      "Onramp deliveries and refunds of tokens worth more than this, in usd, have a travel " +
      "record: who sent to whom, for `GET /travel_records` and `sliproad travel export`. 0 = all " +
      "of them. `off` = none.",
    read: orOff(
      minorUnits(/^\d{1,13}(\.\d{1,2})?$/, 2, "must be an amount in usd such as 1000, or off"),
    ),
  },
  vasp_name: optional(
    "SLIPROAD_VASP_NAME",
    "Your legal name, as the sender's service provider in travel records.",
    matching(/^(?=.{1,140}$).*\S.*$/, "must have 1 to 140 characters"),
  ),
  vasp_lei: optional(
    "SLIPROAD_VASP_LEI",
    "Your legal entity identifier (ISO 17442), for travel records.",
    lei,
  ),
  vasp_country: optional(
    "SLIPROAD_VASP_COUNTRY",
    "The country where you are registered (two letters, ISO 3166-1), for travel records.",
    matching(/^[A-Z]{2}$/, "must be two capital letters such as PT"),
  ),
};
