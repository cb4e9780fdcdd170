import { Ajv2020 } from "ajv/dist/2020.js";
import { iso31661 } from "iso-3166";

/*
 * The data model IVMS101 (interVASP, 2020) as far as transfers use it, written from the standard and
 * not from our code: cardinalities, lengths, code lists, and its constraints C1 to C11 by number.
 */

const text = (max: number) => ({ type: "string", minLength: 1, maxLength: max, pattern: "\\S" });
const closed = (properties: object, required: readonly string[], more: object = {}) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
  ...more,
});
const listOf = (items: object, more: object = {}) => ({
  type: "array",
  items,
  minItems: 1,
  ...more,
});

/** C3: ISO 3166-1 alpha-2, or XX. */
const country = { enum: [...iso31661.map(({ alpha2 }) => alpha2), "XX"] };

const address = closed(
  {
    addressType: { enum: ["HOME", "BIZZ", "GEOG"] },
    department: text(50),
    subDepartment: text(70),
    streetName: text(70),
    buildingNumber: text(16),
    buildingName: text(35),
    floor: text(70),
    postBox: text(16),
    room: text(70),
    postCode: text(16),
    townName: text(35),
    townLocationName: text(35),
    districtName: text(35),
    countrySubDivision: text(35),
    addressLine: listOf(text(70), { maxItems: 7 }),
    country,
  },
  ["addressType", "townName", "country"],
  {
    // C8: an address line, or a street with a building.
    anyOf: [
      { required: ["addressLine"] },
      { required: ["streetName", "buildingName"] },
      { required: ["streetName", "buildingNumber"] },
    ],
  },
);

const NATIONAL_TYPES = [
  ...["ARNU", "CCPT", "RAID", "DRLC", "FIIN", "TXID", "SOCS", "IDCD", "LEIX", "MISC"],
];
const nationalIdentification = closed(
  {
    nationalIdentifier: text(35),
    nationalIdentifierType: { enum: NATIONAL_TYPES },
    countryOfIssue: country,
    registrationAuthority: { type: "string", pattern: "^RA\\d{6}$" },
  },
  ["nationalIdentifier", "nationalIdentifierType"],
);

/** C6 and C5: at least one legal name. */
const legal = (name: string) => ({
  contains: { properties: { [name]: { const: "LEGL" } }, required: [name] },
});

const naturalPerson = closed(
  {
    name: closed(
      {
        nameIdentifier: listOf(
          closed(
            {
              primaryIdentifier: text(100),
              secondaryIdentifier: text(100),
              nameIdentifierType: { enum: ["ALIA", "BIRT", "MAID", "LEGL", "MISC"] },
            },
            ["primaryIdentifier", "nameIdentifierType"],
          ),
          legal("nameIdentifierType"),
        ),
      },
      ["nameIdentifier"],
    ),
    geographicAddress: listOf(address),
    nationalIdentification,
    customerIdentification: text(50),
    dateAndPlaceOfBirth: closed(
      { dateOfBirth: { type: "string", format: "date" }, placeOfBirth: text(70) },
      ["dateOfBirth", "placeOfBirth"],
    ),
    countryOfResidence: country,
  },
  ["name"],
);

const legalPerson = closed(
  {
    name: closed(
      {
        nameIdentifier: listOf(
          closed(
            {
              legalPersonName: text(100),
              legalPersonNameIdentifierType: { enum: ["LEGL", "SHRT", "TRAD"] },
            },
            ["legalPersonName", "legalPersonNameIdentifierType"],
          ),
          legal("legalPersonNameIdentifierType"),
        ),
      },
      ["nameIdentifier"],
    ),
    geographicAddress: listOf(address),
    customerNumber: text(50),
    nationalIdentification: {
      allOf: [
        nationalIdentification,
        // C7 and C9: only these types, no country; an authority for all but an LEI.
        { properties: { nationalIdentifierType: { enum: ["RAID", "MISC", "LEIX", "TXID"] } } },
        { not: { required: ["countryOfIssue"] } },
        {
          if: { properties: { nationalIdentifierType: { const: "LEIX" } } },
          // C11: the form of an LEI.
          // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
          then: {
            properties: { nationalIdentifier: { pattern: "^[A-Z0-9]{18}[0-9]{2}$" } },
            not: { required: ["registrationAuthority"] },
          },
          else: { required: ["registrationAuthority"] },
        },
      ],
    },
    countryOfRegistration: country,
  },
  ["name"],
);

const person = {
  oneOf: [closed({ naturalPerson }, ["naturalPerson"]), closed({ legalPerson }, ["legalPerson"])],
};

/** C1 and C4: what must be known of an originator besides the name. */
const originatorPerson = {
  allOf: [
    person,
    {
      anyOf: [
        {
          properties: {
            naturalPerson: {
              anyOf: [
                ...["geographicAddress", "customerIdentification", "nationalIdentification"],
                "dateAndPlaceOfBirth",
              ].map((name) => ({ required: [name] })),
            },
          },
          required: ["naturalPerson"],
        },
        {
          properties: {
            legalPerson: {
              anyOf: ["geographicAddress", "customerNumber", "nationalIdentification"].map(
                (name) => ({ required: [name] }),
              ),
            },
          },
          required: ["legalPerson"],
        },
      ],
    },
  ],
};

const accountNumber = listOf(text(100));

const IVMS101 = closed(
  {
    originator: closed({ originatorPersons: listOf(originatorPerson), accountNumber }, [
      "originatorPersons",
    ]),
    beneficiary: closed({ beneficiaryPersons: listOf(person), accountNumber }, [
      "beneficiaryPersons",
    ]),
    originatingVASP: closed({ originatingVASP: person }, []),
    beneficiaryVASP: closed({ beneficiaryVASP: person }, []),
  },
  ["originator", "beneficiary"],
);

const check = new Ajv2020({ strict: false, formats: { date: /^\d{4}-\d{2}-\d{2}$/ } }).compile(
  IVMS101,
);

/** What the standard finds wrong with a message; empty when it keeps it. */
export function ivms101Faults(message: unknown): string[] {
  if (check(message)) return [];
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
