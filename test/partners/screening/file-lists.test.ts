import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openFileLists } from "../../../src/partners/screening/file-lists.ts";
import { readListFile } from "../../../src/partners/screening/lists/read-list-file.ts";
import type { ScreenedPerson } from "../../../src/partners/screening/port.ts";
import { EU_XML, listOf, OFAC_CSV, OFAC_XML, OPENSANCTIONS_CSV, UN_XML } from "./sample-lists.ts";

const THRESHOLDS = { possible_match: 0.85, match: 0.95 };
const WALLET = "0x52908400098527886E0F7030069857D2E4169EE7";
const PERSON: ScreenedPerson = {
  kind: "individual",
  names: ["Tesrik Varlomov"],
  birth_date: "1954-10-07",
  countries: ["RU"],
  wallets: [],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-lists-"));
  for (const [name, text] of Object.entries(OFAC_CSV)) await writeFile(join(folder, name), text);
});
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const FORMATS = [
  { name: "sdn.csv", text: OFAC_CSV["sdn.csv"], list: "ofac", has_weak: true, has_wallet: true },
  { name: "sdn.xml", text: OFAC_XML, list: "ofac", has_weak: true, has_wallet: true },
  { name: "eu.xml", text: EU_XML, list: "eu", has_weak: true, has_wallet: false },
  { name: "un.xml", text: UN_XML, list: "un", has_weak: true, has_wallet: false },
  {
    name: "targets.simple.csv",
    text: OPENSANCTIONS_CSV,
    list: "opensanctions",
    has_weak: false,
    has_wallet: true,
  },
];

describe.each(FORMATS)("$name", ({ name, text, list, has_weak, has_wallet }) => {
  it("is read with names, aliases, birth dates, countries and wallets", async () => {
    const file = await readListFile(await write(name, text));
    expect(file.list).toBe(list);
    const [person, company] = file.entries;
    expect(person).toMatchObject({ list, kind: "individual" });
    expect(person!.names.filter(({ is_weak }) => !is_weak).length).toBeGreaterThanOrEqual(2);
    expect(person!.names.some(({ is_weak }) => is_weak)).toBe(has_weak);
    expect(person!.countries).toEqual(["RU"]);
    const agrees = person!.birth_dates.some(({ from, to }) => from <= "1954-10-07" && to >= "1954");
    expect(agrees).toBe(true);
    expect(company!.names[0]!.text).toMatch(/^quilmara shipping/i);
    expect(company!.kind).toBe("business");
    expect(file.entries.some(({ wallets }) => wallets.includes(WALLET))).toBe(has_wallet);
  });

  it("makes its person a match, and others clear", async () => {
    const port = await openFileLists([await write(name, text)], THRESHOLDS);
    expect(port.screen(PERSON)[0]).toMatchObject({ verdict: "match" });
    expect(port.screen({ ...PERSON, birth_date: null })[0]).toMatchObject({
      verdict: "possible_match",
    });
    expect(port.screen({ ...PERSON, birth_date: "1990-01-01" })).toEqual([]);
    expect(port.screen({ ...PERSON, names: ["Ana Example"] })).toEqual([]);
    // A weak alias counts only with the birth date.
    expect(port.screen({ ...PERSON, names: ["Greyheron"], birth_date: null })).toEqual([]);
    const wallets = [WALLET.toLowerCase()];
    const by_wallet = port.screen({ ...PERSON, names: ["Ana Example"], wallets });
    expect(by_wallet.map(({ verdict }) => verdict)).toEqual(has_wallet ? ["match"] : []);
  });

  it("is refused when it ends too early or is in no known format", async () => {
    const cut = text.slice(0, Math.floor(text.length * 0.5));
    await expect(readListFile(await write(name, cut))).rejects.toThrow(name);
    await expect(readListFile(await write(name, ""))).rejects.toThrow("none of the formats");
    await write(name, text);
  });
});

it("a wallet that is listed without a name is found, and shown by its address", async () => {
  const path = await write("nameless.csv", listOf([{ id: "1", name: " ", wallet: WALLET }]));
  const port = await openFileLists([path], THRESHOLDS);
  const nobody = { ...PERSON, names: ["Ana Example"] };
  const found = port.screen({ ...nobody, wallets: [WALLET.toLowerCase()] });
  expect(found).toMatchObject([{ verdict: "match", entry: { names: [{ text: WALLET }] } }]);
  expect(port.screen(nobody)).toEqual([]);
});

it("joins words of an address in another case only where the chain ignores the case", async () => {
  const tron = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8";
  const path = await write("wallet.csv", listOf([{ id: "1", name: "wallet", wallet: tron }]));
  const port = await openFileLists([path], THRESHOLDS);
  const nobody = { ...PERSON, names: [] };
  expect(port.screen({ ...nobody, wallets: [tron] })).toHaveLength(1);
  expect(port.screen({ ...nobody, wallets: [tron.toLowerCase()] })).toEqual([]);
});

describe("a list that changes", () => {
  const many = Array.from({ length: 20 }, (_, at) => ({
    id: String(at),
    name: `Tesrik Varlomo${"abcdefghijklmnopqrst"[at]}ski`,
  }));

  it("is read again, and its version is another one", async () => {
    const path = await write("changing.csv", listOf(many));
    const port = await openFileLists([path], THRESHOLDS);
    const before = port.lists()!.version;
    expect(await port.reload()).toBe(false);
    await write("changing.csv", listOf([...many, { id: "new", name: "Ana Example" }]));
    expect(await port.reload()).toBe(true);
    expect(port.lists()!.version).not.toBe(before);
    expect(port.lists()!.entries).toBe(21);
    expect(port.screen({ ...PERSON, names: ["Ana Example"] })).toHaveLength(1);
  });

  it("stays in use, with an alarm, when the new file is broken or much shorter", async () => {
    const path = await write("broken.csv", listOf(many));
    const port = await openFileLists([path], THRESHOLDS);
    const before = port.lists();
    for (const text of [`${listOf(many)}"21,"broken`, listOf(many.slice(0, 17)), ""]) {
      await write("broken.csv", text);
      expect(await port.reload()).toBe(false);
      expect(port.lists()).toBe(before);
      expect(port.problem()).toContain("broken.csv");
    }
    await write("broken.csv", listOf(many.slice(0, 19)));
    expect(await port.reload()).toBe(true);
    expect(port.problem()).toBeNull();
  });
});
