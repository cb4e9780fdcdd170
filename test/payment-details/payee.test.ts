import { describe, expect, it } from "vitest";
import { describeRequirements, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import { BANK_IDENTIFIERS } from "../../src/catalogue/payment-detail-fields.ts";
import type { Rail } from "../../src/catalogue/rails.ts";
import { digestBeneficiary, isPartOf } from "../../src/partners/sandbox-digests.ts";
import { checkPaymentDetail } from "../../src/payment-details/model.ts";
import {
  beneficiaryOf,
  hashPayee,
  payeeOf,
  possibleBeneficiaries,
} from "../../src/payment-details/payee.ts";

// Tunisian banks receive other currencies only if Tunisia is not blocked.
const catalogue = loadCatalogue(JSON.stringify({ blocked_countries: [] }));
const INDEX_KEY = Buffer.alloc(32, 7);
const [row] = describeRequirements(catalogue, { currency: "eur", rails: "local" });
const HOLDER = Object.fromEntries(
  row!.fields
    .filter(({ name, required }) => required && !["currency", "iban"].includes(name))
    .map(({ name, example }) => [name, example]),
);

/** The fields as they are stored. */
function fieldsOf(sent: Record<string, string>) {
  const { fields, problems } = checkPaymentDetail(
    catalogue,
    { ...HOLDER, ...sent },
    "2026-11-15",
    [],
  );
  expect(problems).toEqual([]);
  return fields;
}

const indexOf = (sent: Record<string, string>, account_id = "account") =>
  hashPayee(INDEX_KEY, catalogue, { account_id, fields: fieldsOf(sent) })!.toString("hex");

const BRL = { currency: "brl", bank_code: "001", branch_code: "0012", document_number: "1" };
const BR_IBAN = "BR1800360305000010009795493C1";
const US = { currency: "usd", routing_number: "021000021" };
const DE_IBAN = "DE89370400440532013000";
const US_SWIFT = { currency: "usd", rails: "swift", swift_bic: "DEUTDEFF" };
const GB_IBAN = "GB29NWBK60161331926819";
const GB = { currency: "gbp", sort_code: "601613", account_number: "31926819" };
const TN_RIB = "10006035183598478831";
const JP = { currency: "jpy", rails: "swift", swift_bic: "BOTKJPJT" };
const NZ = { currency: "nzd", rails: "swift", swift_bic: "ANZBNZ22", ncc: "010902" };
const [cemac] = describeRequirements(catalogue, { currency: "xaf", rails: "swift" });
const CM_RIB = String(cemac!.fields.find(({ name }) => name === "rib_number")!.example);
const XAF = { currency: "xaf", rails: "swift", swift_bic: "ECOCCMCX", rib_number: CM_RIB };
const CAD = { currency: "cad", rails: "swift", swift_bic: "ROYCCAT2", account_number: "1234567" };
const AUD = { currency: "aud", rails: "swift", swift_bic: "CTBAAU2S", bsb_number: "062143" };
const HKD = { currency: "hkd", rails: "swift", swift_bic: "HSBCHKHH", bank_code: "004" };
const pen_row = describeRequirements(catalogue, { currency: "pen", rails: "local" })[0]!;
const PEN = Object.fromEntries(
  pen_row.fields.flatMap(({ name, required, example }) => (required ? [[name, example]] : [])),
);
const CLABE = "032180000118359719";
/** The examples of the IBAN registry, with the number of the account at its bank. */
const NATIONAL = [
  ["CAIXESBB", "ES9121000418450200051332", "0200051332"],
  ["PSSTFRPP", "FR1420041010050500013M02606", "0500013M026"],
  ["GKCCBEBB", "BE68539007547034", "0075470"],
  ["BSCHPTPL", "PT50000201231234567890154", "12345678901"],
  ["CEFXBRSP", BR_IBAN, "0009795493"],
  ["DNBANOKK", "NO9386011117947", "111794"],
  ["BSLJSI2X", "SI56263300012039086", "00120390"],
  ["NBSRRSBG", "RS35260005601001611379", "0056010016113"],
  ["HABAEE2X", "EE382200221020145685", "22102014568"],
] as const;

describe("a payee is the same bank account", () => {
  it.each<[string, Record<string, string>, Record<string, string>]>([
    [
      "with an additional IBAN that the rail does not pay by",
      { ...BRL, account_number: "0009795493" },
      { ...BRL, account_number: "0009795493", iban: BR_IBAN },
    ],
    ["by IBAN, or by sort code and account number", { currency: "gbp", iban: GB_IBAN }, GB],
    [
      "by either rail of gbp",
      GB,
      { ...GB, rails: "swift", iban: GB_IBAN, swift_bic: "NWBKGB2L", account_number: "31926819" },
    ],
    [
      "with a currency after the number, or a word before it",
      { ...US_SWIFT, account_number: "00123456USD" },
      { ...US_SWIFT, account_number: "ACCT123456" },
    ],
    [
      "by an IBAN with a currency after it, or its plain number in lower case",
      { ...US_SWIFT, account_number: `${DE_IBAN}USD` },
      { ...US_SWIFT, account_number: "0532013000eur" },
    ],
    [
      "with leading zeros or without",
      { ...US, account_number: "000123456789" },
      { ...US, account_number: "123456789" },
    ],
    [
      "in either case of letters",
      { ...US, account_number: "ab123456" },
      { ...US, account_number: "AB 12-34-56" },
    ],
    [
      "under another routing number of the bank",
      { ...US, account_number: "123456789" },
      { ...US, account_number: "123456789", routing_number: "026009593" },
    ],
    [
      "under another national code of the bank",
      { ...BRL, account_number: "12345678" },
      { ...BRL, account_number: "12345678", bank_code: "1", branch_code: "12" },
    ],
    [
      "with the IBAN as account number",
      { currency: "eur", iban: DE_IBAN },
      { currency: "eur", account_number: "de89 3704 0044 0532 0130 00" },
    ],
    [
      "in another currency",
      { currency: "eur", iban: DE_IBAN },
      { ...US_SWIFT, account_number: DE_IBAN },
    ],
    [
      "by swift with its IBAN or its number",
      { ...US_SWIFT, iban: DE_IBAN },
      { ...US_SWIFT, account_number: "0532013000" },
    ],
    [
      "by swift with bank code and number together",
      { ...US_SWIFT, iban: DE_IBAN },
      { ...US_SWIFT, account_number: DE_IBAN.slice(4) },
    ],
    [
      "by its RIB, locally or by swift",
      { currency: "tnd", rib_number: TN_RIB },
      { currency: "tnd", rails: "swift", rib_number: TN_RIB, swift_bic: "BIATTNTT" },
    ],
    [
      "by its RIB, or by the IBAN that contains it",
      { currency: "tnd", rib_number: TN_RIB },
      { ...US_SWIFT, iban: `TN59${TN_RIB}`, swift_bic: "BIATTNTT" },
    ],
    ...NATIONAL.map(
      ([bic, iban, number]): [string, Record<string, string>, Record<string, string>] => [
        `by its IBAN ${iban}, or by its national number`,
        { ...US_SWIFT, iban, swift_bic: bic },
        { ...US_SWIFT, account_number: number, swift_bic: bic },
      ],
    ),
    ...NATIONAL.map(([bic, iban]): [string, Record<string, string>, Record<string, string>] => [
      `by its IBAN ${iban}, or by what follows the check digits in it`,
      { ...US_SWIFT, iban, swift_bic: bic },
      { ...US_SWIFT, account_number: iban.slice(4), swift_bic: bic },
    ]),
    [
      "by a Brazilian IBAN, or locally by its number",
      { ...US_SWIFT, iban: BR_IBAN, swift_bic: "CEFXBRSP" },
      { ...BRL, account_number: "9795493" },
    ],
    [
      "by its CLABE in another currency",
      { currency: "mxn", account_number: CLABE },
      { ...US_SWIFT, account_number: CLABE, swift_bic: "BCMRMXMM" },
    ],
    [
      "a British number, and the same after its sort code",
      { ...GB },
      { ...US_SWIFT, account_number: "60-16-13 31926819", swift_bic: "NWBKGB2L" },
    ],
    [
      "an Irish IBAN, and its number after the sort code",
      { currency: "eur", iban: "IE29AIBK93115212345678" },
      { ...US_SWIFT, account_number: "93115212345678", swift_bic: "AIBKIE2D" },
    ],
    [
      "a Japanese number, and the same after its branch",
      { ...JP, account_number: "0234567" },
      { ...JP, account_number: "001-0234567" },
    ],
    [
      "a Japanese number after bank and branch, in another currency",
      { ...JP, account_number: "234567" },
      { ...US_SWIFT, account_number: "0005 001 0234567 JPY", swift_bic: "BOTKJPJT" },
    ],
    ...["01-0902-0068389-01", "01-0902-0068389-000", "01-0902-00068389-0000", "0068389-00"].map(
      (number): [string, Record<string, string>, Record<string, string>] => [
        `a New Zealand number with another suffix, ${number}`,
        { ...NZ, account_number: "01-0902-0068389-00" },
        { ...NZ, account_number: number },
      ],
    ),
    ...["06214370681678", "062-143 7068 1678", "0000070681678"].map(
      (number): [string, Record<string, string>, Record<string, string>] => [
        `an Australian number, and ${number}`,
        { ...AUD, account_number: "70681678" },
        { ...AUD, account_number: number },
      ],
    ),
    [
      "an Australian number after its BSB, in another currency",
      { ...AUD, account_number: "123456" },
      { ...US_SWIFT, account_number: "062143123456", swift_bic: "CTBAAU2S" },
    ],
    ...["051231234567", "003051231234567", "051230031234567", "0003051231234567"].map(
      (number): [string, Record<string, string>, Record<string, string>] => [
        `a Canadian number, and the same after institution and transit, ${number}`,
        { ...CAD, bank_code: "003", branch_code: "05123" },
        { ...CAD, bank_code: "3", branch_code: "5123", account_number: number },
      ],
    ),
    [
      "a Hong Kong number, and the same after the bank's code",
      { ...HKD, account_number: "808123456833" },
      { ...HKD, account_number: "004808123456833" },
    ],
    [
      "a Hong Kong number of nine digits, and the same after the bank's code, in cny",
      { ...HKD, account_number: "123456833" },
      { ...HKD, currency: "cny", account_number: "004123456833" },
    ],
    [
      "a Peruvian number, and the CCI that contains it",
      { ...PEN, account_number: "2003001234567" },
      { ...PEN, account_number: "00320000300123456731" },
    ],
    [
      "a Peruvian number with zeros to the length of a CCI",
      { ...PEN, account_number: "2003001234567" },
      { ...PEN, account_number: "00000002003001234567" },
    ],
  ])("%s", (_name, first, second) => {
    expect(indexOf(second)).toBe(indexOf(first));
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ["another number", { ...US, account_number: "1234567" }, { ...US, account_number: "12345670" }],
    [
      "another IBAN of the bank",
      { currency: "eur", iban: DE_IBAN },
      { currency: "eur", iban: "DE75512108001245126199" },
    ],
    [
      "another Japanese number",
      { ...JP, account_number: "0010234567" },
      { ...JP, account_number: "0010234568" },
    ],
    [
      "another New Zealand number",
      { ...NZ, account_number: "01-0902-0068389-00" },
      { ...NZ, account_number: "01-0902-0068390-00" },
    ],
    [
      "another Australian number",
      { ...AUD, account_number: "06214370681678" },
      { ...AUD, account_number: "06214370681679" },
    ],
    [
      "another Peruvian number",
      { ...PEN, account_number: "00320000300123456731" },
      { ...PEN, account_number: "00320000300123456831" },
    ],
  ])("but not with %s", (_name, first, second) => {
    expect(indexOf(second)).not.toBe(indexOf(first));
  });

  it("in each account of its own", () => {
    const sent = { currency: "eur", iban: DE_IBAN };
    expect(indexOf(sent, "one")).not.toBe(indexOf(sent, "other"));
  });
});

describe("members and the bank see the account that the rail pays", () => {
  it.each<[string, Record<string, string>, Rail, string]>([
    [
      "a local rail that ignores the IBAN",
      { ...BRL, account_number: "0009795493", iban: BR_IBAN },
      "local",
      "account number …5493",
    ],
    [
      "gbp locally",
      { ...GB, iban: GB_IBAN, swift_bic: "NWBKGB2L" },
      "local",
      "account number …6819",
    ],
    ["gbp by swift", { ...GB, iban: GB_IBAN, swift_bic: "NWBKGB2L" }, "swift", "iban GB29…6819"],
    [
      "usd by swift",
      { ...US_SWIFT, account_number: "0532013", iban: DE_IBAN },
      "swift",
      "account number …2013",
    ],
    [
      "an IBAN as account number",
      { currency: "eur", account_number: DE_IBAN },
      "local",
      "iban DE89…3000",
    ],
  ])("%s", (_name, sent, rail, shown) => {
    const fields = fieldsOf(sent);
    expect(payeeOf(catalogue, { fields, rail })).toContain(shown);
    const told = beneficiaryOf(catalogue, { fields, rail });
    const accounts = [told.iban, told.account_number, told.rib_number].filter(Boolean);
    expect(accounts).toEqual([fields[shown.split(" ").slice(0, -1).join("_") as "iban"]]);
  });
});

it("members see at which bank the account is", () => {
  const shown = (sent: Record<string, string>, rail: Rail) =>
    payeeOf(catalogue, { fields: fieldsOf(sent), rail })
      .split(", ")
      .slice(2);
  expect(shown({ ...GB, swift_bic: "NWBKGB2L" }, "local")).toEqual([`sort code ${GB.sort_code}`]);
  expect(shown({ ...GB, sort_code: "200000" }, "local")).toEqual(["sort code 200000"]);
  expect(shown({ currency: "eur", iban: DE_IBAN }, "local")).toEqual([]);
});

describe("a bank is told the codes of banks that the rail pays by", () => {
  const CODES = { sort_code: "601613", routing_number: "021000021", bank_code: "999" };
  it.each<[string, Record<string, string>, Rail, string[]]>([
    ["xaf by swift", { ...XAF, bank_code: "999", branch_code: "99" }, "swift", ["swift_bic"]],
    ["eur locally", { currency: "eur", iban: DE_IBAN, routing_number: "021000021" }, "local", []],
    ["gbp locally", { ...GB, swift_bic: "MIDLGB22" }, "local", ["sort_code"]],
    [
      "gbp by IBAN",
      { currency: "gbp", iban: GB_IBAN, swift_bic: "NWBKGB2L" },
      "local",
      ["swift_bic"],
    ],
    ["usd locally", { ...US, account_number: "123456", ...CODES }, "local", ["routing_number"]],
    [
      "cad by swift",
      { ...CAD, ...CODES, branch_code: "00012" },
      "swift",
      ["swift_bic", "bank_code", "branch_code"],
    ],
  ])("%s", (_name, sent, rail, codes) => {
    const fields = fieldsOf(sent);
    const told = beneficiaryOf(catalogue, { fields, rail });
    expect(BANK_IDENTIFIERS.filter((name) => told[name])).toEqual(codes);
    // What was told with more or fewer codes, by another catalogue, is known too.
    const digest = (beneficiary: object) => digestBeneficiary(INDEX_KEY, "id", { ...beneficiary });
    const isKnown = (stored: Buffer) =>
      possibleBeneficiaries(fields).some((form) => isPartOf(stored, digest(form)));
    expect(isKnown(digest(told))).toBe(true);
    expect(isKnown(digest(fields))).toBe(true);
    expect(isKnown(digest({ ...told, swift_bic: "EVILDEFF" }))).toBe(false);
    expect(isKnown(digest({ ...told, account_name: "Somebody Else" }))).toBe(false);
    expect(possibleBeneficiaries(fields).length).toBeLessThanOrEqual(4);
  });
});

it("an IBAN and a British account number that overlaps with it are two accounts", () => {
  const sent = { ...HOLDER, ...GB, account_number: "16133192", iban: GB_IBAN };
  const { problems } = checkPaymentDetail(catalogue, sent, "2026-11-15", []);
  expect(problems).toMatchObject([{ field: "payment_detail.iban", code: "record_invalid" }]);
});
