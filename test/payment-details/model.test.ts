import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  describeRequirements,
  loadCatalogue,
  type RequirementRow,
} from "../../src/catalogue/catalogue.ts";
import { FIELD_LENGTHS, FIELD_NAMES } from "../../src/catalogue/payment-detail-fields.ts";
import {
  checkPaymentDetail,
  PAYMENT_DETAIL_MOVES,
  PAYMENT_DETAIL_STATUSES,
  satisfiesRail,
} from "../../src/payment-details/model.ts";
import type { Problem } from "../../src/platform/errors.ts";

const TODAY = "2026-11-15";
const catalogue = loadCatalogue();

function check(input: Record<string, unknown>, already: Problem[] = []) {
  return checkPaymentDetail(catalogue, input, TODAY, already);
}

/** `field code` of every problem, sorted. */
function found(input: Record<string, unknown>, already: Problem[] = []): string[] {
  const { problems } = check(input, already);
  return problems
    .map(({ field, code }) => `${field.replace("payment_detail.", "")} ${code}`)
    .sort();
}

/** What a caller would send to fill the described row with its examples and one of its sets. */
function example(row: RequirementRow, set: readonly string[]): Record<string, unknown> {
  const wanted = row.fields.filter((field) => field.required || set.includes(field.name));
  const entries = wanted.map((field) => [field.name, field.example]);
  return Object.fromEntries([...entries, ["rails", row.rails]]);
}

const [eur_row] = describeRequirements(catalogue, { currency: "eur", rails: "local" });
const eur = example(eur_row!, ["iban"]);
const [usd_row] = describeRequirements(catalogue, { currency: "usd", rails: "local" });
const usd = example(usd_row!, []);
const [gbp_row] = describeRequirements(catalogue, { currency: "gbp", rails: "local" });
const gbp = example(gbp_row!, []);
const [usd_swift_row] = describeRequirements(catalogue, { currency: "usd", rails: "swift" });
const usd_swift = example(usd_swift_row!, []);

const rows = describeRequirements(catalogue).flatMap((row) =>
  (row.one_of.length > 0 ? row.one_of : [[]]).map((set, n) => ({
    title: `${row.currency} by ${row.rails} for an ${row.beneficiary_type}, set ${n + 1}`,
    row,
    set,
    is_first: n === 0,
  })),
);

describe("every currency, rail and beneficiary type", () => {
  test.each(rows)("$title: the described example passes", ({ row, set }) => {
    const { problems, fields } = check(example(row, set));
    expect(problems).toEqual([]);
    const { currency, rails, beneficiary_type } = row;
    expect(fields).toMatchObject({ currency, rails, beneficiary_type });
  });

  test.each(rows)(
    "$title: each required field is reported when missing",
    ({ row, set, is_first }) => {
      const input = example(row, set);
      // Without rails it is a local account: nothing is missing, and other rules apply.
      const named = row.fields.filter((field) => field.required && field.name !== "rails");
      const required = named.map((field) => field.name);
      expect(required.length).toBeGreaterThan(7);
      for (const name of is_first ? [...required, ...set] : required) {
        for (const absent of [undefined, null, "", "  "]) {
          expect(found({ ...input, [name]: absent }), name).toEqual([`${name} parameter_missing`]);
        }
      }
      for (const name of set) {
        const problems = found({ ...input, [name]: null });
        expect(problems.some((problem) => problem.endsWith(" parameter_missing"))).toBe(true);
      }
    },
  );

  test.each(rows)("$title: signs, only zeros and only letters identify nothing", ({ row, set }) => {
    const whole = example(row, set);
    const codes = ["bank_code", "branch_code", "ncc", "document_number"];
    for (const name of codes.filter((code) => code in whole)) {
      for (const text of ["😀", "<b>1</b>", "=1+1", "١٢٣", "!"]) {
        expect(found({ ...whole, [name]: text })).toEqual([`${name} record_invalid`]);
      }
    }
    if (!("account_number" in whole)) return;
    for (const text of ["0".repeat(8), "0".repeat(18), "0".repeat(22), "nullnull"]) {
      expect(found({ ...whole, account_number: text })).toContain("account_number record_invalid");
    }
  });

  test.each(rows)("$title: the stored form passes again unchanged", ({ row, set }) => {
    const { fields } = check(example(row, set));
    expect(check(fields)).toEqual({ problems: [], fields });
  });
});

describe("general rules", () => {
  test("for an empty object every general field is missing, and nothing that depends on them", () => {
    expect(found({})).toEqual([
      "account_name parameter_missing",
      "address_line1 parameter_missing",
      "bank_name parameter_missing",
      "beneficiary_type parameter_missing",
      "city parameter_missing",
      "country parameter_missing",
      "currency parameter_missing",
      "postal_code parameter_missing",
    ]);
  });

  test("every field is present, null when absent", () => {
    const { fields } = check(eur);
    expect(Object.keys(fields).sort()).toEqual([...FIELD_NAMES, "metadata"].sort());
    expect(fields).toMatchObject({ address_line2: null, rib_number: null, metadata: null });
  });

  test("values are trimmed, codes are stored in their case, blank options are absent", () => {
    const input = { ...eur, account_name: "  Zoë Sample ", currency: " EUR", country: "pt " };
    const { problems, fields } = check({ ...input, address_line2: " ", rails: "LOCAL" });
    expect(problems).toEqual([]);
    expect(fields).toMatchObject({ account_name: "Zoë Sample", currency: "eur", country: "PT" });
    expect(fields).toMatchObject({ address_line2: null, rails: "local" });
  });

  test("state is required in the United States only", () => {
    expect(found({ ...usd, country: "US" })).toEqual(["state parameter_missing"]);
    expect(found({ ...usd, country: "us", state: "NY" })).toEqual([]);
    expect(found({ ...usd, country: "CA" })).toEqual([]);
  });

  test("a business needs no date of birth, but a given one is checked", () => {
    const business = { ...eur, beneficiary_type: "business", date_of_birth: null };
    expect(found(business)).toEqual([]);
    expect(found({ ...business, date_of_birth: "01/01/1850" })).toEqual([]);
    expect(found({ ...business, date_of_birth: "soon" })).toEqual(["date_of_birth record_invalid"]);
  });

  test.each(["15/11/2026", "2026-11-16", "31/02/1990", "1990-2-1", "0985-01-01", "x".repeat(99)])(
    "the date of birth %s is refused",
    (date_of_birth) => {
      expect(found({ ...eur, date_of_birth })).toEqual(["date_of_birth record_invalid"]);
    },
  );

  test("yesterday is in the past, and dates are stored as YYYY-MM-DD", () => {
    expect(check({ ...eur, date_of_birth: "14/11/2026" }).fields.date_of_birth).toBe("2026-11-14");
  });

  test.each([
    ["currency", "isk", "currency_not_supported"],
    ["currency", "constructor", "currency_not_supported"],
    ["currency", "e".repeat(5000), "currency_not_supported"],
    ["country", "RU", "country_not_supported"],
    ["country", "ru", "country_not_supported"],
    ["country", "XX", "record_invalid"],
    ["country", "ß", "record_invalid"],
    ["rails", "wire", "rails_not_available"],
    ["rails", "pigeon", "rails_not_available"],
    ["beneficiary_type", "person", "record_invalid"],
    ["gender", "x", "record_invalid"],
    ["account_type", "current", "record_invalid"],
    ["nationality", "English", "record_invalid"],
    ["phone", "0151 2345678", "record_invalid"],
    ["phone", "+123456789012345678", "record_invalid"],
    ["account_name", "A\0B", "record_invalid"],
    ["activity", "broken \ud800", "record_invalid"],
    ["city", "Lis\nbon", "record_invalid"],
    ["address_line2", 12, "record_invalid"],
    ["metadata", [], "record_invalid"],
  ])("%s = %j is %s", (name, value, code) => {
    expect(found({ ...eur, [name]: value })).toEqual([`${name} ${code}`]);
  });

  test.each([
    ["phone", "+351 912-345-678", "+351912345678"],
    ["nationality", "br", "BR"],
    ["gender", "o", "o"],
    ["account_type", "savings", "savings"],
    ["company_number", " HRB 1234 ", "HRB 1234"],
  ])("%s = %j is stored as %j", (name, value, kept) => {
    const { problems, fields } = check({ ...eur, [name]: value });
    expect(problems).toEqual([]);
    expect(fields).toMatchObject({ [name]: kept });
  });

  test("metadata is stored", () => {
    const metadata = { order: "7", urgent: true };
    expect(check({ ...eur, metadata }).fields.metadata).toEqual(metadata);
  });

  test.each(["account_name", "bank_name", "address_line1", "city", "postal_code"] as const)(
    "%s is accepted at its limit and too long beyond it",
    (name) => {
      const limit = FIELD_LENGTHS[name];
      expect(found({ ...eur, [name]: ` ${"é".repeat(limit)} ` })).toEqual([]);
      expect(found({ ...eur, [name]: "é".repeat(limit + 1) })).toEqual([`${name} value_too_long`]);
    },
  );

  test("a usd account name has at most 35 characters by local and wire", () => {
    const account_name = "N".repeat(36);
    expect(found({ ...usd, account_name })).toEqual(["account_name value_too_long"]);
    expect(found({ ...usd, account_name, rails: "wire" })).toEqual(["account_name value_too_long"]);
    expect(
      found({ ...usd_swift, account_number: "000123456", swift_bic: "CHASUS33", account_name }),
    ).toEqual([]);
  });
});

describe("rails", () => {
  test.each([undefined, null, "", "  "])("%j means local", (rails) => {
    expect(check({ ...eur, rails })).toMatchObject({ problems: [], fields: { rails: "local" } });
  });

  test("a currency without local refuses the default and lists its rails", () => {
    const { problems } = check({ ...eur, currency: "chf", rails: null });
    expect(problems).toEqual([
      {
        field: "payment_detail.rails",
        code: "rails_not_available",
        message: "For chf send rails as one of: swift.",
      },
    ]);
  });

  test("for a currency that is not served, the rail is not reported", () => {
    expect(found({ ...eur, currency: "isk", rails: "wire" })).toEqual([
      "currency currency_not_supported",
    ]);
    expect(found({ ...eur, currency: "isk", rails: "pigeon" })).toEqual([
      "currency currency_not_supported",
      "rails rails_not_available",
    ]);
  });
});

describe("identifiers", () => {
  test("an IBAN with one wrong digit is refused with advice", () => {
    expect(check({ ...eur, iban: "DE89370400440532013001" }).problems).toEqual([
      {
        field: "payment_detail.iban",
        code: "record_invalid",
        message: "The check digits do not match; check the IBAN for a typo.",
      },
    ]);
  });

  test("an IBAN in account_number is accepted for eur local and fills iban", () => {
    const { iban, ...rest } = eur;
    const { problems, fields } = check({ ...rest, account_number: "de89 3704 0044 0532 0130 00" });
    expect(problems).toEqual([]);
    expect(fields).toMatchObject({ iban, account_number: iban });
  });

  test("an account_number that is not an IBAN is refused for eur local", () => {
    const { iban: _, ...rest } = eur;
    expect(found({ ...rest, account_number: "12345678" })).toEqual([
      "account_number record_invalid",
    ]);
  });

  test("an account_number sent with an IBAN is stored unchanged", () => {
    const { problems, fields } = check({ ...eur, account_number: "532013000" });
    expect(problems).toEqual([]);
    expect(fields.account_number).toBe("532013000");
  });

  test("gbp local reports the missing fields of the set that was begun and names the other set", () => {
    const { problems } = check({ ...gbp, sort_code: "20-00-00" });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({ field: "payment_detail.account_number" });
    expect(problems[0]!.message).toContain("Or send iban instead.");
    expect(found(gbp)).toEqual(["account_number parameter_missing", "sort_code parameter_missing"]);
    expect(found({ ...gbp, sort_code: "200000", account_number: "5577991" })).toEqual([
      "account_number record_invalid",
    ]);
  });

  test.each([
    [{}, ["account_number parameter_missing", "swift_bic parameter_missing"]],
    [{ account_number: "000123456" }, ["swift_bic parameter_missing"]],
    [{ iban: "DE89370400440532013000" }, ["swift_bic parameter_missing"]],
    [{ swift_bic: "CHASUS33" }, ["account_number parameter_missing"]],
    [{ routing_number: "021000021" }, ["account_number parameter_missing"]],
    [{ iban: "DE89370400440532013000", routing_number: "021000021" }, []],
    [
      { iban: "DE00", routing_number: "021000020" },
      ["iban record_invalid", "routing_number record_invalid"],
    ],
  ])("usd by swift with %j: %j", (given, problems) => {
    expect(found({ ...usd_swift, ...given })).toEqual(problems);
  });

  test.each([
    ["iban", "DE00370400440532013000"],
    ["swift_bic", "DEUT"],
    ["routing_number", "021000020"],
    ["sort_code", "20-00"],
    ["bsb_number", "1"],
    ["ifsc", "HDFC1"],
  ])("a wrong %s is refused even if it is optional", (name, value) => {
    const mxn = { ...eur, iban: null, currency: "mxn", account_number: "032180000118359719" };
    expect(found(mxn)).toEqual([]);
    expect(found({ ...mxn, [name]: value })).toEqual([`${name} record_invalid`]);
    expect(found({ ...mxn, currency: "isk", [name]: value })).toContain(`${name} record_invalid`);
  });

  test("an xof BIC is optional but checked", () => {
    const xof = { ...eur, iban: null, currency: "xof", rails: "swift" };
    const rib_number = "sn010 01520 000485000030 35";
    expect(check({ ...xof, rib_number }).fields.rib_number).toBe("SN0100152000048500003035");
    expect(found({ ...xof, rib_number, swift_bic: "?" })).toEqual(["swift_bic record_invalid"]);
  });

  test("a bank in a blocked country is refused where any country is accepted", () => {
    const code = "swift_bic country_not_supported";
    const account = { account_number: "000123456789", swift_bic: "BANKIR22" };
    expect(found({ ...usd_swift, ...account })).toEqual([code]);
    const iban = "BY13NBRB3600900000002Z00AB00";
    const [row] = describeRequirements(catalogue, { currency: "eur", rails: "swift" });
    const eur_swift = { ...example(row!, []), iban, swift_bic: "BANKBY22" };
    expect(found(eur_swift)).toEqual(["iban country_not_supported", code]);
  });

  test("an IBAN sent as the account number is judged like one, since banks pay it like one", () => {
    const sudanese = "sd88 1112 3456 7890 12";
    const german = "DE89370400440532013000";
    const blocked = "account_number country_not_supported";
    const routing = { routing_number: "021000021" };
    expect(found({ ...usd_swift, ...routing, account_number: sudanese })).toEqual([blocked]);
    const swift_bic = "BANKAEAD";
    expect(found({ ...usd_swift, account_number: german, swift_bic })).toEqual([
      "swift_bic record_invalid",
    ]);
    const at_its_bank = { account_number: german, swift_bic: "DEUTDEFF" };
    expect(found({ ...usd_swift, ...at_its_bank })).toEqual([]);
    const [row] = describeRequirements(catalogue, { currency: "crc", rails: "local" });
    const crc = example(row!, []);
    expect(found({ ...crc, account_number: german })).toEqual(["account_number record_invalid"]);
    expect(found({ ...crc, account_number: "CR05015202001026284066" })).toEqual([]);
  });

  test("a Peruvian business needs a RUC, not a DNI", () => {
    const filter = { currency: "pen", beneficiary_type: "business" };
    const business = example(describeRequirements(catalogue, filter)[0]!, []);
    expect(business.document_type).toBe("ruc");
    expect(found({ ...business, document_type: "dni" })).toEqual(["document_type record_invalid"]);
  });
});

describe("problems found before", () => {
  test("are not reported again, and their fields are not checked", () => {
    const names = ["account_name", "iban", "country", "metadata.colour", "date_of_birth"];
    const already = names.map((name): Problem => {
      return { field: `payment_detail.${name}`, code: "record_invalid", message: "Send a string." };
    });
    const input = { ...eur, account_name: 5, iban: {}, country: [], metadata: { colour: [] } };
    const { problems, fields } = check({ ...input, date_of_birth: 7 }, already);
    expect(problems).toEqual([]);
    expect(fields).toMatchObject({ account_name: null, iban: null, metadata: null });
  });

  test("in the currency or the rail suppress the rail's required fields", () => {
    for (const name of ["currency", "rails"]) {
      const problem: Problem = {
        field: `payment_detail.${name}`,
        code: "record_invalid",
        message: "Send a string.",
      };
      expect(found({ ...eur, iban: null, [name]: 5 }, [problem])).toEqual([]);
    }
  });
});

describe("any input", () => {
  const value = fc.oneof(
    fc.anything(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("usd", "gbp", "swift", "individual", "US", "DE89370400440532013000", " "),
  );
  const record = fc.record(
    Object.fromEntries([...FIELD_NAMES, "metadata"].map((name) => [name, value])),
    { requiredKeys: [] },
  );

  test("gives all fields, and at most one problem per field with advice", () => {
    fc.assert(
      fc.property(record, fc.boolean(), (input, is_valid_base) => {
        const { problems, fields } = check(is_valid_base ? { ...eur, ...input } : input);
        expect(Object.keys(fields)).toHaveLength(FIELD_NAMES.length + 1);
        const paths = problems.map((problem) => problem.field);
        const own = paths.filter((path) => !path.startsWith("payment_detail.metadata"));
        expect(new Set(own).size).toBe(own.length);
        for (const { field, message } of problems) {
          expect(field).toMatch(/^payment_detail\./);
          expect(message).toMatch(/^[A-Z].+[.…]$/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([null, undefined, "text", 5, []])("%j instead of an object does not throw", (input) => {
    expect(found(input as never)).toHaveLength(8);
  });

  test("no message repeats the input", () => {
    const secret = "SECRET1234567890";
    for (const name of FIELD_NAMES) {
      const text = JSON.stringify(check({ ...eur, [name]: secret }).problems);
      expect(text).not.toContain(secret);
    }
  });
});

describe("statuses", () => {
  test("every move leads to a known status, and deactivated is final", () => {
    for (const [from, targets] of Object.entries(PAYMENT_DETAIL_MOVES)) {
      expect(PAYMENT_DETAIL_STATUSES).toContain(from);
      expect(targets).not.toContain(from);
      for (const to of targets) expect(PAYMENT_DETAIL_STATUSES).toContain(to);
    }
    expect(PAYMENT_DETAIL_MOVES.deactivated).toEqual([]);
  });

  test("every live status can be deactivated", () => {
    for (const from of ["pending", "approved", "failed"] as const) {
      expect(PAYMENT_DETAIL_MOVES[from]).toContain("deactivated");
    }
  });
});

describe("satisfiesRail", () => {
  test("returns whether a stored account can be paid by another rail", () => {
    const { fields } = check({ ...usd });
    expect(satisfiesRail(catalogue, fields, "wire")).toBe(true);
    expect(satisfiesRail(catalogue, fields, "swift")).toBe(true);
    const { fields: euro } = check({ ...eur });
    expect(satisfiesRail(catalogue, euro, "swift")).toBe(false);
    expect(satisfiesRail(catalogue, { ...euro, swift_bic: "DEUTDEFF" }, "swift")).toBe(true);
    expect(satisfiesRail(catalogue, euro, "wire")).toBe(false);
  });
});
