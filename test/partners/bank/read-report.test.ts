import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAmount, parseAmount } from "../../../src/partners/bank/iso20022/amount-text.ts";
import { readReport } from "../../../src/partners/bank/iso20022/read-report.ts";
import type { AccountEntry, ReportItem } from "../../../src/partners/bank/report.ts";
import { UnreadableFile } from "../../../src/partners/bank/unreadable-file.ts";
import { loadSchema } from "./iso-schemas.ts";
import { collect } from "./sample-payments.ts";

const RUNS = 200;

type Limits = Parameters<typeof readReport>[1];

function sample(name: string): string {
  return readFileSync(join(import.meta.dirname, "samples", `${name}.xml`), "utf8");
}

async function* chunks(bytes: Buffer, size = 4_096): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

function read(xml: string | Buffer, size?: number, limits?: Limits): Promise<ReportItem[]> {
  return collect(readReport(chunks(Buffer.from(xml as string), size), limits));
}

function entriesOf(items: readonly ReportItem[]): AccountEntry[] {
  return items.filter((item) => "entry_key" in item);
}

describe("statements in the styles of several banks", () => {
  it("version 02 in Latin-1: a batch in several details, a return, a deposit in two lines", async () => {
    const items = await read(Buffer.from(sample("savings-bank-camt053-v02"), "latin1"));
    const common = { account: "DE89370400440532013000", state: "booked", currency: "eur" };
    expect(entriesOf(items)).toMatchObject([
      {
        ...common,
        kind: "booked",
        amount: 25_000n,
        end_to_end_id: "0190a5e6000070000000000000000001001",
        batch_id: "SR20261116-000001",
        bank_reference: "2026111700112233000",
        bank_code: "PMNT/ICDT/ESCT",
        creditor: { name: "Jörg Muster", account: "DE02120300000000202051" },
        part: 0,
        parts: 2,
      },
      { ...common, kind: "booked", amount: 35_000n, creditor: { name: "Büro Muster" }, part: 1 },
      {
        ...common,
        kind: "returned",
        amount: 15_000n,
        end_to_end_id: "0190a5e6000070000000000000000003001",
        reasons: [{ code: "AC04", text: "Konto erloschen" }],
      },
      {
        ...common,
        kind: "incoming",
        amount: 5_000n,
        end_to_end_id: null,
        debtor: { name: "Zoë Muster", account: "DE02120300000000202051" },
        bank_code: "NTRF+166+9248",
        text: "Einzahlung ABCD-EF GH-JKMN",
        booked_on: "2026-11-17",
      },
    ]);
    expect(items.slice(4)).toMatchObject([
      { kind: "balance", type: "opening", amount: 1_000_000n, date: "2026-11-16" },
      { kind: "balance", type: "closing", amount: 960_000n, is_debit: false },
      { kind: "statement", sequence: "218", entries: 3, adds_up: true },
    ]);
  });

  it("version 08: a batch of deposits with one reference of the bank for all", async () => {
    const xml = sample("alpine-bank-camt054-v08");
    expect(loadSchema("camt.054.001.08")?.(xml) ?? []).toEqual([]);
    const [first, second, statement] = await read(xml);
    expect(first).toMatchObject({
      kind: "incoming",
      report: "camt.054",
      statement_id: "0012",
      amount: 10_005n,
      currency: "chf",
      uetr: "7a562c67-ca16-48ba-b074-65581be6f011",
      debtor: { name: "Rutschmann Muster AG", account: "25-9034-2" },
      text: "210000000003139471430009017 | deposit 7 | E2E-1",
    });
    expect(second).toMatchObject({ amount: 25_000n, end_to_end_id: null, part: 1, parts: 2 });
    expect(statement).toMatchObject({ kind: "statement", page: "1", is_last_page: true });
    expect(entriesOf([first!, second!]).map((entry) => entry.entry_key)).toHaveLength(2);
  });

  it("prefixes, an envelope, empty elements, other namespaces, fees and reversals", async () => {
    const items = await read(sample("prefixed-camt053-v08"));
    expect(entriesOf(items)).toMatchObject([
      {
        kind: "booked",
        account: "9900012345",
        amount: 150_000n,
        uetr: "7a562c67-ca16-48ba-b074-65581be6f012",
        booked_on: "2026-11-17",
        bank_code: null,
        reasons: [],
      },
      { kind: "charge", amount: 2_600n, end_to_end_id: null },
      {
        kind: "returned",
        amount: 150_000n,
        end_to_end_id: null,
        instruction_id: "0190a5e6000070000000000000000004001",
        booked_on: "2026-11-18",
      },
      { kind: "taken_back", amount: 4_000n },
      { kind: "incoming", amount: 700n, state: "pending" },
    ]);
    expect(items.slice(5)).toMatchObject([
      { kind: "balance", type: "opening", is_debit: true, amount: 10_000n, date: "2026-11-17" },
      { kind: "balance", type: "other", bank_type: "BANKS-OWN", amount: 550n },
      { kind: "statement", is_copy: true, sequence: "7", entries: 4, adds_up: null },
    ]);
  });

  it("version 04: what arrived counts, a batch without details, details that do not add up", async () => {
    const items = await read(sample("correspondent-camt053-v04"));
    const entries = entriesOf(items);
    expect(entries).toMatchObject([
      { kind: "incoming", amount: 9_800n, instruction_id: "I1", problem: null },
      { kind: "booked", amount: 3_000n, batch_id: "SR20261116-000009", batch_count: 3 },
      { kind: "booked", amount: 3_000n, parts: 1, problem: expect.stringContaining("add up") },
      { kind: "booked", amount: 100n },
      { kind: "booked", amount: 100n },
    ]);
    // Two equal lines without references are two lines, and the same two when read again.
    const keys = entries.map((entry) => entry.entry_key);
    expect(new Set(keys).size).toBe(5);
    const again = entriesOf(await read(sample("correspondent-camt053-v04"), 100));
    expect(again.map((entry) => entry.entry_key)).toEqual(keys);
  });

  it("a central bank: no signs of balances, no status of lines, amounts without digits at a side", async () => {
    const xml = sample("central-bank-camt053-v08");
    const items = await read(xml);
    expect(entriesOf(items)).toMatchObject([
      { kind: "incoming", state: "booked", amount: 10_000n, bank_reference: "CB-REF-1" },
      { kind: "booked", state: "booked", amount: 20n, bank_code: "FEE", problem: null },
    ]);
    const balances = items.filter((item) => item.kind === "balance");
    expect(balances).toMatchObject([
      { type: "opening", amount: 60n, is_debit: false },
      { type: "closing", amount: 10_040n, is_debit: false },
      { type: "available", amount: 0n, is_debit: false },
    ]);
    expect(items.at(-1)).toMatchObject({ kind: "statement", adds_up: true });
    // Without the proof that they are credits, balances without a sign are left out.
    const other = await read(xml.replace("100.4000", "100.41"));
    expect(other.filter((item) => item.kind === "balance")).toMatchObject([{ amount: 0n }]);
    expect(other.at(-1)).toMatchObject({ adds_up: null });
    // Only a statement is of booked lines by itself.
    const report = xml.replaceAll("BkToCstmrStmt", "BkToCstmrAcctRpt").replaceAll("Stmt>", "Rpt>");
    const [unknown] = entriesOf(await read(report));
    expect(unknown).toMatchObject({ report: "camt.052", state: "unknown" });
  });

  it("a balance with a minus sign is a debit, and one with two signs is left out", async () => {
    const xml = sample("central-bank-camt053-v08");
    const typesOf = async (changed: string) =>
      (await read(changed)).flatMap((item) =>
        item.kind === "balance" ? [[item.type, item.is_debit]] : [],
      );
    const minus = xml.replace("100.4000", "-100.4000");
    expect(await typesOf(minus)).toEqual([
      ["closing", true],
      ["available", false],
    ]);
    const both = xml.replace("100.4000</Amt>", "-100.4000</Amt><CdtDbtInd>CRDT</CdtDbtInd>");
    expect(await typesOf(both)).toEqual([["available", false]]);
    const odd = xml.replace("100.4000", "100.40000000000001");
    expect(await typesOf(odd)).toEqual([["available", false]]);
  });

  it.each([
    [".6", 60n],
    ["100.", 10_000n],
    ["+1.5", 150n],
    ["007.50", 750n],
    ["0.0000000000000000000", 0n],
    ["999999999999999.99", 99_999_999_999_999_999n],
  ])("the amount %s is read", (text, minor) => {
    expect(parseAmount(text, "eur")).toBe(minor);
  });

  it.each(["", ".", "+", "-1", "1,5", "1.234,5", "1e3", "1.005", "0x1", " 1", "1 000", "١"])(
    "the amount %j is not read",
    (text) => {
      expect(parseAmount(text, "eur")).toBeUndefined();
    },
  );

  it("any amount is read as it is written, with zeros at either side or without", () => {
    const any = fc.bigInt({ min: 0n, max: 10n ** 17n });
    fc.assert(
      fc.property(
        any,
        fc.constantFrom("eur", "jpy", "kwd"),
        fc.nat(5),
        (minor, currency, zeros) => {
          const text = formatAmount(minor, currency);
          const long = `${"0".repeat(zeros)}${text}${text.includes(".") ? "0".repeat(zeros) : "."}`;
          const short = text.includes(".") ? text.replace(/^0(?=\.)/, "").replace(/0+$/, "") : text;
          for (const written of [text, long, short]) {
            if (written !== ".") expect(parseAmount(written, currency)).toBe(minor);
          }
        },
      ),
    );
  });

  it("an entry whose status is unknown is for a person", async () => {
    const xml = sample("correspondent-camt053-v04").replace("<Sts>BOOK</Sts>", "<Sts>MAYBE</Sts>");
    const [entry] = entriesOf(await read(xml));
    expect(entry).toMatchObject({ state: "unknown", problem: "This line has no status." });
  });

  it("a statement whose lines are not the difference of its balances says so", async () => {
    const xml = sample("savings-bank-camt053-v02").replace("9600.00", "9600.01");
    const items = await read(Buffer.from(xml, "latin1"));
    expect(items.at(-1)).toMatchObject({ kind: "statement", adds_up: false });
  });
});

describe("reports on the status of payments", () => {
  it("each payment of a partly accepted file has its own status and reasons", async () => {
    const items = await read(sample("partial-pain002-v10"));
    const file = { message_id: "SR20261116-000001", report_id: "R-1" };
    expect(items).toMatchObject([
      { ...file, level: "file", outcome: "partial" },
      {
        ...file,
        level: "payment",
        outcome: "rejected",
        is_final: true,
        batch_id: "SR20261116-000001",
        end_to_end_id: "A-1",
        uetr: "7a562c67-ca16-48ba-b074-65581be6f013",
        amount: 1_250n,
        currency: "eur",
        payee_account: "DE89370400440532013000",
        reasons: [
          { code: "AC01", text: "account number wrong" },
          { code: "X99", text: null },
        ],
      },
      { level: "payment", outcome: "accepted", is_final: false, end_to_end_id: "A-2" },
      { level: "payment", outcome: "unknown", status: "WHAT", end_to_end_id: null },
      { level: "batch", outcome: "partial" },
    ]);
  });

  it("a payment without a status has that of its file", async () => {
    expect(await read(sample("rejected-file-pain002-v03"))).toMatchObject([
      { level: "file", outcome: "rejected", reasons: [{ code: "AM10", text: null }] },
      { level: "payment", outcome: "rejected", end_to_end_id: "B-1", reasons: [{ code: "AM10" }] },
    ]);
  });

  it("reports on a transmission name no payment", async () => {
    const xml = sample("rejected-file-pain002-v03").replace(">pain.001<", ">EBICS<");
    expect(await read(xml)).toEqual([]);
  });
});

describe("large files", () => {
  const statement = (content: string) =>
    `<Document xmlns="urn:camt"><BkToCstmrStmt><Stmt><Acct><Id><IBAN>X</IBAN></Id></Acct>${content}</Stmt></BkToCstmrStmt></Document>`;
  const entry = (details = "") =>
    `<Ntry><Amt Ccy="EUR">1</Amt><CdtDbtInd>DBIT</CdtDbtInd>${details}</Ntry>`;
  const statuses = (content: string) =>
    `<Document xmlns="urn:pain"><CstmrPmtStsRpt><OrgnlGrpInfAndSts/><OrgnlPmtInfAndSts>${content}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`;

  /** The least of three: other work of the machine makes single ones longer. */
  async function millisecondsOf(xml: string): Promise<number> {
    const times: number[] = [];
    while (times.length < 3) {
      const before = process.cpuUsage();
      await read(xml, 65_536);
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1_000);
    }
    return Math.min(...times);
  }

  it.each([
    ["lines", statement, "<Bal/>", entry()],
    ["payments", statuses, "<StsRsnInf/>", "<TxInfAndSts/>"],
  ])("%s are not slower after thousands of other elements", async (_, around, other, line) => {
    const [others, lines] = [other.repeat(40_000), line.repeat(4_000)];
    const after_ms = await millisecondsOf(around(lines + others));
    expect(await millisecondsOf(around(others + lines))).toBeLessThan(5 * after_ms);
  });

  it("a line with too many details to be kept is refused", async () => {
    const details = `<NtryDtls>${"<TxDtls/>".repeat(300_001)}</NtryDtls>`;
    await expect(read(statement(entry(details)), 65_536)).rejects.toThrow("300000 details");
  });
});

describe("files that are not what they should be", () => {
  const good = sample("alpine-bank-camt054-v08");

  it("a file that is cut off anywhere is refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: good.trimEnd().length - 1 }), async (length) => {
        await expect(read(good.slice(0, length))).rejects.toThrow(UnreadableFile);
      }),
      { numRuns: 60 },
    );
  });

  it("a file is read the same in pieces of any size", async () => {
    const whole = await read(good, 1_000_000);
    for (const size of [1, 3, 299, 300, 301]) expect(await read(good, size)).toEqual(whole);
  });

  it.each([
    ["a document type", (xml: string) => xml.replace("<Document", "<!DOCTYPE a><Document")],
    [
      "entities",
      (xml: string) =>
        xml.replace("<Document", '<!DOCTYPE a [<!ENTITY e "x">]><Document').replace("QRR", "&e;"),
    ],
    ["an unknown entity", (xml: string) => xml.replace("QRR", "&e;")],
    ["an amount with a comma", (xml: string) => xml.replace(">350.05<", ">350,05<")],
    ["too many decimals", (xml: string) => xml.replace(">350.05<", ">350.051<")],
    ["a negative amount", (xml: string) => xml.replace(">350.05<", ">-350.05<")],
    ["an unknown currency", (xml: string) => xml.replace('"CHF">350.05', '"XXX">350.05')],
    ["no direction", (xml: string) => xml.replace("<CdtDbtInd>CRDT</CdtDbtInd>", "")],
    ["no account", (xml: string) => xml.replace(/<Acct>.*<\/Acct>/, "")],
    ["a wrong date", (xml: string) => xml.replace("<Dt>2026-11-17</Dt>", "<Dt>17.11.2026</Dt>")],
    ["another message", (xml: string) => xml.replaceAll("BkToCstmrDbtCdtNtfctn", "Other")],
    ["an unbound prefix", (xml: string) => xml.replace("<Ntfctn>", "<q:Ntfctn>")],
    ["an unknown encoding", (xml: string) => xml.replace('"UTF-8"', '"EBCDIC"')],
    ["no statement", (xml: string) => xml.replace(/<Ntfctn>.*<\/Ntfctn>/s, "")],
    ["no XML", () => "Date;Amount\n2026-11-17;1"],
    ["nothing", () => ""],
  ])("%s is refused", async (_, change) => {
    await expect(read(change(good))).rejects.toThrow(UnreadableFile);
  });

  it("a damaged file is read or refused, and nothing else happens", async () => {
    const names = ["savings-bank-camt053-v02", "prefixed-camt053-v08", "partial-pain002-v10"];
    const samples = [good, ...names.map(sample)].map((text) => Buffer.from(text));
    const damage = fc.record({
      at: fc.nat(),
      length: fc.integer({ min: 0, max: 60 }),
      text: fc.oneof(
        fc.string({ unit: "binary", maxLength: 8 }),
        fc.constantFrom("<a>", "</", "&"),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...samples), damage, async (bytes, { at, length, text }) => {
        const from = at % bytes.length;
        const damaged = Buffer.concat([
          bytes.subarray(0, from),
          Buffer.from(text),
          bytes.subarray(from + length),
        ]);
        const outcome = await read(damaged).catch((error: unknown) => error);
        if (!Array.isArray(outcome)) expect(outcome).toBeInstanceOf(UnreadableFile);
      }),
      { numRuns: RUNS },
    );
  });

  it("Latin-1 that is called UTF-8 is refused", async () => {
    const bytes = Buffer.from(good.replace("Rutschmann", "Rütschmann"), "latin1");
    await expect(read(bytes)).rejects.toThrow("The file has bytes that are not utf-8.");
  });

  it("UTF-16 with a byte order mark is read", async () => {
    const utf16 = Buffer.from(`\ufeff${good.replace("UTF-8", "UTF-16")}`, "utf16le");
    expect(await read(utf16)).toEqual(await read(good));
  });

  it("size, depth and the elements of an entry are limited", async () => {
    await expect(read(good, 4_096, { bytes_max: 1_000 })).rejects.toThrow("too large");
    await expect(read(good, 4_096, { depth_max: 8 })).rejects.toThrow("nested too deeply");
    await expect(read(good, 4_096, { elements_max: 30 })).rejects.toThrow("too many elements");
    const long = good.replace("deposit 7", "x".repeat(20_001));
    await expect(read(long)).rejects.toThrow("The text of AddtlRmtInf is too long.");
  });

  it.each([
    ["attributes", (text: string) => `<Document ${text.replaceAll(" ", ' a="b" ')}`],
    ["a comment", (text: string) => `<!--${text}-->${good}`],
    ["a processing instruction", (text: string) => `<?x ${text}?>${good}`],
    ["white space", (text: string) => `${text}${good}`],
    ["CDATA", (text: string) => good.replace("deposit 7", `<![CDATA[${text}]]>`)],
  ])("%s without end is refused before all of it is read", async (_name, make) => {
    const bytes = Buffer.from(make(" ".repeat(5_000_000)));
    let taken = 0;
    const source = async function* () {
      for (; taken < bytes.length; taken += 65_536) yield bytes.subarray(taken, taken + 65_536);
    };
    await expect(collect(readReport(source()))).rejects.toThrow("is too long");
    expect(taken).toBeLessThan(2_000_000);
  });
});

it("a line with 10 000 details is read within the limit of one entry", async () => {
  const [start, end] = ["<NtryDtls>", "</NtryDtls>"];
  const xml = sample("alpine-bank-camt054-v08");
  const detail = (at: number) =>
    `<TxDtls><Refs><EndToEndId>E${at}</EndToEndId></Refs><Amt Ccy="CHF">0.01</Amt></TxDtls>\n`;
  const many = Array.from({ length: 10_000 }, (_, at) => detail(at)).join("");
  const large = (
    xml.slice(0, xml.indexOf(start) + start.length) +
    many +
    xml.slice(xml.indexOf(end))
  ).replace(">350.05<", ">100.00<");
  const entries = entriesOf(await read(large, 65_536, { elements_max: 200 }));
  expect(entries).toHaveLength(10_000);
  expect(entries.every((entry) => entry.amount === 1n && entry.problem === null)).toBe(true);
});
