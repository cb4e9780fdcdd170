import type { XmlElement } from "../../xml-element.ts";
import type { DateRange, ListEntry } from "../port.ts";
import { countryCodes } from "./country-codes.ts";
import { rangeOf, readDateRange } from "./date-ranges.ts";
import { listEntry } from "./list-entry.ts";

/** The consolidated list of the European Union: one `sanctionEntity`. */
export function readEuXml(entity: XmlElement): ListEntry {
  const code = entity.all("subjectType")[0]?.attributes.code;
  const places = [...entity.all("citizenship"), ...entity.all("address")];
  return listEntry({
    list: "eu",
    id: entity.attributes.euReferenceNumber || entity.attributes.logicalId || "",
    kind: code === "person" ? "individual" : code === "enterprise" ? "business" : "other",
    names: entity.all("nameAlias").map(({ attributes }) => ({
      text: attributes.wholeName || [attributes.firstName, attributes.lastName].join(" "),
      is_weak: attributes.strong === "false",
    })),
    birth_dates: entity.all("birthdate").flatMap((birth) => readBirth(birth.attributes) ?? []),
    countries: countryCodes(
      places.map(({ attributes }) => attributes.countryIso2Code).filter((code) => code !== "00"),
    ),
    wallets: [],
    programs: [
      ...new Set(entity.all("regulation").flatMap((one) => one.attributes.programme || [])),
    ],
  });
}

function readBirth(birth: Readonly<Record<string, string>>): DateRange | undefined {
  const { birthdate, year, monthOfYear, dayOfMonth, yearRangeFrom, yearRangeTo, circa } = birth;
  if (yearRangeFrom && yearRangeTo) return readDateRange(`${yearRangeFrom} to ${yearRangeTo}`);
  const about = circa === "true" ? "circa " : "";
  if (birthdate) return readDateRange(`${about}${birthdate}`);
  const range = rangeOf(year ?? "", monthOfYear, dayOfMonth);
  return range && about ? readDateRange(`circa ${range.from.slice(0, 4)}`) : range;
}
