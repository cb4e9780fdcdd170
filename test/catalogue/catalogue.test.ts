import { describe, expect, test } from "vitest";
import {
  describeRequirements,
  isBlockedCountry,
  loadCatalogue,
  minimumOf,
  payoutCurrencies,
  railsOf,
  requirementOf,
} from "../../src/catalogue/catalogue.ts";
import { isCountry } from "../../src/catalogue/countries.ts";
import { documentRequired } from "../../src/catalogue/document-rules.ts";
import { checkFieldRule } from "../../src/catalogue/field-rules.ts";
import { MINIMUMS } from "../../src/catalogue/minimums.ts";
import type { RAILS } from "../../src/catalogue/rails.ts";

const shipped = loadCatalogue();

function fieldSets(currency: string, rail: (typeof RAILS)[number]): string[] {
  const requirement = requirementOf(shipped, currency, rail)!;
  return requirement.alternatives.map((set) => set.map((rule) => rule.name).join("+"));
}

function namesOf(set: readonly { name: string }[]): string[] {
  return set.map((rule) => rule.name);
}

describe("the shipped catalogue", () => {
  test("offers the rails of the contract", () => {
    expect(railsOf(shipped, "usd")).toEqual(["local", "swift", "wire"]);
    for (const currency of ["eur", "gbp", "mad", "tnd", "dzd"]) {
      expect(railsOf(shipped, currency)).toEqual(["local", "swift"]);
    }
    expect(railsOf(shipped, "mxn")).toEqual(["local"]);
    expect(railsOf(shipped, "xof")).toEqual(["swift"]);
    expect(railsOf(shipped, "sek")).toEqual(["swift"]);
    expect(payoutCurrencies(shipped)).toHaveLength(52);
  });

  test.each(["isk", "constructor", "__proto__", "toString", "", "USD"])(
    "has no rails for %j",
    (currency) => {
      expect(railsOf(shipped, currency)).toEqual([]);
      expect(requirementOf(shipped, currency, "local")).toBeUndefined();
    },
  );

  test("offers wire for usd only", () => {
    const by_wire = payoutCurrencies(shipped).filter((code) =>
      railsOf(shipped, code).includes("wire"),
    );
    expect(by_wire).toEqual(["usd"]);
  });

  test.each([
    ["usd", "local", ["routing_number+account_number"]],
    ["usd", "wire", ["routing_number+account_number"]],
    ["eur", "local", ["iban", "account_number"]],
    ["eur", "swift", ["iban+swift_bic"]],
    ["gbp", "local", ["sort_code+account_number", "iban"]],
    ["gbp", "swift", ["iban+swift_bic"]],
    ["mxn", "local", ["account_number"]],
    ["mad", "local", ["rib_number"]],
    ["tnd", "swift", ["rib_number+swift_bic"]],
    ["dzd", "swift", ["rib_number+swift_bic"]],
    ["xaf", "swift", ["rib_number"]],
    ["sek", "swift", ["iban+swift_bic"]],
    ["try", "swift", ["iban+swift_bic"]],
    ["vnd", "swift", ["swift_bic+account_number"]],
    ["krw", "swift", ["swift_bic+account_number+bank_code"]],
    ["inr", "swift", ["swift_bic+bank_code+account_number+ifsc"]],
    ["brl", "local", ["document_number+account_number+bank_code+branch_code"]],
    ["kes", "local", ["account_number+bank_code"]],
  ] as const)("asks for the contract's fields for %s by %s", (currency, rail, sets) => {
    expect(fieldSets(currency, rail)).toEqual(sets);
  });

  test("requires account or IBAN, and BIC or routing number, for usd by swift", () => {
    expect(fieldSets("usd", "swift")).toEqual([
      ...["account_number+swift_bic", "account_number+routing_number"],
      ...["iban+swift_bic", "iban+routing_number"],
    ]);
  });

  test("every rule's example satisfies the rule", () => {
    let count = 0;
    for (const rows of Object.values(shipped.requirements)) {
      for (const { alternatives, individual, business, optional } of Object.values(rows)) {
        for (const rule of [...alternatives.flat(), ...individual, ...business, ...optional]) {
          expect(checkFieldRule(rule, rule.example), rule.name).toHaveProperty("value");
          count++;
        }
      }
    }
    expect(count).toBeGreaterThan(100);
  });

  test("requires an account identifier in every set of fields of every currency and rail", () => {
    const sets = Object.entries(shipped.requirements).flatMap(([currency, rows]) =>
      Object.entries(rows).flatMap(([rail, row]) =>
        row.alternatives.map((set) => ({ row: `${currency} ${rail}`, names: namesOf(set) })),
      ),
    );
    expect(sets.length).toBeGreaterThanOrEqual(payoutCurrencies(shipped).length);
    const nameless = sets.filter(
      ({ names }) => !names.some((name) => /^(iban|account_number|rib_number)$/.test(name)),
    );
    expect(nameless).toEqual([]);
  });

  test("pays usd, eur and gbp by swift to banks anywhere, all others to their countries", () => {
    const anywhere = describeRequirements(shipped, { beneficiary_type: "business" })
      .filter((row) => row.bank_countries === null)
      .map((row) => `${row.currency} ${row.rails}`);
    expect(anywhere).toEqual(["eur swift", "gbp swift", "usd swift"]);
    const countries = (currency: string) =>
      requirementOf(shipped, currency, "swift")!.bank_countries;
    expect(countries("aed")).toEqual(["AE"]);
    expect(countries("chf")).toEqual(["CH", "LI"]);
    expect(countries("xof")).toContain("CI");
  });

  test("the SEPA area is the 41 states of the EPC's list and their territories", () => {
    const area = requirementOf(shipped, "eur", "local")!.bank_countries!;
    expect(new Set(area).size).toBe(area.length);
    expect(area.every(isCountry)).toBe(true);
    const territories = "AX BL GF GG GI GP IM JE MF MQ PM RE YT".split(" ");
    expect(area.filter((country) => !territories.includes(country))).toHaveLength(41);
    for (const country of ["DE", "GB", "CH", "VA", "AL", "RS"]) expect(area).toContain(country);
    for (const country of ["US", "AE", "TR", "UA", "XK", "NC", "BY"]) {
      expect(area).not.toContain(country);
    }
  });

  test("marks the rows that no public table states", () => {
    const experimental = describeRequirements(shipped).filter((row) => row.experimental);
    const codes = new Set(experimental.map((row) => row.currency));
    expect([...codes].join(" ")).toBe(
      "bob brl clp crc czk dkk dop egp ghs gtq hnl ils kes mzn ngn nok pen pyg ron try " +
        "ugx uyu vnd xaf xof zar",
    );
  });

  test("is deeply frozen", () => {
    const requirement = requirementOf(shipped, "usd", "local")!;
    const parts = [shipped, shipped.rails, requirement, requirement.alternatives[0]![0]];
    expect(parts.every(Object.isFrozen)).toBe(true);
    expect(Object.isFrozen(shipped.blocked_countries)).toBe(true);
  });
});

describe("minimums", () => {
  test.each([
    ["usd", "local", { amount: "1" }],
    ["usd", "swift", { amount: "30" }],
    ["usd", "wire", { amount: "1" }],
    ["eur", "swift", { amount: "30" }],
    ["gbp", "local", { amount: "20" }],
    ["idr", "swift", { amount: "500000" }],
    ["mxn", "local", { amount: "400" }],
    ["pln", "swift", { usd_equivalent: "1" }],
    ["mad", "local", { usd_equivalent: "1" }],
    ["constructor", "local", { usd_equivalent: "1" }],
  ] as const)("%s by %s is %j", (currency, rail, minimum) => {
    expect(minimumOf(shipped, currency, rail)).toEqual(minimum);
  });

  test("every row of the table belongs to a rail that is offered", () => {
    for (const [currency, rows] of Object.entries(MINIMUMS)) {
      for (const rail of Object.keys(rows)) expect(railsOf(shipped, currency)).toContain(rail);
    }
  });
});

describe("documents", () => {
  test("are required above the threshold, not at it", () => {
    expect(documentRequired("eur", "local", 1_500_000n)).toBe(false);
    expect(documentRequired("eur", "local", 1_500_001n)).toBe(true);
    expect(documentRequired("usd", "wire", 1_000_000n)).toBe(false);
    expect(documentRequired("usd", "local", 1_000_001n)).toBe(true);
  });

  test("are required on swift at any amount, elsewhere never without a threshold", () => {
    expect(documentRequired("usd", "swift", 1n)).toBe(true);
    expect(documentRequired("mxn", "local", 10n ** 15n)).toBe(false);
    expect(documentRequired("constructor", "local", 1n)).toBe(false);
  });
});

describe("describeRequirements", () => {
  test("has one row per currency, rail and beneficiary type, in a stable order", () => {
    const rows = describeRequirements(shipped);
    const keys = rows.map((row) => `${row.currency} ${row.rails} ${row.beneficiary_type}`);
    expect(new Set(keys).size).toBe(rows.length);
    const codes = rows.map((row) => row.currency);
    expect(codes).toEqual([...codes].sort());
    expect(keys.filter((key) => key.startsWith("eur"))).toEqual([
      ...["eur local individual", "eur local business"],
      ...["eur swift individual", "eur swift business"],
    ]);
  });

  test("filters by currency in any case, rail and beneficiary type", () => {
    const filter = { currency: "USD", rails: "wire", beneficiary_type: "business" };
    const rows = describeRequirements(shipped, filter);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ currency: "usd", rails: "wire", minimum_amount: 1 });
    expect(describeRequirements(shipped, { currency: "isk" })).toEqual([]);
    expect(describeRequirements(shipped, { rails: "koywe" })).toEqual([]);
  });

  test("shows pattern, check, example and whether the field is required", () => {
    const [row] = describeRequirements(shipped, { currency: "usd", rails: "local" });
    const routing = row!.fields.find((field) => field.name === "routing_number");
    expect(routing).toEqual({
      name: "routing_number",
      required: true,
      pattern: "^\\d{9}$",
      check: "aba",
      max_length: 20,
      description: "the ABA routing number of 9 digits",
      example: "021000021",
    });
    expect(row!.one_of).toEqual([]);
    expect(row!.fields.find((field) => field.name === "account_name")!.max_length).toBe(35);
  });

  test("shows a choice as sets, whose fields are not required individually", () => {
    const [row] = describeRequirements(shipped, { currency: "gbp", rails: "local" });
    expect(row!.one_of).toEqual([["sort_code", "account_number"], ["iban"]]);
    const in_sets = row!.fields.filter((field) => row!.one_of.flat().includes(field.name));
    expect(in_sets.map((field) => field.required)).toEqual([false, false, false]);
  });

  test("requires the date of birth of individuals only", () => {
    const rows = describeRequirements(shipped, { currency: "eur", rails: "local" });
    const required = rows.map(
      (row) => row.fields.find((field) => field.name === "date_of_birth")!.required,
    );
    expect(required).toEqual([true, false]);
  });

  test("states a minimum either in the currency or in usd", () => {
    for (const row of describeRequirements(shipped)) {
      expect([row.minimum_amount, row.minimum_usd_equivalent]).toContain(null);
      expect((row.minimum_amount ?? 0) + (row.minimum_usd_equivalent ?? 0)).toBeGreaterThan(0);
    }
  });
});

const zmw_row = {
  alternatives: [
    [
      {
        name: "account_number",
        pattern: "^\\d{13}$",
        description: "13 digits",
        example: "1".repeat(13),
      },
    ],
  ],
};

function load(override: unknown) {
  return loadCatalogue(JSON.stringify(override));
}

describe("an operator's override", () => {
  test("adds a currency with rails, fields and minimum", () => {
    const catalogue = load({
      rails: { zmw: ["local"] },
      requirements: { zmw: { local: zmw_row } },
      minimums: { zmw: { local: { amount: "25.50" } } },
    });
    const [row] = describeRequirements(catalogue, { currency: "zmw" });
    expect(row).toMatchObject({ rails: "local", minimum_amount: 25.5, experimental: false });
    expect(row!.fields.at(-1)).toMatchObject({ name: "account_number", required: true });
    expect(railsOf(catalogue, "usd")).toEqual(["local", "swift", "wire"]);
  });

  test("withdraws a currency with an empty list, and a rail by omitting it", () => {
    const catalogue = load({ rails: { ngn: [], usd: ["swift", "local"] } });
    expect(payoutCurrencies(catalogue)).not.toContain("ngn");
    expect(railsOf(catalogue, "usd")).toEqual(["local", "swift"]);
    expect(requirementOf(catalogue, "usd", "wire")).toBeUndefined();
  });

  test("replaces one minimum and keeps the others", () => {
    const catalogue = load({ minimums: { usd: { swift: { usd_equivalent: "50" } } } });
    expect(minimumOf(catalogue, "usd", "swift")).toEqual({ usd_equivalent: "50" });
    expect(minimumOf(catalogue, "usd", "local")).toEqual({ amount: "1" });
  });

  test("replaces the blocked countries, and only in that catalogue", () => {
    const catalogue = load({ blocked_countries: ["US"] });
    expect(isBlockedCountry(catalogue, "US")).toBe(true);
    expect(isBlockedCountry(catalogue, "RU")).toBe(false);
    expect(isBlockedCountry(shipped, "RU")).toBe(true);
  });

  test("that is empty changes nothing", () => {
    expect(load({})).toEqual(shipped);
  });

  const one_rule = (rule: object) => ({
    requirements: { eur: { local: { alternatives: [[rule]] } } },
  });
  const iban = { name: "iban", description: "the IBAN", example: "DE89370400440532013000" };

  test.each<[text: string, override: unknown]>([
    ["the file must be an object", []],
    ["has the unknown key fees", { fees: {} }],
    ["rails.xyz must be a lowercase ISO 4217 code", { rails: { xyz: ["local"] } }],
    ["rails.eur must use the rails local, swift, wire", { rails: { eur: ["sepa"] } }],
    ["rails.eur must not use wire", { rails: { eur: ["wire"] } }],
    ["rails.eur must be a list", { rails: { eur: "local" } }],
    ["requirements.zmw.local is missing", { rails: { zmw: ["local"] } }],
    ["add it to rails.zmw", { requirements: { zmw: { local: zmw_row } } }],
    ["add it to rails.jpy", { minimums: { jpy: { local: { amount: "1" } } } }],
    [
      "minimums.jpy.swift.amount must be a decimal",
      { minimums: { jpy: { swift: { amount: "1.5" } } } },
    ],
    [
      "minimums.usd.swift.amount must be a decimal",
      { minimums: { usd: { swift: { amount: 30 } } } },
    ],
    ["either amount or usd_equivalent", { minimums: { usd: { swift: {} } } }],
    ["blocked_countries[1] must be", { blocked_countries: ["US", "ZZ"] }],
    ["at least one set", { requirements: { eur: { local: { alternatives: [] } } } }],
    [
      "alternatives[0] must have one of iban, account_number, rib_number",
      one_rule({ name: "bank_code", description: "the bank", example: "001" }),
    ],
    [
      "eur.local.bank_countries[0] must be",
      { requirements: { eur: { local: { ...zmw_row, bank_countries: ["EU"] } } } },
    ],
    ["alternatives[0][0].name must be an identifier", one_rule({ ...iban, name: "city" })],
    ["alternatives[0][0].check must be one of", one_rule({ ...iban, check: "luhn" })],
    ["alternatives[0][0].pattern must be a regular", one_rule({ ...iban, pattern: "(" })],
    ["alternatives[0][0].example must match", one_rule({ ...iban, check: "iban", example: "DE1" })],
    ["alternatives[0][0].description must be a string", one_rule({ ...iban, description: "" })],
    [
      "length_limits.account_name must be a whole number from 1 to 140",
      { requirements: { eur: { local: { ...zmw_row, length_limits: { account_name: 0 } } } } },
    ],
  ])("is refused with a sentence: %s", (text, override) => {
    expect(() => load(override)).toThrow(text);
    expect(() => load(override)).toThrow(/^The catalogue override [^\n]+\.$/);
  });

  test("is refused if it is not JSON, or has a key named __proto__", () => {
    expect(() => loadCatalogue("{")).toThrow("the file must be well-formed JSON");
    expect(() => loadCatalogue('{"rails":{"__proto__":["local"]}}')).toThrow("ISO 4217");
  });
});
