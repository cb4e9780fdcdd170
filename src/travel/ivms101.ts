import { isLei } from "../platform/lei.ts";
import type { Identity, User } from "../users/model.ts";

/** What a complete record would have and this one does not. */
export const MISSING_PARTS = ["address", "originating_vasp"] as const;
export type MissingPart = (typeof MISSING_PARTS)[number];

/** The operator, as the sending service provider. */
export type Vasp = {
  name: string | undefined;
  lei: string | undefined;
  country: string | undefined;
};

type Address = {
  addressType: "HOME" | "GEOG";
  addressLine: string[];
  postCode?: string;
  townName: string;
  countrySubDivision?: string;
  country: string;
};
type NationalIdentification = {
  nationalIdentifier: string;
  nationalIdentifierType: "SOCS" | "MISC" | "LEIX";
  countryOfIssue?: string;
};
type NaturalName = {
  primaryIdentifier: string;
  secondaryIdentifier?: string;
  nameIdentifierType: "LEGL";
};
type LegalName = { legalPersonName: string; legalPersonNameIdentifierType: "LEGL" };
type NaturalPerson = {
  name: { nameIdentifier: NaturalName[] };
  geographicAddress?: Address[];
  nationalIdentification?: NationalIdentification;
  customerIdentification: string;
  countryOfResidence?: string;
};
type LegalPerson = {
  name: { nameIdentifier: LegalName[] };
  geographicAddress?: Address[];
  customerNumber?: string;
  nationalIdentification?: NationalIdentification;
  countryOfRegistration?: string;
};
type Person = { naturalPerson: NaturalPerson } | { legalPerson: LegalPerson };

/** The part of the interVASP data model (IVMS101, 2020) that is known about a transfer. */
export type Ivms101 = {
  originator: { originatorPersons: Person[]; accountNumber: string[] };
  beneficiary: { beneficiaryPersons: Person[]; accountNumber: string[] };
  originatingVASP?: { originatingVASP: Person };
};

// The longest texts that the standard allows, in characters.
const NAME_MAX = 100;
const LINE_MAX = 70;
const TOWN_MAX = 35;
const SUBDIVISION_MAX = 35;
const POSTCODE_MAX = 16;
const NATIONAL_IDENTIFIER_MAX = 35;

/**
 * The user sends to a wallet of their own: they bought the tokens, or get them back. So the user is
 * the originator and the beneficiary. The provider of the receiving wallet, if any, is not known.
 */
export function describeTransfer(
  user: User,
  transfer: { record_id: string; address: string },
  vasp: Vasp,
): { ivms101: Ivms101; missing: MissingPart[] } {
  const person = personOf(user);
  const sender = vaspOf(vasp);
  const missing: MissingPart[] = [];
  if (!addressOf(user)) missing.push("address");
  if (!sender) missing.push("originating_vasp");
  const ivms101: Ivms101 = {
    // The user has no account number here: the standard takes the number of the transaction.
    originator: { originatorPersons: [person], accountNumber: [transfer.record_id] },
    beneficiary: { beneficiaryPersons: [person], accountNumber: [transfer.address] },
    ...(sender && { originatingVASP: { originatingVASP: sender } }),
  };
  return { ivms101, missing };
}

function personOf(user: User): Person {
  return user.beneficiary_type === "business"
    ? { legalPerson: legalPersonOf(user) }
    : { naturalPerson: naturalPersonOf(user) };
}

function naturalPersonOf(user: User): NaturalPerson {
  const { first_name, last_name, country } = user.identity;
  const address = addressOf(user);
  const national = nationalOf(user.identity);
  return {
    name: {
      nameIdentifier: [
        {
          primaryIdentifier: cut(last_name ?? first_name ?? "", NAME_MAX),
          ...(last_name && first_name && { secondaryIdentifier: cut(first_name, NAME_MAX) }),
          nameIdentifierType: "LEGL",
        },
      ],
    },
    ...(address && { geographicAddress: [address] }),
    ...(national && { nationalIdentification: national }),
    customerIdentification: user.id,
    ...(country && { countryOfResidence: country }),
  };
}

function legalPersonOf(user: User): LegalPerson {
  const { company_name, country, ssn } = user.identity;
  const address = addressOf(user);
  return {
    name: legalName(company_name ?? ""),
    ...(address && { geographicAddress: [address] }),
    customerNumber: user.id,
    // Any other number of a company would need the code of the authority that issued it.
    ...(ssn && isLei(ssn) && { nationalIdentification: leiOf(ssn) }),
    ...(country && { countryOfRegistration: country }),
  };
}

function vaspOf({ name, lei, country }: Vasp): Person | undefined {
  if (!name) return undefined;
  return {
    legalPerson: {
      name: legalName(name),
      ...(lei && { nationalIdentification: leiOf(lei) }),
      ...(country && { countryOfRegistration: country }),
    },
  };
}

function legalName(name: string): LegalPerson["name"] {
  const legalPersonName = cut(name, NAME_MAX);
  return { nameIdentifier: [{ legalPersonName, legalPersonNameIdentifierType: "LEGL" }] };
}

function leiOf(lei: string): NationalIdentification {
  return { nationalIdentifier: lei, nationalIdentifierType: "LEIX" };
}

/** Who issued the number is known in the United States only. */
function nationalOf({ ssn, country }: Identity): NationalIdentification | undefined {
  if (!ssn || length(ssn) > NATIONAL_IDENTIFIER_MAX) return undefined;
  return country === "US"
    ? { nationalIdentifier: ssn, nationalIdentifierType: "SOCS", countryOfIssue: "US" }
    : { nationalIdentifier: ssn, nationalIdentifierType: "MISC" };
}

/** Undefined unless street, town and country are known. */
function addressOf({ beneficiary_type, identity }: User): Address | undefined {
  const { address_line1, address_line2, city, country, postcode, state } = identity;
  if (!address_line1 || !city || !country) return undefined;
  const is_long = length(city) > TOWN_MAX;
  const lines = [address_line1, address_line2 ?? "", is_long ? city : ""];
  return {
    addressType: beneficiary_type === "business" ? "GEOG" : "HOME",
    addressLine: lines.flatMap(splitLine),
    ...(postcode && { postCode: cut(postcode, POSTCODE_MAX) }),
    townName: cut(city, TOWN_MAX),
    ...(state && { countrySubDivision: cut(state, SUBDIVISION_MAX) }),
    country,
  };
}

/** A line of ours has up to 140 characters. */
function splitLine(line: string): string[] {
  const letters = [...line];
  const parts = [letters.slice(0, LINE_MAX), letters.slice(LINE_MAX, 2 * LINE_MAX)];
  return parts.map((part) => part.join("").trim()).filter(Boolean);
}

function cut(text: string, max: number): string {
  return [...text].slice(0, max).join("").trim();
}

function length(text: string): number {
  return [...text].length;
}
