import { iso31661 } from "iso-3166";

const plain = (name: string) =>
  name
    .toLowerCase()
    .replace(/[^a-z]+/g, " ")
    .trim();

/** Names that the lists use and the standard does not. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  bolivia: "BO",
  burma: "MM",
  "congo democratic republic of the": "CD",
  "democratic republic of the congo": "CD",
  "democratic people s republic of korea": "KP",
  "cote d ivoire": "CI",
  "czech republic": "CZ",
  iran: "IR",
  "iran islamic republic of": "IR",
  "islamic republic of iran": "IR",
  "korea north": "KP",
  "north korea": "KP",
  "korea south": "KR",
  "south korea": "KR",
  "republic of korea": "KR",
  laos: "LA",
  libya: "LY",
  macau: "MO",
  moldova: "MD",
  palestinian: "PS",
  "west bank": "PS",
  russia: "RU",
  "syrian arab republic": "SY",
  syria: "SY",
  taiwan: "TW",
  tanzania: "TZ",
  "the gambia": "GM",
  turkey: "TR",
  "united kingdom": "GB",
  "united states": "US",
  venezuela: "VE",
  vietnam: "VN",
};

const CODES: ReadonlyMap<string, string> = new Map([
  ...iso31661.map(({ name, alpha2 }) => [plain(name), alpha2] as const),
  ...Object.entries(OTHER_NAMES),
]);

/** The codes of these names or codes; what is unknown is left out, since it narrows nothing. */
export function countryCodes(names: readonly (string | undefined)[]): string[] {
  const codes = names.flatMap((name) => {
    if (name === undefined) return [];
    if (/^[a-z]{2}$/i.test(name.trim())) return [name.trim().toUpperCase()];
    return CODES.get(plain(name)) ?? [];
  });
  return [...new Set(codes)].sort();
}
