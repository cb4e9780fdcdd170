import type { XmlElement } from "../../xml-element.ts";
import type { DateRange, ListEntry } from "../port.ts";
import { countryCodes } from "./country-codes.ts";
import { readDateRange } from "./date-ranges.ts";
import { listEntry } from "./list-entry.ts";

const NAME_PARTS = ["FIRST_NAME", "SECOND_NAME", "THIRD_NAME", "FOURTH_NAME"];

/** The consolidated list of the United Nations: one `INDIVIDUAL` or `ENTITY`. */
export function readUnXml(entry: XmlElement): ListEntry {
  const is_person = entry.name === "INDIVIDUAL";
  const prefix = is_person ? "INDIVIDUAL" : "ENTITY";
  const full = NAME_PARTS.flatMap((part) => entry.textOf(part) ?? []).join(" ");
  const aliases = entry.all(`${prefix}_ALIAS`).map((alias) => ({
    text: alias.textOf("ALIAS_NAME") ?? "",
    is_weak: alias.textOf("QUALITY") === "Low",
  }));
  const original = entry.texts("NAME_ORIGINAL_SCRIPT").map((text) => ({ text, is_weak: false }));
  return listEntry({
    list: "un",
    id: entry.textOf("REFERENCE_NUMBER") ?? entry.textOf("DATAID") ?? "",
    kind: is_person ? "individual" : "business",
    names: [{ text: full, is_weak: false }, ...original, ...aliases],
    birth_dates: entry.all("INDIVIDUAL_DATE_OF_BIRTH").flatMap((birth) => readBirth(birth) ?? []),
    countries: countryCodes([
      ...entry.all("NATIONALITY").flatMap((nationality) => nationality.texts("VALUE")),
      ...entry.all(`${prefix}_ADDRESS`).map((address) => address.textOf("COUNTRY")),
    ]),
    wallets: [],
    programs: entry.texts("UN_LIST_TYPE"),
  });
}

function readBirth(birth: XmlElement): DateRange | undefined {
  const [from, to] = [birth.textOf("FROM_YEAR"), birth.textOf("TO_YEAR")];
  if (from && to) return readDateRange(`${from} to ${to}`);
  const date = birth.textOf("DATE") ?? birth.textOf("YEAR") ?? "";
  const is_about = birth.textOf("TYPE_OF_DATE") === "APPROXIMATELY";
  return readDateRange(`${is_about ? "circa " : ""}${date}`);
}
