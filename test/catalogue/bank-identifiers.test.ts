import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checkIdentifier,
  IDENTIFIERS,
  type IdentifierCheck,
} from "../../src/catalogue/bank-identifiers.ts";
import type { Parsed } from "../../src/platform/problems.ts";

type Check = (text: string) => Parsed<string>;

const CHECKS = Object.fromEntries(
  Object.keys(IDENTIFIERS).map((name) => [
    name,
    (text: string) => checkIdentifier(name as IdentifierCheck, text),
  ]),
) as Record<IdentifierCheck, Check>;

// Published numbers: the IBAN registry (also for the RIBs, which are the BBANs of its examples),
// the banks' own pages, Vocalink's test cases, Wikipedia's CLABE, python-stdnum's CBU.
const PUBLISHED: [name: string, check: Check, numbers: string[]][] = [
  [
    "IBAN",
    CHECKS.iban,
    [
      ...["DE89370400440532013000", "GB29NWBK60161331926819", "FR1420041010050500013M02606"],
      ...["NO9386011117947", "CH9300762011623852957", "MT84MALT011000012345MTLCAST001S"],
      ...["SE4550000000058398257466", "AE070331234567890123456", "PL61109010140000071219812874"],
    ],
  ],
  ["BIC", CHECKS.bic, ["DEUTDEFF", "DEUTDEFF500", "NEDSZAJJXXX", "CHASUS33", "NLPRXKPR"]],
  ["ABA routing number", CHECKS.aba, ["021000021", "011401533", "122105155", "026009593"]],
  ["sort code", CHECKS.sort_code, ["089999", "202959"]],
  ["UK account number", CHECKS.uk_account, ["66374958", "63748472"]],
  ["CLABE", CHECKS.clabe, ["032180000118359719", "002010077777777771"]],
  ["CBU", CHECKS.cbu, ["2850590940090418135201"]],
  ["IFSC", CHECKS.ifsc, ["HDFC0000001", "SBIN0005943"]],
  ["BSB", CHECKS.bsb, ["062000", "033547"]],
  ["Moroccan RIB", CHECKS.rib_ma, ["011519000001205000534921"]],
  ["Tunisian RIB", CHECKS.rib_tn, ["10006035183598478831"]],
  ["Algerian RIB", CHECKS.rib_dz, ["00799999002345678941"]],
  [
    "West African RIB",
    CHECKS.rib_uemoa,
    [
      ...["CI0080111301134291200589", "SN0100152000048500003035", "BJ0610100100144390000769"],
      ...["BF0840101300463574000390", "ML0160120102600100668497", "TG0090604310346500400070"],
      "NE0380100100130305000268",
    ],
  ],
  [
    "Central African RIB",
    CHECKS.rib_cemac,
    [
      ...["10002000300277976315008", "40021010032001890020126", "30011000101013451300019"],
      ...["60002000010271091600153", "20001000010120069700160"],
    ],
  ],
];

const published_each = PUBLISHED.flatMap(([name, check, numbers]) =>
  numbers.map((number) => ({ name, check, number })),
);

describe("every identifier", () => {
  test.each(published_each)("the published $name $number is accepted", ({ check, number }) => {
    expect(check(number)).toEqual({ value: number });
  });

  test.each(published_each)("$name $number is stored without spaces", ({ check, number }) => {
    const grouped = number.replace(/(.{2})(?=.)/g, "$1 ").replace(" ", "-");
    expect(check(` ${grouped}\u00a0`)).toEqual({ value: number });
  });

  test.each(Object.entries(CHECKS))("%s returns a value or a sentence for any text", (_, check) => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[A-Z0-9]{0,30}$/));
    fc.assert(
      fc.property(text, (any_text) => {
        const result: Parsed<string> = check(any_text);
        if ("value" in result) expect(result.value).toMatch(/^[A-Z0-9]+$/);
        else expect(result.reason).toMatch(/^[A-Z].{10,}[.…]$/);
      }),
    );
  });

  test.each(Object.entries(CHECKS))("%s refuses an empty text", (_, check) => {
    expect(check("")).toHaveProperty("reason");
    expect(check(" - ")).toHaveProperty("reason");
  });
});

describe("check digits", () => {
  test.each<[name: string, check: Check, arbitrary: fc.Arbitrary<string>, from: number]>([
    ["IBAN", CHECKS.iban, iban(), 2],
    ["ABA routing number", CHECKS.aba, routingNumber(), 0],
    ["CLABE", CHECKS.clabe, clabe(), 0],
    ["CBU", CHECKS.cbu, cbu(), 0],
    ["Moroccan RIB", CHECKS.rib_ma, digits(22).map(withRibKey), 0],
    ["Tunisian RIB", CHECKS.rib_tn, digits(18).map(withRibKey), 0],
    ["Algerian RIB after the bank code", CHECKS.rib_dz, algerianRib(), 3],
    ["Central African RIB", CHECKS.rib_cemac, frenchRib(), 0],
    ["West African RIB", CHECKS.rib_uemoa, digits(19).map((end) => westAfricanRib(end)), 2],
  ])("any single wrong digit is refused: %s", (_, check, arbitrary, from) => {
    fc.assert(
      fc.property(arbitrary, fc.nat(), fc.integer({ min: 1, max: 9 }), (number, at, step) => {
        expect(check(number)).toEqual({ value: number });
        const index = from + (at % (number.length - from));
        const digit = (Number(number[index]) + step) % 10;
        const changed = number.slice(0, index) + digit + number.slice(index + 1);
        expect(check(changed)).toHaveProperty("reason");
      }),
    );
  });

  test("a RIB key of 00 is refused if 97 is correct", () => {
    expect(CHECKS.rib_uemoa("ML0160120102600100668497")).toHaveProperty("value");
    expect(CHECKS.rib_uemoa("ML0160120102600100668400")).toHaveProperty("reason");
  });

  test("the refusal of wrong check digits says what to check", () => {
    const reason = "The check digits do not match; check the IBAN for a typo.";
    expect(CHECKS.iban("DE88370400440532013000")).toEqual({ reason });
  });
});

describe("formats", () => {
  test.each([
    ["an IBAN of a country that has none", CHECKS.iban, "US12345678901234567890"],
    ["an IBAN one digit short", CHECKS.iban, "DE8937040044053201300"],
    ["an IBAN with a symbol in it", CHECKS.iban, "DE89.370400440532013000"],
    ["an IBAN whose ligature would become letters", CHECKS.iban, "ﬁ2112345600000785"],
    ["a BIC of nine characters", CHECKS.bic, "DEUTDEFF5"],
    ["a BIC of no country", CHECKS.bic, "DEUTZZFF"],
    ["a routing number of zeros", CHECKS.aba, "000000000"],
    ["a routing number of no district", CHECKS.aba, "500000005"],
    ["a routing number of 8 digits", CHECKS.aba, "02100002"],
    ["a sort code of 5 digits", CHECKS.sort_code, "20-00-0"],
    ["a UK account number of 7 digits", CHECKS.uk_account, "5577991"],
    ["an IFSC without its zero", CHECKS.ifsc, "HDFC1000001"],
    ["a BSB of 5 digits", CHECKS.bsb, "06200"],
    ["a RIB with a letter in its branch", CHECKS.rib_uemoa, "SN010A0152000048500003035"],
    ["a RIB of 22 characters", CHECKS.rib_cemac, "1000200030027797631500"],
    ["a Central African RIB with a zero after it", CHECKS.rib_cemac, "100020003002779763150080"],
    ["a Central African RIB in West Africa", CHECKS.rib_uemoa, "10002000300277976315008"],
    ["a sort code of zeros", CHECKS.sort_code, "00-00-00"],
    ["a UK account number of zeros", CHECKS.uk_account, "00000000"],
    ["a BSB of zeros", CHECKS.bsb, "000-000"],
    ["a CLABE of zeros", CHECKS.clabe, "0".repeat(18)],
    ["a CBU of zeros", CHECKS.cbu, "0".repeat(22)],
  ])("%s is refused", (_, check, text) => {
    expect(check(text)).toHaveProperty("reason");
  });

  test("letters are accepted in any case and stored in upper case", () => {
    expect(CHECKS.iban("gb29nwbk60161331926819")).toEqual({ value: published(0, 1) });
    expect(CHECKS.bic("deutdeff")).toEqual({ value: "DEUTDEFF" });
    expect(CHECKS.ifsc("hdfc0000001")).toEqual({ value: "HDFC0000001" });
  });

  test("an IBAN with valid check digits is accepted whatever its national check digits", () => {
    expect(CHECKS.iban("FR5430006000011234567890100")).toHaveProperty("value");
  });
});

function published(row: number, index: number): string {
  return PUBLISHED[row]![2][index]!;
}

function digits(length: number): fc.Arbitrary<string> {
  return fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));
}

/** Long division, unlike the implementation. */
function remainder97(text: string): number {
  return [...text].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0);
}

function pad2(number: number): string {
  return String(number).padStart(2, "0");
}

function withRibKey(number: string): string {
  return number + pad2(97 - remainder97(`${number}00`));
}

function iban(): fc.Arbitrary<string> {
  return digits(18).map((bban) => `DE${pad2(98 - remainder97(`${bban}131400`))}${bban}`);
}

function routingNumber(): fc.Arbitrary<string> {
  return digits(6).map((rest) => {
    const d = [...`12${rest}`].map(Number) as [number, ...number[]];
    const sum = 3 * (d[0] + d[3]! + d[6]!) + 7 * (d[1]! + d[4]! + d[7]!) + d[2]! + d[5]!;
    return `12${rest}${(1000 - sum) % 10}`;
  });
}

function checkDigit(number: string, weights: string): number {
  const products = [...number].map((digit, index) => Number(digit) * Number(weights[index]));
  return (1000 - products.reduce((sum, product) => sum + (product % 10), 0)) % 10;
}

function clabe(): fc.Arbitrary<string> {
  return digits(17).map((number) => number + checkDigit(number, "37137137137137137"));
}

function cbu(): fc.Arbitrary<string> {
  return fc.tuple(digits(7), digits(13)).map(([bank, account]) => {
    const first = bank + checkDigit(bank, "7139713");
    return first + account + checkDigit(account, "3971397139713");
  });
}

function algerianRib(): fc.Arbitrary<string> {
  return fc.tuple(digits(3), digits(15)).map(([bank, rest]) => bank + withRibKey(rest));
}

/** The weights of the French rule for bank, branch and account. */
function frenchRib(): fc.Arbitrary<string> {
  return fc.tuple(digits(5), digits(5), digits(11)).map(([bank, branch, account]) => {
    const sum = 89 * Number(bank) + 15 * Number(branch) + 3 * Number(account);
    return bank + branch + account + pad2(97 - (sum % 97));
  });
}

/** S counts as 2 and N as 5. */
function westAfricanRib(rest: string): string {
  const number = `0${rest}`;
  return `SN${withRibKey(`25${number}`).slice(2)}`;
}
