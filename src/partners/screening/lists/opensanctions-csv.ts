import { parse } from "csv-parse/sync";
import type { ListEntry } from "../port.ts";
import { countryCodes } from "./country-codes.ts";
import { readDateRange } from "./date-ranges.ts";
import { listEntry } from "./list-entry.ts";

export const OPENSANCTIONS_COLUMNS = ["id", "schema", "name", "aliases", "birth_date", "countries"];

const PERSONS = new Set(["Person"]);
const COMPANIES = new Set(["Organization", "Company", "LegalEntity", "PublicBody"]);

/** One row of OpenSanctions' `targets.simple.csv`, by the names of its columns. */
export function readOpenSanctionsRow(row: Readonly<Record<string, string>>): ListEntry {
  const { schema = "" } = row;
  return listEntry({
    list: "opensanctions",
    id: row.id ?? "",
    kind: PERSONS.has(schema) ? "individual" : COMPANIES.has(schema) ? "business" : "other",
    names: [row.name ?? "", ...cells(row.aliases)].map((text) => ({ text, is_weak: false })),
    birth_dates: cells(row.birth_date).flatMap((date) => readDateRange(date) ?? []),
    countries: countryCodes(cells(row.countries)),
    // A crypto wallet is an entity of its own, whose identifier is the address.
    wallets: schema === "CryptoWallet" ? cells(row.identifiers) : [],
    programs: cells(row.program_ids || row.dataset),
  });
}

/** Several values in one cell: separated by semicolons, each quoted as a cell of its own. */
function cells(cell: string | undefined): string[] {
  if (!cell) return [];
  if (!cell.includes('"')) return cell.split(";").filter(Boolean);
  const [row = []] = parse(cell, { delimiter: ";", relax_quotes: true }) as string[][];
  return row.filter(Boolean);
}
