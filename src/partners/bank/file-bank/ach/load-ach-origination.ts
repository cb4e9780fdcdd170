import type { AchOrigination } from "../model.ts";
import { asBoolean, asText, FILE, identifier, oneOf } from "../settings-values.ts";

export const ORIGINATION_KEYS = [
  ...["bank_name", "origin", "company_name", "company_id", "description"],
  ...["is_balanced", "account_type", "is_booked_by_sum"],
];

const ACCOUNT_TYPES = ["checking", "savings"] as const;
/** A reversal has rules of its own, and payouts are none. */
const RESERVED = ["REVERSAL", "RECLAIM", "NONSETTLED"];

/** Reads how an account sends NACHA files; bank and account are those of the account itself. */
export function loadAchOrigination(
  account: Record<string, unknown>,
  given: Record<string, unknown>,
  path: string,
): AchOrigination {
  if (account.routing_number === undefined || account.account_number === undefined) {
    throw FILE.wrong(path, "needs the routing_number and the account_number of its account");
  }
  const routing_number = identifier("aba", account.routing_number, `${path}.routing_number`);
  const account_number = asText(account.account_number, `${path}.account_number`);
  if (account_number.length > 17) throw FILE.wrong(path, "needs an account_number of up to 17");
  const company_name = asLine(given.company_name, 16, `${path}.company_name`);
  const company_id = asLine(given.company_id, 10, `${path}.company_id`);
  const description = asLine(given.description ?? "PAYOUT", 10, `${path}.description`);
  if (RESERVED.includes(description)) {
    throw FILE.wrong(`${path}.description`, `cannot be ${description}`);
  }
  const type = oneOf(given.account_type ?? "checking", ACCOUNT_TYPES, `${path}.account_type`);
  const is_balanced = asBoolean(given.is_balanced ?? false, `${path}.is_balanced`);
  const offset = { routing_number, account_number, account_type: type, name: company_name };
  return {
    destination: routing_number,
    destination_name: asLine(given.bank_name, 23, `${path}.bank_name`),
    origin: asLine(given.origin ?? given.company_id, 10, `${path}.origin`),
    origin_name: company_name,
    ...{ company_name, company_id, description },
    originating_bank: routing_number.slice(0, 8),
    offset: is_balanced ? offset : null,
    is_booked_by_sum: asBoolean(given.is_booked_by_sum ?? false, `${path}.is_booked_by_sum`),
  };
}

/** A field of a NACHA record: capitals, digits and signs, never cut. */
function asLine(value: unknown, characters_max: number, path: string): string {
  const text = asText(value, path);
  if (text.length <= characters_max && /^[A-Z0-9 .,'()/-]+$/.test(text)) return text;
  throw FILE.wrong(path, `must have up to ${characters_max} capital letters, digits or .,'()/-`);
}
