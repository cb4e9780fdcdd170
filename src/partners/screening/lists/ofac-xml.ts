import type { XmlElement } from "../../xml-element.ts";
import type { ListEntry } from "../port.ts";
import { countryCodes } from "./country-codes.ts";
import { readDateRange } from "./date-ranges.ts";
import { listEntry, walletIn } from "./list-entry.ts";

/** `sdn.xml` and `consolidated.xml` of OFAC: one `sdnEntry`. */
export function readOfacXml(entry: XmlElement): ListEntry {
  const inside = (list: string, item: string) => entry.all(list).flatMap((one) => one.all(item));
  const type = entry.textOf("sdnType");
  const aliases = inside("akaList", "aka").map((aka) => ({
    text: nameOf(aka),
    is_weak: aka.textOf("category") === "weak",
  }));
  const places = [
    ...inside("addressList", "address"),
    ...inside("nationalityList", "nationality"),
    ...inside("citizenshipList", "citizenship"),
  ];
  return listEntry({
    list: "ofac",
    id: entry.textOf("uid") ?? "",
    kind: type === "Individual" ? "individual" : type === "Entity" ? "business" : "other",
    names: [{ text: nameOf(entry), is_weak: false }, ...aliases],
    birth_dates: inside("dateOfBirthList", "dateOfBirthItem").flatMap(
      (item) => readDateRange(item.textOf("dateOfBirth") ?? "") ?? [],
    ),
    countries: countryCodes(places.map((place) => place.textOf("country"))),
    wallets: inside("idList", "id").flatMap(
      (id) => walletIn(`${id.textOf("idType")} ${id.textOf("idNumber")}`) ?? [],
    ),
    programs: inside("programList", "program").map(({ text }) => text.trim()),
  });
}

function nameOf(element: XmlElement): string {
  return [element.textOf("firstName"), element.textOf("lastName")].filter(Boolean).join(" ");
}
