import type { DateRange, ListEntry, ListedName } from "../port.ts";
import { countryCodes } from "./country-codes.ts";
import { readDateRange } from "./date-ranges.ts";
import { listEntry, walletIn } from "./list-entry.ts";

type Row = readonly string[];

/** OFAC writes null as `-0-`. */
const value = (row: Row, at: number): string => {
  const text = (row[at] ?? "").trim();
  return text === "-0-" ? "" : text;
};

export const OFAC_COLUMNS = { entries: 12, aliases: 5, addresses: 6, comments: 2 } as const;

/** The four files of OFAC, joined on the first column: entries, aliases, addresses, comments. */
export function readOfacCsv(files: Record<keyof typeof OFAC_COLUMNS, readonly Row[]>): ListEntry[] {
  const aliases = Map.groupBy(files.aliases, (row) => value(row, 0));
  const addresses = Map.groupBy(files.addresses, (row) => value(row, 0));
  const comments = Map.groupBy(files.comments, (row) => value(row, 0));
  return files.entries.map((row) => {
    const id = value(row, 0);
    const type = value(row, 2);
    // Remarks that are too long for their column go on in the file of comments.
    const more = (comments.get(id) ?? []).map((comment) => value(comment, 1));
    const facts = readRemarks([value(row, 11), ...more].join(" "));
    const places = (addresses.get(id) ?? []).map((address) => value(address, 4));
    return listEntry({
      list: "ofac",
      id,
      kind: type === "individual" ? "individual" : type === "" ? "business" : "other",
      names: [
        { text: value(row, 1), is_weak: false },
        ...(aliases.get(id) ?? []).map((alias) => ({ text: value(alias, 3), is_weak: false })),
        ...facts.weak_names,
      ],
      birth_dates: facts.birth_dates,
      countries: countryCodes([...places, ...facts.countries]),
      wallets: facts.wallets,
      programs: value(row, 3)
        .split(/\] \[|; /)
        .map((program) => program.replace(/[[\]]/g, "")),
    });
  });
}

/** `DOB 07 Oct 1954; nationality Iran; Digital Currency Address - XBT 1…; a.k.a. 'X'.` */
function readRemarks(remarks: string) {
  const birth_dates: DateRange[] = [];
  const countries: string[] = [];
  const wallets: string[] = [];
  const weak_names: ListedName[] = [];
  for (const part of remarks.split(/;|\.$/).map((text) => text.trim())) {
    const birth = /^(?:alt\. )?DOB (.+)$/.exec(part);
    const range = birth && readDateRange(birth[1]!);
    if (range) birth_dates.push(range);
    const country = /^(?:alt\. )?(?:nationality|citizen|Nationality of Registration) (.+)$/.exec(
      part,
    );
    if (country) countries.push(country[1]!);
    const wallet = walletIn(part);
    if (wallet) wallets.push(wallet);
    const weak = /^(?:a\.k\.a\.|alt\. a\.k\.a\.) '(.+)'$/.exec(part);
    if (weak) weak_names.push({ text: weak[1]!, is_weak: true });
  }
  return { birth_dates, countries, wallets, weak_names };
}
