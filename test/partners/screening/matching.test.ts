import { expect, it } from "vitest";
import { measureScreening } from "../../../bench/screening-quality.ts";
import { toBase58Check } from "../../../src/partners/chain/base58.ts";
import { createMatcher } from "../../../src/partners/screening/matching/matcher.ts";
import { NameIndex } from "../../../src/partners/screening/matching/name-index.ts";
import type { ListEntry, ScreenedPerson } from "../../../src/partners/screening/port.ts";
import { OTHER_NAME, SAME_NAME } from "./known-spellings.ts";

const THRESHOLDS = { possible_match: 0.85, match: 0.95 };

function entry(text: string, more: Partial<ListEntry> = {}): ListEntry {
  const nothing = { birth_dates: [], countries: [], wallets: [], programs: [] };
  const names = [{ text, is_weak: false }];
  return { list: "x", id: text, kind: "individual", names, ...nothing, digest: text, ...more };
}

function person(name: string, more: Partial<ScreenedPerson> = {}): ScreenedPerson {
  const nothing = { birth_date: null, countries: [], wallets: [] };
  return { kind: "individual", names: [name], ...nothing, ...more };
}

it("finds misspelled, transliterated and reordered names, and few others", () => {
  const { recall, recall_by_class, precision } = measureScreening({
    entries: 2_000,
    listed: 700,
    seed: 17,
  });
  console.log(`recall ${recall.toFixed(3)}, precision ${precision.toFixed(3)}`, recall_by_class);
  expect(recall).toBeGreaterThan(0.97);
  expect(Math.min(...Object.values(recall_by_class))).toBeGreaterThan(0.8);
  expect(precision).toBeGreaterThan(0.9);
});

it("finds spellings of other offices that the generator does not know, and nobody else", () => {
  const born = { from: "1971-02-03", to: "1971-02-03" };
  const listed = [...new Set([...SAME_NAME, ...OTHER_NAME].map(([name]) => name))];
  const screen = createMatcher(
    listed.map((name) => entry(name, { birth_dates: [born] })),
    THRESHOLDS,
  );
  const finds = (name: string, written: string, birth_date: string | null) =>
    screen(person(written, { birth_date })).some(({ entry: { id } }) => id === name);
  const missed = SAME_NAME.filter(([name, written]) => !finds(name, written, born.from));
  const recall = 1 - missed.length / SAME_NAME.length;
  console.log(`recall ${recall.toFixed(3)} of spellings written by hand; missed:`, missed);
  expect(recall).toBeGreaterThan(0.88);
  expect(OTHER_NAME.filter(([name, written]) => finds(name, written, null))).toEqual([]);
});

it.each([
  ["Мухаммад Тарик", "TARIQ, Mohammed"],
  ["محمد طارق", "Mohammad Tareq"],
  ["Xi Lanfei", "席兰飞"],
  ["Jürgen Wölfert", "WOLFERT, Juergen"],
  ["Abdulrahman Selim", "Abdul Rahman SELIM"],
  ["T. Varlomov", "Tesrik VARLOMOV"],
  ["T e s r i k  V.a.r.l.o.m.o.v", "Tesrik VARLOMOV"],
  ["A B C D E F G H I J K L M Tesrik Varlomov", "Tesrik VARLOMOV"],
  ["Te\u200bsr\u{e0041}ik Var\u{e0042}lo\u00admov", "Tesrik VARLOMOV"],
  ["T3sr1k Varl0m0v", "Tesrik VARLOMOV"],
  // With Cyrillic and Greek letters that look like the Latin ones.
  ["\u0420\u0430v\u0435l \u0420\u0435t\u0433ov", "Pavel PETROV"],
  ["\u03a1avel \u03a1etro\u03bd", "Pavel PETROV"],
])("%s is found as %s", (name, listed) => {
  const screen = createMatcher([entry(listed)], THRESHOLDS);
  expect(screen(person(name)).map((hit) => hit.listed)).toEqual([listed]);
});

it.each([
  ["Mohammed Salem", "TARIQ, Mohammed"],
  ["Maria Varlomov", "VARLOMOV, Tesrik"],
  ["Varlomov", "Tesrik VARLOMOV"],
])("%s is not %s", (name, listed) => {
  const screen = createMatcher([entry(listed)], THRESHOLDS);
  expect(screen(person(name))).toEqual([]);
});

it("a company is found without its legal form, but the form alone is nothing", () => {
  const listed = entry("QUILMARA SHIPPING CO. LTD", { kind: "business", countries: ["IR"] });
  const numbered = entry("11420 CORP.", { kind: "business" });
  const screen = createMatcher([listed, numbered], THRESHOLDS);
  const company = (name: string) => person(name, { kind: "business", countries: ["IR"] });
  expect(screen(company("Quilmara Shipping GmbH"))[0]).toMatchObject({ verdict: "match" });
  expect(screen(company("Example Corp"))).toEqual([]);
  expect(screen(company("11420 Corp"))).toHaveLength(1);
});

it("whether a payee is called a person or a company hides neither", () => {
  const company = entry("QUILMARA NEFTEGAZ", { kind: "business" });
  const screen = createMatcher([company, entry("Abd al Rahman SELIM")], THRESHOLDS);
  expect(screen(person("Quilmara Neftegaz Trading Ltd"))).toHaveLength(1);
  const named = person("Abd al Rahman Selim", { kind: "business" });
  expect(screen(named)).toHaveLength(1);
});

it("names that a person adds hide nobody who is born on the listed day", () => {
  const birth_dates = [{ from: "1954-10-07", to: "1954-10-07" }];
  const screen = createMatcher([entry("Tesrik VARLOMOV", { birth_dates })], THRESHOLDS);
  const born = (birth_date: string) =>
    screen(person("Tesrik Alkon Bermud Varlomov", { birth_date }));
  expect(born("1954-10-07")[0]).toMatchObject({ verdict: "possible_match" });
  expect(born("1954-10-08")).toEqual([]);
});

it("an alias that is less similar, listed first, makes a match no weaker", () => {
  const birth_dates = [{ from: "1954-10-07", to: "1954-10-07" }];
  const names = ["Tesrik Alkon VARLOMOV", "Tesrik VARLOMOV"];
  const listed = names.map((text) => ({ text, is_weak: false }));
  const screen = createMatcher([entry("x", { birth_dates, names: listed })], THRESHOLDS);
  const [hit] = screen(person("Tesrik Varlomov", { birth_date: "1954-10-07" }));
  expect(hit).toMatchObject({ verdict: "match", score: 1 });
});

it("a listed wallet is found in any case, and as the tron address of the same key", () => {
  const wallet = "0xE28B3CFD4E0E909077821478E9FCB86B84BE786E";
  const screen = createMatcher([entry("Wallet", { wallets: [wallet] })], THRESHOLDS);
  const verdict = (written: string) =>
    screen(person("Olav Fictive", { wallets: [written] }))[0]?.verdict ?? "clear";
  expect(verdict(wallet.toLowerCase().replace("0x", "0X"))).toBe("match");
  const bytes = Buffer.from(`41${wallet.slice(2)}`, "hex");
  expect(verdict(toBase58Check(bytes))).toBe("match");
  expect(verdict(toBase58Check(Buffer.from(bytes).fill(1, 1)))).toBe("clear");
});

it.each([
  "ZyxomatPeculiarHoldings",
  "Zyx-omat Pecu-liar Hold-ings",
  "Zyxomat\u3164Peculiar\u3164Holdings",
  "zyxomatpeculiar limited",
])("a company that writes its legal form into another word is found: %j", (written) => {
  const listed = entry("Zyxomat Peculiar HOLDINGS", { kind: "business" });
  const screen = createMatcher([listed], THRESHOLDS);
  expect(screen(person(written, { kind: "business" }))).toHaveLength(1);
  expect(screen(person("Zyxomat Bakery Holdings", { kind: "business" }))).toEqual([]);
});

it.each([
  "Dr. Tesrik Varlomov PhD",
  "Mr Mr Tesrik Varlomov Jr",
  "Tesrik Varlomov Tesrik Varlomov",
  "Tesrik Varlomov and Maria Invented",
  "Maria Invented / Tesrik Varlomov",
  "Invented Imports c/o Tesrik Varlomov",
])("titles, repeated words and other holders hide nobody: %s", (written) => {
  const screen = createMatcher([entry("Tesrik VARLOMOV")], THRESHOLDS);
  const more = { countries: ["PT"] };
  expect(screen(person(written, more))).toHaveLength(1);
  expect(screen(person(written, { ...more, kind: "business" }))).toHaveLength(1);
  expect(screen(person(written.replaceAll("Tesrik", "Olav"), more))).toEqual([]);
});

it("a reviewer sees every entry of a common name", () => {
  const listed = Array.from({ length: 30 }, (_, at) => entry("Mustafa KALENDER", { id: `${at}` }));
  expect(createMatcher(listed, THRESHOLDS)(person("Mustafa Kalender"))).toHaveLength(30);
});

it("a birth date narrows, a missing one clears nobody", () => {
  const birth_dates = [{ from: "1954-10-07", to: "1954-10-07" }];
  const screen = createMatcher([entry("Tesrik VARLOMOV", { birth_dates })], THRESHOLDS);
  const verdict = (birth_date: string | null) =>
    screen(person("Tesrik Varlomov", { birth_date }))[0]?.verdict ?? "clear";
  expect(verdict("1954-10-07")).toBe("match");
  expect(verdict("1954-07-10")).toBe("possible_match");
  expect(verdict(null)).toBe("possible_match");
  expect(verdict("1971-10-07")).toBe("clear");
});

it("names that cannot reach the threshold are left out early, and no others", () => {
  const words = [
    "mohammed",
    "ali",
    "ivan",
    "petrov",
    "tariq",
    "selim",
    "bin",
    "omar",
    "a",
    "b",
    "i",
  ];
  let seed = 7;
  const pick = (count: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % count;
  };
  const makeName = (words_max: number) =>
    Array.from({ length: 1 + pick(words_max) }, () => words[pick(words.length)]!).join(" ");
  const entries = [...new Set(Array.from({ length: 90 }, () => makeName(4)))].map((name) =>
    entry(name),
  );
  const screen = createMatcher(entries, THRESHOLDS);
  const screenAll = createMatcher(entries, { ...THRESHOLDS, possible_match: 0 });
  for (const name of Array.from({ length: 400 }, () => makeName(8))) {
    const all = screenAll(person(name)).filter(({ score }) => score >= THRESHOLDS.possible_match);
    expect(screen(person(name)), name).toEqual(all);
  }
});

it("somebody with many frequent names is compared with few of those who share some", () => {
  const frequent = ["mohammed", "ahmed", "ali", "ivan", "sergey", "hassan", "vladimir", "omar"];
  const names = Array.from({ length: 4_000 }, (_, n) => {
    const words = [frequent[n % 8]!, frequent[Math.floor(n / 8) % 8]!, `x${n.toString(36)}y`];
    return { entry: n, text: words.join(" "), is_weak: false, words };
  });
  const index = new NameIndex(names);
  expect(index.candidates(frequent, 0).length).toBeGreaterThan(3_000);
  expect(index.candidates(frequent, 0.8)).toEqual([]);
});
