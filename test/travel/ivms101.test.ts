import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLei } from "../../src/platform/lei.ts";
import { describeTransfer } from "../../src/travel/ivms101.ts";
import { KYC_NOT_STARTED, type User } from "../../src/users/model.ts";
import { ivms101Faults } from "./ivms101-schema.ts";

const LEI = "529900T8BM49AURSDO55";
const TRANSFER = {
  record_id: "019a8f3c-7a10-7c4e-9b2d-0000000000f1",
  address: `T${"x".repeat(33)}`,
};

/** What users may contain: any letters, up to the longest that the API takes. */
const word = (max: number) =>
  fc.string({ minLength: 1, maxLength: max, unit: "grapheme" }).filter((text) => {
    const length = [...text].length;
    return text.trim() === text && length <= max && length > 0;
  });
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const users: fc.Arbitrary<User> = fc
  .record({
    beneficiary_type: fc.constantFrom("individual", "business"),
    first_name: word(100),
    last_name: word(100),
    company_name: word(140),
    address_line1: maybe(word(140)),
    address_line2: maybe(word(140)),
    city: maybe(word(100)),
    state: maybe(word(100)),
    postcode: maybe(word(20)),
    country: maybe(fc.constantFrom("PT", "US", "JP")),
    ssn: maybe(fc.oneof(word(50), fc.constant(LEI))),
  })
  .map(({ beneficiary_type, ...known }) => {
    const is_business = beneficiary_type === "business";
    const rest = { email: "a@example.com", date_of_birth: null, nationality: null, phone: null };
    const names = is_business ? { first_name: null, last_name: null } : { company_name: null };
    const time = new Date(0);
    return {
      account_id: "a",
      id: "019a8f3c-7a10-7c4e-9b2d-0000000000b1",
      beneficiary_type,
      identity: {
        ...known,
        ...rest,
        ...names,
        source_of_funds: null,
        business_activity: null,
        metadata: {},
      },
      kyc: KYC_NOT_STARTED,
      sequence: 0,
      created_at: time,
      updated_at: time,
      deactivated_at: null,
    } as User;
  });

describe("the description of a transfer", () => {
  it("keeps the standard's rules, whatever is known about the user", () => {
    const vasps = fc.record({
      name: fc.option(word(140), { nil: undefined }),
      lei: fc.constantFrom(LEI, undefined),
      country: fc.constantFrom("PT", undefined),
    });
    fc.assert(
      fc.property(users, vasps, (user, vasp) => {
        const { ivms101, missing } = describeTransfer(user, TRANSFER, vasp);
        expect(ivms101Faults(ivms101)).toEqual([]);
        expect(missing.includes("originating_vasp")).toBe(vasp.name === undefined);
        const { address_line1, city, country } = user.identity;
        const is_known = address_line1 !== null && city !== null && country !== null;
        expect(missing.includes("address")).toBe(!is_known);
      }),
    );
  });

  it.each([
    ["no legal name", '"nameIdentifierType":"LEGL"', '"nameIdentifierType":"ALIA"'],
    ["an empty name", '"primaryIdentifier":"Sample"', '"primaryIdentifier":" "'],
    ["an unknown country", '"country":"PT"', '"country":"ZZ"'],
    ["no town", '"townName":"Lisbon",', ""],
    ["an address without a line", '"addressLine":["1 Sample Street"],', ""],
    ["a line that is too long", "1 Sample Street", "x".repeat(71)],
    ["an unknown field", '"originator":{', '"originator":{"address":"",'],
  ])("is checked: %s is found", (_name, found, replacement) => {
    const [user] = fc.sample(users, 1);
    const identity = {
      ...user!.identity,
      ...{ first_name: "Ana", last_name: "Sample", company_name: null, ssn: null },
      ...{ address_line1: "1 Sample Street", address_line2: null, city: "Lisbon", country: "PT" },
    };
    const person = { ...user!, beneficiary_type: "individual" as const, identity };
    const vasp = { name: undefined, lei: undefined, country: undefined };
    const text = JSON.stringify(describeTransfer(person, TRANSFER, vasp).ivms101);
    expect(ivms101Faults(JSON.parse(text))).toEqual([]);
    const broken = text.replace(found, replacement);
    expect(broken).not.toBe(text);
    expect(ivms101Faults(JSON.parse(broken))).not.toEqual([]);
  });
});

it("an LEI is known by its check digits", () => {
  expect(isLei(LEI)).toBe(true);
  expect(isLei("529900T8BM49AURSDO56")).toBe(false);
  expect(isLei("529900T8BM49AURSDO5")).toBe(false);
});
