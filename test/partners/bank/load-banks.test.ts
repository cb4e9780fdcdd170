import { describe, expect, it } from "vitest";
import { loadBanks } from "../../../src/partners/bank/file-bank/load-banks.ts";
import { ACH_ACCOUNT, banksFile, SEPA_ACCOUNT, WIRE_ACCOUNT } from "./banks-file.ts";

function load(accounts: Record<string, unknown>) {
  return loadBanks(banksFile("in", accounts));
}

describe("the operator's file of banks", () => {
  it("names accounts, their schemes and their windows, with usual values for the rest", () => {
    const { inbox, accounts } = load({ "main-eur": SEPA_ACCOUNT, "main-usd": WIRE_ACCOUNT });
    expect(inbox).toBe("in");
    expect(accounts).toMatchObject([
      {
        name: "main-eur",
        booked_by: "camt.053",
        debtor: { name: "Sample Ramp UAB", address: null },
        debtor_account: { iban: "LT069999900000012345" },
        debtor_bank: { bic: "SLIPLT21XXX" },
        routes: [
          {
            ...{ scheme: "sepa", rail: "local", currencies: ["eur"], charge_bearer: "SLEV" },
            ...{ is_batch_booked: false, address_form: "structured" },
            ...{ purposes: {}, intermediary_banks: {} },
            schedule: { calendar: "target", lead_days: 0 },
          },
        ],
        deposits: { currency: "eur", rails: ["local"] },
      },
      {
        debtor_account: { number: "9900012345" },
        debtor_bank: { clearing_system: "USABA", member_id: "021000021" },
        routes: [{ scheme: "us_wire", rail: "wire", schedule: { calendar: "federal_reserve" } }],
        deposits: null,
      },
    ]);
  });

  it.each(["in", "in/out", "./in/../in", "in/done"])("no outbox is in the inbox: %s", (outbox) => {
    expect(() => load({ "main-eur": { ...SEPA_ACCOUNT, outbox } })).toThrow(
      "accounts.main-eur.outbox must be outside of the inbox",
    );
    for (const beside of ["inner", "..in", "../in"]) {
      expect(load({ "main-eur": { ...SEPA_ACCOUNT, outbox: beside } }).inbox).toBe("in");
    }
  });

  it("an account in the United States sends NACHA files, with the terms of its bank", () => {
    const [account] = load({ "main-usd": ACH_ACCOUNT }).accounts;
    expect(account!.routes).toEqual([
      {
        ...{ scheme: "ach", rail: "local", currencies: ["usd"] },
        schedule: {
          ...{ calendar: "federal_reserve", time_zone: "America/New_York" },
          ...{ cut_offs: ["16:00"], lead_days: 1 },
        },
        origination: {
          ...{ destination: "021000021", destination_name: "SAMPLE BANK" },
          ...{ origin: "1234567890", origin_name: "SAMPLE RAMP", company_name: "SAMPLE RAMP" },
          ...{ company_id: "1234567890", description: "PAYOUT", originating_bank: "02100002" },
          offset: {
            ...{ routing_number: "021000021", account_number: "9900012345" },
            ...{ account_type: "checking", name: "SAMPLE RAMP" },
          },
          is_booked_by_sum: false,
        },
      },
    ]);
  });

  const { sepa } = SEPA_ACCOUNT.routes;
  const ach = (change: object) => ({
    "main-usd": { ...ACH_ACCOUNT, routes: { ach: { ...ACH_ACCOUNT.routes.ach, ...change } } },
  });
  const eur = (change: object) => ({ "main-eur": { ...SEPA_ACCOUNT, ...change } });
  const route = (change: object) => eur({ routes: { sepa: { ...sepa, ...change } } });
  const swift = (change: object) =>
    eur({ routes: { swift: { ...sepa, currencies: ["inr", "aed"], ...change } } });
  it("a route names purposes, and the banks that payments pass through, by currency", () => {
    const terms = {
      purposes: { inr: "P0802", aed: "SUPP" },
      intermediary_banks: { inr: "deutdeff" },
    };
    expect(load(swift(terms)).accounts[0]!.routes).toMatchObject([
      { purposes: terms.purposes, intermediary_banks: { inr: { bic: "DEUTDEFF" } } },
    ]);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["no account", {}, "accounts must name at least one account"],
    ["a name with spaces", { "a b": SEPA_ACCOUNT }, "accounts has the name a b"],
    ["an unknown key", eur({ color: "red" }), "accounts.main-eur has the unknown key color"],
    ["a wrong IBAN", eur({ iban: "LT00" }), "accounts.main-eur.iban is wrong"],
    ["two numbers", eur({ account_number: "1" }), "must have an iban or an account_number"],
    ["no bank", eur({ bic: undefined }), "must have the bic of the bank, or its routing_number"],
    ["no directory", eur({ outbox: " " }), "accounts.main-eur.outbox must be a text"],
    ["another report", eur({ booked_by: "mt940" }), "booked_by must be camt.053 or camt.054"],
    ["another scheme", eur({ routes: { cash: sepa } }), "routes has cash; it can have sepa, swift"],
    ["another currency", route({ currencies: ["usd"] }), "sepa.currencies cannot have usd"],
    ["no cut-off", route({ cut_offs: ["9:00"] }), "sepa has no valid schedule (cut-off times"],
    ["no time zone", route({ time_zone: "Mars/Base" }), "sepa has no valid schedule"],
    ["another bearer", route({ charge_bearer: "SHAR" }), "charge_bearer must be SLEV"],
    ["a purpose of a bank in SEPA", route({ purposes: { eur: "P0802" } }), "purposes.eur must be"],
    ["a purpose of no currency", route({ purposes: { inr: "SUPP" } }), "has the unknown key inr"],
    ["a bank between in SEPA", route({ intermediary_banks: {} }), "the unknown key intermediary"],
    ["a bank between without BIC", swift({ intermediary_banks: { inr: "X" } }), "inr is wrong"],
    ["a long company", ach({ company_name: "A".repeat(17) }), "must have up to 16 capital letters"],
    ["small letters", ach({ company_id: "abc" }), "company_id must have up to 10 capital letters"],
    ["a reversal", ach({ description: "REVERSAL" }), "description cannot be REVERSAL"],
    [
      "ACH without a routing number",
      eur({ routes: { ach: ACH_ACCOUNT.routes.ach } }),
      "needs the routing_number and the account_number",
    ],
    ["half an address", eur({ address: { town: "Vilnius" } }), "address.country must be a text"],
    [
      "a currency and rail twice",
      {
        a: SEPA_ACCOUNT,
        b: { ...SEPA_ACCOUNT, iban: "DE89370400440532013000", deposits: undefined },
      },
      "accounts pays eur by local twice",
    ],
    [
      "an account twice",
      { a: SEPA_ACCOUNT, b: { ...SEPA_ACCOUNT, routes: {}, deposits: undefined } },
      "accounts has the account LT069999900000012345 twice",
    ],
  ])("%s is refused", (_, accounts, message) => {
    expect(() => load(accounts)).toThrow(message);
  });
});
