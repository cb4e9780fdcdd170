import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AchCredit,
  type AchFile,
  checkCredit,
} from "../../../src/partners/bank/nacha/ach-file.ts";
import { readCorrection } from "../../../src/partners/bank/nacha/corrections.ts";
import { type AchItem, readAch } from "../../../src/partners/bank/nacha/read-ach.ts";
import { words } from "../../../src/partners/bank/nacha/record-text.ts";
import {
  type AchBatchWithCredits,
  traceNumberOf,
  writeAch,
} from "../../../src/partners/bank/nacha/write-ach.ts";
import { UnreadableFile } from "../../../src/partners/bank/unreadable-file.ts";
import { collect } from "./sample-payments.ts";

const FILE: AchFile = {
  destination: "021000021",
  destination_name: "Sample Bank",
  origin: "1234567890",
  origin_name: "Sample Ramp Inc",
  created_on: "2026-11-16",
  created_at: "09:30",
  modifier: "A",
};

const ROUTING_NUMBERS = ["021000021", "011401533", "122105155", "322271627", "061000104"];

function credit(change: Partial<AchCredit> = {}): AchCredit {
  return {
    routing_number: "011401533",
    account_number: "0012345678",
    account_type: "checking",
    id: "P000000000001",
    amount: 12_345n,
    name: "Maria Sample",
    text: null,
    trace_sequence: 1,
    ...change,
  };
}

function batch(
  credits: readonly AchCredit[],
  change: Partial<AchBatchWithCredits> = {},
): AchBatchWithCredits {
  return {
    entry_class: "PPD",
    company_name: "Sample Ramp",
    company_id: "1234567890",
    description: "PAYOUT",
    effective_date: "2026-11-18",
    originating_bank: "02100002",
    number: 1,
    offset: null,
    credits,
    ...change,
  };
}

const OFFSET = {
  routing_number: "021000021",
  account_number: "9900012345",
  account_type: "checking" as const,
  name: "Sample Ramp",
  trace_sequence: 9_999_999,
};

async function write(...batches: readonly AchBatchWithCredits[]): Promise<string[]> {
  const text = (await collect(writeAch(FILE, batches))).join("");
  return text.split("\n").slice(0, -1);
}

async function* bytesOf(text: string, size = 1_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text, "latin1");
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

function read(text: string, size?: number): Promise<AchItem[]> {
  return collect(readAch(bytesOf(text, size)));
}

const anyCredit = fc.record({
  routing_number: fc.constantFrom(...ROUTING_NUMBERS),
  account_number: fc.stringMatching(/^[A-Za-z0-9-]{1,17}$/),
  account_type: fc.constantFrom("checking" as const, "savings" as const),
  amount: fc.bigInt({ min: 1n, max: 99_999_999n }),
  name: fc.string({ unit: "binary", maxLength: 60 }).map((text) => `N${text}`),
  text: fc.option(fc.string({ unit: "binary", maxLength: 120 })),
});
const anyCredits = fc.array(anyCredit, { minLength: 1, maxLength: 30 });

/** What another program reads of a file; it takes routing numbers and traces for numbers. */
type OtherEntry = Record<"transactionCode" | "dfiAccount" | "identificationNumber", string> &
  Record<"receivingDFIIdentification" | "checkDigit" | "amount" | "traceNumber", number> & {
    receivingCompanyName: string;
    addenda?: { type: string; info: string; entryNum: number };
  };
type OtherTotals = Record<"entryAndAddendaCount" | "entryHash", number> &
  Record<"totalDebit" | "totalCredit", number>;
type OtherBatch = Record<"entryClassCode" | "companyId" | "effectiveDate", string> & {
  serviceClassCode: number;
  entries: OtherEntry[];
  footer: OtherTotals;
};
type OtherFile = {
  file: Record<"destination" | "origin" | "creationDate" | "idModifier", string> & {
    footer: OtherTotals & { batchCount: number; blockCount: number };
  };
  batches: OtherBatch[];
};

/** Of the registry's packages, the only one that reads files: others write them only. */
const { from: readByOthers } = createRequire(import.meta.url)("@midlandsbank/node-nacha") as {
  from(text: string): { data: OtherFile };
};

const hasText = ({ text }: AchCredit) => (text ?? "").trim() !== "";

/** A payment as the other program reads it. */
function toCredit(entry: OtherEntry) {
  const { addenda } = entry;
  return {
    code: entry.transactionCode,
    bank: `${entry.receivingDFIIdentification}${entry.checkDigit}`.padStart(9, "0"),
    account: entry.dfiAccount,
    amount: entry.amount,
    id: entry.identificationNumber,
    name: entry.receivingCompanyName,
    trace: String(entry.traceNumber).padStart(15, "0"),
    text: addenda ? { text: addenda.info, of: addenda.entryNum } : null,
  };
}

/** The same payment as we wrote it. */
function toRead(payment: AchCredit): ReturnType<typeof toCredit> {
  const { account_type, trace_sequence, text } = payment;
  return {
    code: account_type === "savings" ? "32" : "22",
    bank: payment.routing_number,
    account: payment.account_number,
    amount: Number(payment.amount),
    id: payment.id,
    name: words(payment.name, 22).trim(),
    trace: traceNumberOf("02100002", trace_sequence),
    text: hasText(payment) ? { text: words(text!, 80).trim(), of: trace_sequence } : null,
  };
}

describe("a NACHA file", () => {
  it("has the fields of PPD credits with addenda at their columns", async () => {
    const lines = await write(batch([credit({ text: "Invoice 17" })]));
    expect(lines).toEqual([
      "101 0210000211234567890261116" +
        "0930A094101SAMPLE BANK            SAMPLE RAMP INC                ",
      "5220SAMPLE RAMP                         1234567890PPDPAYOUT    261118261118   1021000020000001",
      "6220114015330012345678       0000012345P000000000001  MARIA SAMPLE            1021000020000001",
      `705${"INVOICE 17".padEnd(80)}00010000001`,
      `82200000020001140153000000000000000000012345${"1234567890".padEnd(35)}021000020000001`,
      `9000001000001000000020001140153000000000000000000012345${" ".repeat(39)}`,
      ...Array(4).fill("9".repeat(94)),
    ]);
  });

  it("is balanced by one debit of our account where the bank demands it", async () => {
    const credits = [credit(), credit({ trace_sequence: 2, amount: 55n, account_type: "savings" })];
    const lines = await write(batch(credits, { offset: OFFSET, entry_class: "CCD" }));
    expect(lines.map((line) => line.slice(0, 4)).slice(1, 6)).toEqual([
      ...["5200", "6220", "6320", "6270", "8200"],
    ]);
    expect(lines[4]!.slice(29, 39)).toBe("0000012400");
    expect(lines[5]!.slice(20, 44)).toBe("000000012400000000012400");
  });

  it("any credits give a file whose lines, blocks, sums and hashes are right", async () => {
    await fc.assert(
      fc.asyncProperty(anyCredits, fc.boolean(), async (some, is_balanced) => {
        const credits = some.map((one, at) => credit({ ...one, trace_sequence: at + 1 }));
        const lines = await write(batch(credits, { offset: is_balanced ? OFFSET : null }));
        expect(lines.length % 10).toBe(0);
        expect(lines.filter((line) => !/^[\x20-\x7e]{94}$/.test(line))).toEqual([]);
        const entries = lines.filter((line) => line.startsWith("6"));
        const payments = entries.filter((line) => /^6[23]2/.test(line));
        expect(payments.map((line) => line.slice(12, 29).trimEnd())).toEqual(
          credits.map(({ account_number }) => account_number),
        );
        expect(payments.map((line) => BigInt(line.slice(29, 39)))).toEqual(
          credits.map(({ amount }) => amount),
        );
        const [sum, hash] = [
          credits.reduce((total, { amount }) => total + amount, 0n),
          entries.reduce((total, line) => total + Number(line.slice(3, 11)), 0),
        ];
        const control = lines.find((line) => line.startsWith("9") && line !== "9".repeat(94))!;
        expect(control.slice(21, 55)).toBe(
          String(hash).padStart(10, "0") +
            String(is_balanced ? sum : 0n).padStart(12, "0") +
            String(sum).padStart(12, "0"),
        );
        expect(Number(control.slice(7, 13))).toBe(lines.length / 10);
        expect(await read(lines.join("\n"))).toHaveLength(entries.length);
      }),
      { numRuns: 50 },
    );
  });

  it("another program reads the same values", async () => {
    await fc.assert(
      fc.asyncProperty(anyCredits, anyCredits, fc.boolean(), async (some, more, is_balanced) => {
        const persons = some.map((one, at) => credit({ ...one, trace_sequence: at + 1 }));
        const after = persons.length + 1;
        const companies = more.map((one, at) => credit({ ...one, trace_sequence: after + at + 1 }));
        const offset = (trace_sequence: number) =>
          is_balanced ? { ...OFFSET, trace_sequence } : null;
        const batches = [
          batch(persons, { offset: offset(after) }),
          batch(companies, { entry_class: "CCD", number: 2, offset: offset(9_999_999) }),
        ];
        const lines = await write(...batches);
        const { file, batches: found } = readByOthers(`${lines.join("\n")}\n`).data;
        expect(file).toMatchObject({
          ...{ destination: " 021000021", origin: "1234567890", idModifier: "A" },
          ...{ creationDate: "261116", footer: totalsOf([...persons, ...companies], 2) },
        });
        expect(file.footer).toMatchObject({ batchCount: 2, blockCount: lines.length / 10 });
        for (const [at, credits] of [persons, companies].entries()) {
          expect(found[at]).toMatchObject({
            ...{ entryClassCode: at === 0 ? "PPD" : "CCD", companyId: "1234567890" },
            ...{ effectiveDate: "261118", serviceClassCode: is_balanced ? 200 : 220 },
            footer: totalsOf(credits, 1),
          });
          const entries = found[at]!.entries.filter(({ transactionCode }) =>
            /2$/.test(transactionCode),
          );
          expect(entries.map(toCredit)).toEqual(credits.map(toRead));
        }

        function totalsOf(credits: readonly AchCredit[], debits: number): OtherTotals {
          const sum = Number(credits.reduce((total, { amount }) => total + amount, 0n));
          const banks = credits.map(({ routing_number }) => Number(routing_number.slice(0, 8)));
          const own = is_balanced ? debits : 0;
          return {
            entryAndAddendaCount: credits.length + credits.filter(hasText).length + own,
            entryHash: banks.reduce((total, one) => total + one, 0) + own * 2_100_002,
            totalDebit: is_balanced ? sum : 0,
            totalCredit: sum,
          };
        }
      }),
      { numRuns: 50 },
    );
  });

  it("keeps the low ten digits of a hash", async () => {
    const credits = Array.from({ length: 400 }, (_, at) =>
      credit({ routing_number: "322271627", trace_sequence: at + 1 }),
    );
    const lines = await write(batch(credits));
    // 400 × 32 227 162 = 12 890 864 800
    expect(lines.find((line) => line.startsWith("8"))!.slice(10, 20)).toBe("2890864800");
  });

  it("refuses traces that do not ascend, empty batches and sums that do not fit", async () => {
    await expect(write(batch([credit(), credit()]))).rejects.toThrow("trace 1 follows 1");
    await expect(write(batch([]))).rejects.toThrow("at least one entry");
    const large = [1, 2].map((at) => credit({ amount: 9_999_999_999n, trace_sequence: at }));
    await expect(write(batch(large, { offset: OFFSET }))).rejects.toThrow("split the batch");
    await expect(write(batch([credit()], { company_id: "12345678901" }))).rejects.toThrow("fit");
  });

  it.each<[string, Partial<AchCredit>, string]>([
    ["a routing number with a typo", { routing_number: "011401534" }, "routing_number"],
    ["a routing number with a hyphen", { routing_number: "0114-01533" }, "routing_number"],
    ["an account of 18 digits", { account_number: "1".repeat(18) }, "account_number"],
    ["an account with a space", { account_number: "12 34" }, "account_number"],
    ["no amount", { amount: 0n }, "amount"],
    ["more than ten digits", { amount: 10_000_000_000n }, "amount"],
    ["a long id", { id: "1".repeat(16) }, "id"],
    ["a name without letters", { name: "—" }, "account_name"],
  ])("%s is refused", async (_, change, field) => {
    expect(checkCredit(credit(change)).map((problem) => problem.field)).toEqual([field]);
    await expect(write(batch([credit(change)]))).rejects.toThrow();
  });
});

/** A file as a bank sends it back; each entry with its addendum. */
function returnFile(
  entry_class: string,
  entries: readonly { code: string; amount: bigint; addendum: string | null; trace?: string }[],
): string {
  const sum = entries.reduce((total, { amount }) => total + amount, 0n);
  const hash = String(2_100_002 * entries.length).padStart(10, "0");
  const credits = String(sum).padStart(12, "0");
  const lines = entries.flatMap(({ code, amount, addendum, trace }) => [
    `6${code}021000021${"0012345678".padEnd(17)}${String(amount).padStart(10, "0")}` +
      `${"P000000000001".padEnd(15)}${"MARIA SAMPLE".padEnd(22)}  ${addendum === null ? 0 : 1}` +
      (trace ?? "011401530000009"),
    ...(addendum === null ? [] : [addendum.padEnd(94)]),
  ]);
  return [
    `101 1234567890210000212611170500A094101${" ".repeat(55)}`,
    `5220${"SAMPLE RAMP".padEnd(36)}1234567890${entry_class}${"PAYOUT".padEnd(10)}      2611173211011401530000001`,
    ...lines,
    // Banks get counts of records wrong: they are not looked at.
    `8220000099${hash}000000000000${credits}${"1234567890".padEnd(35)}011401530000001`,
    `9000001000009${"00000099"}${hash}000000000000${credits}${" ".repeat(39)}`,
  ].join("\r\n");
}

function returned(code: string, data = ""): string {
  return `799${code}021000020000001      01140153${data.padEnd(44)}011401530000009`;
}

function corrected(code: string, data: string): string {
  return `798${code}021000020000001      01140153${data.padEnd(44)}011401530000009`;
}

describe("files that come back", () => {
  it("returns name our payment by trace, id, account and amount", async () => {
    const entry = { code: "21", amount: 12_345n, addendum: returned("R03", "NO ACCOUNT") };
    expect(await read(returnFile("PPD", [entry]))).toEqual([
      {
        kind: "returned",
        code: "R03",
        original_trace_number: traceNumberOf("02100002", 1),
        amount: 12_345n,
        account_number: "0012345678",
        id: "P000000000001",
        name: "MARIA SAMPLE",
        trace_number: "011401530000009",
        company_id: "1234567890",
        is_of_debit: false,
        text: "NO ACCOUNT",
      },
    ]);
  });

  it("a notification of change suggests what is right", async () => {
    const entry = { code: "21", amount: 0n, addendum: corrected("C01", "0099887766") };
    expect(await read(returnFile("COR", [entry]))).toMatchObject([
      {
        kind: "correction",
        code: "C01",
        original_trace_number: "021000020000001",
        corrected: { account_number: "0099887766" },
        text: "0099887766",
      },
    ]);
  });

  it.each([
    ["C01", "1918171614", { account_number: "1918171614" }],
    ["C02", "011401533", { routing_number: "011401533" }],
    ["C03", "011401533   0012345", { routing_number: "011401533", account_number: "0012345" }],
    ["C04", "MARIA SAMPLE", { name: "MARIA SAMPLE" }],
    ["C05", "32", { account_type: "savings" }],
    ["C06", "0012345             22", { account_number: "0012345", account_type: "checking" }],
    [
      "C06",
      "1234567890123456732",
      { account_number: "12345678901234567", account_type: "savings" },
    ],
    [
      "C07",
      "0114015330012345          32",
      { routing_number: "011401533", account_number: "0012345", account_type: "savings" },
    ],
    ["C09", "P000000000002", { id: "P000000000002" }],
    ["C05", "99", null],
    ["C02", "1", null],
    ["C07", "0114015330012345", null],
    ["C13", "", null],
    ["C99", "x", null],
  ])("%s %j is read as %j", (code, data, expected) => {
    expect(readCorrection(code, data.padEnd(29))).toEqual(expected);
  });

  it("a rejected entry and one without an addendum are told apart", async () => {
    const entries = [
      { code: "22", amount: 1n, addendum: null, trace: "REJ009990000001" },
      { code: "22", amount: 2n, addendum: "705A DEPOSIT" },
    ];
    expect(await read(returnFile("PPD", entries))).toMatchObject([
      { kind: "rejected", code: "REJ00999", amount: 1n },
      { kind: "other", text: "A DEPOSIT", amount: 2n },
    ]);
  });

  it("the same is read without line ends, in any pieces, filled up, and two files in one", async () => {
    const entry = { code: "21", amount: 12_345n, addendum: returned("R97") };
    const text = returnFile("PPD", [entry]);
    const items = await read(text);
    expect(items).toMatchObject([{ code: "R97" }]);
    const joined = text.replaceAll("\r\n", "");
    for (const same of [joined, `${joined}\n`, `${text}\r\n${"9".repeat(94)}\r\n\r\n`]) {
      expect(await read(same)).toEqual(items);
      expect(await read(same, 1)).toEqual(items);
      expect(await read(same, 94)).toEqual(items);
    }
    const trimmed = text
      .split("\r\n")
      .map((line) => line.trimEnd())
      .join("\n");
    expect(await read(trimmed)).toEqual(items);
    expect(await read(`${text}\n${text}`)).toEqual([...items, ...items]);
  });

  it("a file that is cut off anywhere is refused", async () => {
    const text = returnFile("PPD", [{ code: "21", amount: 5n, addendum: returned("R02") }]);
    // The last 39 characters are blank.
    for (let length = 0; length < text.length - 39; length += 7) {
      await expect(read(text.slice(0, length))).rejects.toThrow(UnreadableFile);
    }
  });

  it("a damaged file is read or refused, and nothing else happens", async () => {
    const text = returnFile("COR", [
      { code: "21", amount: 0n, addendum: corrected("C07", "0114015330012345          32") },
      { code: "21", amount: 0n, addendum: corrected("C03", "011401533   0012345") },
    ]);
    const anyText = fc.string({ maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.nat(text.length), fc.nat(100), anyText, async (at, length, other) => {
        const damaged = text.slice(0, at) + other + text.slice(at + length);
        const outcome = await read(damaged).catch((error: unknown) => error);
        if (!Array.isArray(outcome)) expect(outcome).toBeInstanceOf(UnreadableFile);
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ["another sum", (text: string) => text.replaceAll("000000012345", "000000012346")],
    ["another amount of the entry", (text: string) => text.replace("0000012345P", "0000012346P")],
    ["another bank of the entry", (text: string) => text.replace("621021000021", "621011401533")],
    ["letters in an amount", (text: string) => text.replace("0000012345P", "00000I2345P")],
    ["an entry outside a batch", (text: string) => text.replace(/\r\n5220.*/, "")],
    ["an addendum without an entry", (text: string) => text.replace(/\r\n621.*/, "")],
    ["no header", (text: string) => text.slice(text.indexOf("5220"))],
    ["a line that is too long", (text: string) => text.replace("PAYOUT", "PAYOUTS")],
    ["another record", (text: string) => text.replace("\r\n799", "\r\nX99")],
    ["nothing", () => ""],
  ])("%s is refused", async (_, change) => {
    const entry = { code: "21", amount: 12_345n, addendum: returned("R03") };
    await expect(read(change(returnFile("PPD", [entry])))).rejects.toThrow(UnreadableFile);
  });
});
