import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import subsetFont from "subset-font";
import { LruMap } from "../../platform/lru-map.ts";

/** Noto, one package for each of these; DejaVu draws the other scripts. */
export type Family = "sc" | "tc" | "jp" | "kr" | "thai" | "devanagari";
export type Weight = "regular" | "bold";
/** A file of a family: each covers a range of its characters. */
export type FontFile = { family: Family; file: string };

const PACKAGE = "@fontsource-variable/noto-sans";
const WEIGHTS: Readonly<Record<Weight, number>> = { regular: 400, bold: 700 };
/** About 100 kB each. */
const FONTS_CACHED_MAX = 100;

const SCRIPTS: readonly [RegExp, Family][] = [
  [/\p{Script=Thai}|฿/u, "thai"],
  [/\p{Script=Devanagari}|[।॥]/u, "devanagari"],
  [/\p{Script=Hangul}/u, "kr"],
  [/\p{Script=Hiragana}|\p{Script=Katakana}/u, "jp"],
  [/\p{Script=Bopomofo}/u, "tc"],
];
/** Chinese characters are drawn differently in each country; any of these has most of them. */
const HAN_FAMILIES: readonly Family[] = ["sc", "tc", "jp", "kr"];
const HAN_BY_COUNTRY: Readonly<Record<string, Family>> = {
  CN: "sc",
  SG: "sc",
  TW: "tc",
  HK: "tc",
  MO: "tc",
  JP: "jp",
  KR: "kr",
};
/** Letters that indicate the language of the Chinese characters next to them. */
const LANGUAGE_LETTERS: readonly [RegExp, Family][] = [
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "jp"],
  [/\p{Script=Hangul}/u, "kr"],
  [/\p{Script=Bopomofo}/u, "tc"],
];

/** The family for the Chinese characters of an invoice whose texts do not indicate a language. */
export function hanFamilyOf(countries: readonly (string | undefined)[]): Family {
  const found = countries.find((country) => HAN_BY_COUNTRY[country ?? ""]);
  return HAN_BY_COUNTRY[found ?? ""] ?? "sc";
}

/** The file that has a character of a text; undefined when none has. */
export function findFontFile(char: string, text: string, han: Family): FontFile | undefined {
  const own = SCRIPTS.find(([script]) => script.test(char))?.[1];
  const indicated = LANGUAGE_LETTERS.find(([letters]) => letters.test(text))?.[1];
  const families = own ? [own, ...HAN_FAMILIES] : [indicated ?? han, ...HAN_FAMILIES];
  const code_point = char.codePointAt(0)!;
  for (const family of families) {
    const file = filesOf(family).by_character.get(code_point);
    if (file !== undefined) return { family, file };
  }
  return undefined;
}

type FamilyFiles = {
  /** The file of each character. */
  by_character: ReadonlyMap<number, string>;
  /** The characters of each file. */
  characters: ReadonlyMap<string, number[]>;
};

const files_by_family = new Map<Family, FamilyFiles>();

function filesOf(family: Family): FamilyFiles {
  const known = files_by_family.get(family);
  if (known) return known;
  const by_character = new Map<number, string>();
  for (const [name, ranges] of rangesOf(family)) {
    // Every family also has Latin letters, which DejaVu draws here.
    if (name.startsWith("latin") || name === "vietnamese") continue;
    for (const range of ranges.split(",")) {
      const [first, last = first] = range.replace("U+", "").split("-");
      const end = Number.parseInt(last!, 16);
      for (let at = Number.parseInt(first!, 16); at <= end; at += 1) {
        by_character.set(at, name);
      }
    }
  }
  const characters = Map.groupBy(by_character.keys(), (at) => by_character.get(at)!);
  const files = { by_character, characters };
  files_by_family.set(family, files);
  return files;
}

function rangesOf(family: Family): [name: string, ranges: string][] {
  const text = readFileSync(pathOf(`${PACKAGE}-${family}/unicode.json`), "utf8");
  const ranges: Record<string, string> = JSON.parse(text);
  return Object.entries(ranges).map(([name, range]) => [name.replace(/[[\]]/g, ""), range]);
}

const fonts = new LruMap<string, Promise<Buffer>>(FONTS_CACHED_MAX);

/** A file as a plain TrueType font of one weight, which the PDF library can embed. */
export function loadFont({ family, file }: FontFile, weight: Weight): Promise<Buffer> {
  const name = `${family}-${file}-${weight}`;
  const known = fonts.get(name);
  if (known) return known;
  const loaded = convert(family, file, weight);
  fonts.set(name, loaded);
  return loaded;
}

async function convert(family: Family, file: string, weight: Weight): Promise<Buffer> {
  const path = `${PACKAGE}-${family}/files/noto-sans-${family}-${file}-wght-normal.woff2`;
  const text = String.fromCodePoint(...(filesOf(family).characters.get(file) ?? []));
  return subsetFont(await readFile(pathOf(path)), text, {
    targetFormat: "truetype",
    variationAxes: { wght: WEIGHTS[weight] },
  });
}

function pathOf(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier));
}
