import { checkIdentifier } from "../../../catalogue/bank-identifiers.ts";
import { isCountry } from "../../../catalogue/countries.ts";
import { CURRENCIES } from "../../../catalogue/currencies.ts";
import { operatorFile } from "../../../catalogue/operator-file.ts";
import { DEPOSIT_RAILS, type Rail } from "../../../catalogue/rails.ts";
import type { Calendar } from "../calendar/banking-days.ts";
import { nextWindow } from "../calendar/next-window.ts";
import {
  type AccountId,
  type BankId,
  type PostalAddress,
  SCHEMES,
  type Scheme,
} from "../iso20022/credit-transfer.ts";
import type { DepositAccount, FileBankAccount, FileBankSettings, FileRoute } from "./model.ts";

const FILE = operatorFile("The banks file");
const KEYS = ["inbox", "accounts"];
const ACCOUNT_KEYS = [
  ...["holder", "address", "iban", "account_number", "bic", "routing_number"],
  ...["outbox", "booked_by", "routes", "deposits"],
];
const ROUTE_KEYS = [
  ...["currencies", "calendar", "time_zone", "cut_offs", "lead_days"],
  ...["charge_bearer", "is_batch_booked", "address_form"],
];
const ADDRESS_KEYS = ["line1", "line2", "postal_code", "town", "state", "country"];
const DEPOSIT_KEYS = ["currency", "rails", "bank_name", "bank_address"];
const ACCOUNT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const REPORTS = ["camt.053", "camt.054", "camt.052"] as const;
const FORMS = ["structured", "hybrid"] as const;

/** The rail that each scheme serves, and the calendar that it follows unless the file says so. */
const SCHEME_RAILS: Readonly<Record<Scheme, { rail: Rail; calendar: Calendar }>> = {
  sepa: { rail: "local", calendar: "target" },
  swift: { rail: "swift", calendar: "target" },
  us_wire: { rail: "wire", calendar: "federal_reserve" },
};

/** Reads the operator's file of accounts at banks that take files (JSON text). */
export function loadBanks(json_text: string): FileBankSettings {
  const file = FILE.parse(json_text, KEYS);
  const entries = Object.entries(FILE.asObject(file.accounts, "accounts"));
  if (entries.length === 0) throw FILE.wrong("accounts", "must name at least one account");
  const accounts = entries.map(([name, value]) => readAccount(name, value));
  requireOnce(
    accounts.flatMap(({ routes }) =>
      routes.flatMap(({ rail, currencies }) => currencies.map((code) => `${code} by ${rail}`)),
    ),
    "pays",
  );
  requireOnce(
    accounts.map(({ debtor_account }) => Object.values(debtor_account).join()),
    "has the account",
  );
  requireOnce(
    accounts.flatMap(({ deposits }) =>
      deposits ? deposits.rails.map((rail) => `${deposits.currency} by ${rail}`) : [],
    ),
    "takes deposits of",
  );
  return { inbox: asText(file.inbox, "inbox"), accounts };
}

function requireOnce(names: readonly string[], what: string): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw FILE.wrong("accounts", `${what} ${twice} twice`);
}

function readAccount(name: string, value: unknown): FileBankAccount {
  const path = `accounts.${name}`;
  if (!ACCOUNT_NAME.test(name)) throw FILE.wrong("accounts", `has the name ${name}: use a-z, 0-9`);
  const given = FILE.asObject(value, path, ACCOUNT_KEYS);
  const routes = Object.entries(FILE.asObject(given.routes, `${path}.routes`)).map(
    ([scheme, route]) => readRoute(scheme, route, `${path}.routes`),
  );
  return {
    name,
    outbox: asText(given.outbox, `${path}.outbox`),
    booked_by: oneOf(given.booked_by ?? REPORTS[0], REPORTS, `${path}.booked_by`),
    debtor: {
      name: asText(given.holder, `${path}.holder`),
      address: given.address === undefined ? null : readAddress(given.address, `${path}.address`),
    },
    debtor_account: readAccountId(given, path),
    debtor_bank: readBank(given, path),
    routes,
    deposits:
      given.deposits === undefined ? null : readDeposits(given.deposits, `${path}.deposits`),
  };
}

function readAccountId(given: Record<string, unknown>, path: string): AccountId {
  if ((given.iban === undefined) === (given.account_number === undefined)) {
    throw FILE.wrong(path, "must have an iban or an account_number");
  }
  if (given.iban !== undefined) return { iban: identifier("iban", given.iban, `${path}.iban`) };
  const number = asText(given.account_number, `${path}.account_number`);
  if (/^[A-Za-z0-9]{1,34}$/.test(number)) return { number };
  throw FILE.wrong(`${path}.account_number`, "must have up to 34 letters and digits");
}

function readBank(given: Record<string, unknown>, path: string): BankId {
  if (given.bic !== undefined) return { bic: identifier("bic", given.bic, `${path}.bic`) };
  if (given.routing_number === undefined) {
    throw FILE.wrong(path, "must have the bic of the bank, or its routing_number");
  }
  const member_id = identifier("aba", given.routing_number, `${path}.routing_number`);
  return { clearing_system: "USABA", member_id, name: null, country: "US" };
}

function readRoute(name: string, value: unknown, routes_path: string): FileRoute {
  const path = `${routes_path}.${name}`;
  if (!Object.hasOwn(SCHEMES, name)) {
    throw FILE.wrong(routes_path, `has ${name}; it can have ${Object.keys(SCHEMES).join(", ")}`);
  }
  const scheme = name as Scheme;
  const { charge_bearers, currency } = SCHEMES[scheme];
  const given = FILE.asObject(value, path, ROUTE_KEYS);
  const currencies = asTexts(given.currencies ?? (currency ? [currency] : undefined), path);
  const wrong = currencies.find(
    (code) => !CURRENCIES.has(code) || (currency !== null && code !== currency),
  );
  if (wrong !== undefined) throw FILE.wrong(`${path}.currencies`, `cannot have ${wrong}`);
  const calendar = given.calendar ?? SCHEME_RAILS[scheme].calendar;
  const schedule = {
    calendar: oneOf(calendar, ["target", "federal_reserve"] as const, `${path}.calendar`),
    time_zone: asText(given.time_zone, `${path}.time_zone`),
    cut_offs: asTexts(given.cut_offs, `${path}.cut_offs`),
    lead_days: (given.lead_days ?? 0) as number,
  };
  try {
    nextWindow(schedule, new Date(0));
  } catch (error) {
    throw FILE.wrong(path, `has no valid schedule (${(error as Error).message})`);
  }
  const bearer = given.charge_bearer ?? charge_bearers[0];
  return {
    scheme,
    rail: SCHEME_RAILS[scheme].rail,
    currencies,
    schedule,
    charge_bearer: oneOf(bearer, charge_bearers, `${path}.charge_bearer`),
    is_batch_booked: asBoolean(given.is_batch_booked ?? false, `${path}.is_batch_booked`),
    address_form: oneOf(given.address_form ?? FORMS[0], FORMS, `${path}.address_form`),
  };
}

function readAddress(value: unknown, path: string): PostalAddress {
  const given = FILE.asObject(value, path, ADDRESS_KEYS);
  const optional = (key: string) =>
    given[key] === undefined ? null : asText(given[key], `${path}.${key}`);
  const country = asText(given.country, `${path}.country`);
  if (!isCountry(country)) throw FILE.wrong(`${path}.country`, "must be a country such as LT");
  return {
    line1: optional("line1"),
    line2: optional("line2"),
    postal_code: optional("postal_code"),
    town: asText(given.town, `${path}.town`),
    state: optional("state"),
    country,
  };
}

function readDeposits(value: unknown, path: string): DepositAccount {
  const given = FILE.asObject(value, path, DEPOSIT_KEYS);
  return {
    currency: oneOf(given.currency, ["usd", "eur"] as const, `${path}.currency`),
    rails: asTexts(given.rails, `${path}.rails`).map((rail) =>
      oneOf(rail, DEPOSIT_RAILS, `${path}.rails`),
    ),
    bank_name: asText(given.bank_name, `${path}.bank_name`),
    bank_address: asText(given.bank_address, `${path}.bank_address`),
  };
}

function identifier(check: "iban" | "bic" | "aba", value: unknown, path: string): string {
  const checked = checkIdentifier(check, asText(value, path));
  if ("value" in checked) return checked.value;
  throw FILE.wrong(path, `is wrong (${checked.reason})`);
}

function asText(value: unknown, path: string): string {
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  throw FILE.wrong(path, "must be a text");
}

function asTexts(value: unknown, path: string): string[] {
  if (!Array.isArray(value) || value.length === 0)
    throw FILE.wrong(path, "must be a list of texts");
  return value.map((one) => asText(one, path));
}

function asBoolean(value: unknown, path: string): boolean {
  if (typeof value === "boolean") return value;
  throw FILE.wrong(path, "must be true or false");
}

function oneOf<const Value extends string>(
  value: unknown,
  values: readonly Value[],
  path: string,
): Value {
  const found = values.find((known) => known === value);
  if (found !== undefined) return found;
  throw FILE.wrong(path, `must be ${values.join(" or ")}`);
}
