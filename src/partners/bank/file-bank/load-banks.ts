import { isAbsolute, relative, resolve, sep } from "node:path";
import { isCountry } from "../../../catalogue/countries.ts";
import { CURRENCIES } from "../../../catalogue/currencies.ts";
import { DEPOSIT_RAILS, type Rail } from "../../../catalogue/rails.ts";
import type { Calendar } from "../calendar/banking-days.ts";
import { nextWindow, type Schedule } from "../calendar/next-window.ts";
import { isPurpose } from "../iso20022/check-transfer.ts";
import {
  type AccountId,
  type BankId,
  type PostalAddress,
  SCHEMES,
  type Scheme,
} from "../iso20022/credit-transfer.ts";
import { loadAchOrigination, ORIGINATION_KEYS } from "./ach/load-ach-origination.ts";
import type {
  DepositAccount,
  FileBankAccount,
  FileBankSettings,
  FileRoute,
  FileScheme,
} from "./model.ts";
import { asBoolean, asText, asTexts, FILE, identifier, oneOf } from "./settings-values.ts";
import { asFolder, type LoadedServers, loadServers } from "./transfer/load-servers.ts";

const KEYS = ["inbox", "servers", "accounts"];
const ACCOUNT_KEYS = [
  ...["holder", "address", "iban", "account_number", "bic", "routing_number"],
  ...["outbox", "server", "booked_by", "reference_days", "routes", "deposits"],
];
const SCHEDULE_KEYS = ["calendar", "time_zone", "cut_offs", "lead_days"];
const ROUTE_KEYS = [
  ...["currencies", "charge_bearer", "is_batch_booked", "address_form"],
  "purposes",
  ...SCHEDULE_KEYS,
];
const ADDRESS_KEYS = ["line1", "line2", "postal_code", "town", "state", "country"];
const DEPOSIT_KEYS = ["currency", "rails", "bank_name", "bank_address"];
const ACCOUNT_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const REPORTS = ["camt.053", "camt.054", "camt.052"] as const;
/** A line that the bank corrects comes again within some days. */
const REFERENCE_DAYS = 10;
const REFERENCE_DAYS_MAX = 366;
const FORMS = ["structured", "hybrid"] as const;

type SchemeTerms = { rail: Rail; calendar: Calendar; lead_days: number };

/** The rail that each scheme serves, and its days unless the file says otherwise. */
const SCHEME_TERMS: Readonly<Record<FileScheme, SchemeTerms>> = {
  sepa: { rail: "local", calendar: "target", lead_days: 0 },
  swift: { rail: "swift", calendar: "target", lead_days: 0 },
  us_wire: { rail: "wire", calendar: "federal_reserve", lead_days: 0 },
  ach: { rail: "local", calendar: "federal_reserve", lead_days: 1 },
};

/** Reads the operator's file of accounts at banks that take files (JSON text). */
export function loadBanks(json_text: string): FileBankSettings {
  const file = FILE.parse(json_text, KEYS);
  const entries = Object.entries(FILE.asObject(file.accounts, "accounts"));
  if (entries.length === 0) throw FILE.wrong("accounts", "must name at least one account");
  const servers = loadServers(file.servers ?? {});
  const accounts = entries.map(([name, value]) => readAccount(name, value, servers));
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
  const sources = [...servers.values()].flatMap(({ source }) => source ?? []);
  const inbox = asText(file.inbox, "inbox");
  for (const { name, outbox, server } of accounts) {
    if (!server && isInside(outbox, inbox)) {
      // Our own payment files would be read as reports, and moved away from the bank.
      throw FILE.wrong(`accounts.${name}.outbox`, "must be outside of the inbox");
    }
  }
  return { inbox, sources, accounts };
}

function isInside(folder: string, of: string): boolean {
  const path = relative(resolve(of), resolve(folder));
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function requireOnce(names: readonly string[], what: string): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw FILE.wrong("accounts", `${what} ${twice} twice`);
}

function readAccount(name: string, value: unknown, servers: LoadedServers): FileBankAccount {
  const path = `accounts.${name}`;
  if (!ACCOUNT_NAME.test(name)) throw FILE.wrong("accounts", `has the name ${name}: use a-z, 0-9`);
  const given = FILE.asObject(value, path, ACCOUNT_KEYS);
  const routes = Object.entries(FILE.asObject(given.routes, `${path}.routes`)).map(
    ([scheme, route]) => readRoute(given, scheme, route, `${path}.routes`),
  );
  const server = given.server === undefined ? undefined : servers.get(String(given.server));
  if (given.server !== undefined && !server) {
    throw FILE.wrong(`${path}.server`, "must be the name of one of servers");
  }
  const outbox = asText(given.outbox, `${path}.outbox`);
  return {
    name,
    ...(server ? { outbox: asFolder(outbox), server: server.server } : { outbox }),
    booked_by: oneOf(given.booked_by ?? REPORTS[0], REPORTS, `${path}.booked_by`),
    reference_days: asDays(given.reference_days ?? REFERENCE_DAYS, `${path}.reference_days`),
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

function asDays(value: unknown, path: string): number {
  const is_count = typeof value === "number" && Number.isInteger(value) && value >= 0;
  if (is_count && value <= REFERENCE_DAYS_MAX) return value;
  throw FILE.wrong(path, `must be a number of days from 0 to ${REFERENCE_DAYS_MAX}`);
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

function readRoute(
  account: Record<string, unknown>,
  name: string,
  value: unknown,
  routes_path: string,
): FileRoute {
  const path = `${routes_path}.${name}`;
  if (!Object.hasOwn(SCHEME_TERMS, name)) {
    const known = Object.keys(SCHEME_TERMS).join(", ");
    throw FILE.wrong(routes_path, `has ${name}; it can have ${known}`);
  }
  const terms = SCHEME_TERMS[name as FileScheme];
  if (name === "ach") {
    const given = FILE.asObject(value, path, [...SCHEDULE_KEYS, ...ORIGINATION_KEYS]);
    const schedule = readSchedule(given, terms, path);
    const origination = loadAchOrigination(account, given, path);
    return { scheme: "ach", rail: terms.rail, currencies: ["usd"], schedule, origination };
  }
  const scheme = name as Scheme;
  const { charge_bearers, currency } = SCHEMES[scheme];
  const keys = scheme === "swift" ? [...ROUTE_KEYS, "intermediary_banks"] : ROUTE_KEYS;
  const given = FILE.asObject(value, path, keys);
  const currencies = asTexts(given.currencies ?? (currency ? [currency] : undefined), path);
  const wrong = currencies.find(
    (code) => !CURRENCIES.has(code) || (currency !== null && code !== currency),
  );
  if (wrong !== undefined) throw FILE.wrong(`${path}.currencies`, `cannot have ${wrong}`);
  const bearer = given.charge_bearer ?? charge_bearers[0];
  return {
    scheme,
    rail: terms.rail,
    currencies,
    schedule: readSchedule(given, terms, path),
    charge_bearer: oneOf(bearer, charge_bearers, `${path}.charge_bearer`),
    is_batch_booked: asBoolean(given.is_batch_booked ?? false, `${path}.is_batch_booked`),
    address_form: oneOf(given.address_form ?? FORMS[0], FORMS, `${path}.address_form`),
    purposes: readByCurrency(given.purposes, currencies, `${path}.purposes`, (value, at) => {
      const purpose = asText(value, at);
      if (isPurpose(scheme, purpose)) return purpose;
      throw FILE.wrong(at, "must be a purpose code such as SUPP");
    }),
    intermediary_banks: readByCurrency(
      given.intermediary_banks,
      currencies,
      `${path}.intermediary_banks`,
      (value, at) => ({ bic: identifier("bic", value, at) }),
    ),
  };
}

/** What a route has for some of its currencies. */
function readByCurrency<Value>(
  value: unknown,
  currencies: readonly string[],
  path: string,
  read: (value: unknown, path: string) => Value,
): Readonly<Record<string, Value>> {
  const given = FILE.asObject(value ?? {}, path, currencies);
  return Object.fromEntries(
    Object.entries(given).map(([currency, one]) => [currency, read(one, `${path}.${currency}`)]),
  );
}

function readSchedule(given: Record<string, unknown>, terms: SchemeTerms, path: string): Schedule {
  const calendar = given.calendar ?? terms.calendar;
  const schedule = {
    calendar: oneOf(calendar, ["target", "federal_reserve"] as const, `${path}.calendar`),
    time_zone: asText(given.time_zone, `${path}.time_zone`),
    cut_offs: asTexts(given.cut_offs, `${path}.cut_offs`),
    lead_days: (given.lead_days ?? terms.lead_days) as number,
  };
  try {
    nextWindow(schedule, new Date(0));
  } catch (error) {
    throw FILE.wrong(path, `has no valid schedule (${(error as Error).message})`);
  }
  return schedule;
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
