import type { ScreenedPerson } from "../partners/screening/port.ts";
import type { PaymentDetailFields } from "./model.ts";

/** The payee, as it is compared with the screening lists. */
export function personOfDetail(fields: PaymentDetailFields): ScreenedPerson {
  const kind = fields.beneficiary_type === "business" ? "business" : "individual";
  return {
    kind,
    names: [fields.account_name].filter((name) => name !== null),
    birth_date: kind === "individual" ? fields.date_of_birth : null,
    countries: [fields.country, fields.nationality].filter((code) => code !== null),
    wallets: [],
  };
}
