import fc from "fast-check";
import { XmlDocument } from "libxml2-wasm";
import { describe, expect, it } from "vitest";
import { CURRENCIES } from "../../../src/catalogue/currencies.ts";
import { formatAmount, parseAmount } from "../../../src/partners/bank/iso20022/amount-text.ts";
import { fitName, fitText } from "../../../src/partners/bank/iso20022/bank-text.ts";
import { checkTransfer } from "../../../src/partners/bank/iso20022/check-transfer.ts";
import type { CreditTransfer } from "../../../src/partners/bank/iso20022/credit-transfer.ts";
import { writePayments } from "../../../src/partners/bank/iso20022/write-payments.ts";
import { loadSchema } from "./iso-schemas.ts";
import {
  collect,
  SEPA_FILE,
  SWIFT_FILE,
  sampleId,
  sepaTransfer,
  swiftTransfer,
  totalsOf,
  WIRE_FILE,
  wireTransfer,
  writeWhole,
} from "./sample-payments.ts";

const validate = loadSchema("pain.001.001.09");
const NAMESPACES = { p: "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09" };

/** Texts at paths of local names, read by a parser that is not ours. */
function readBack(xml: string, ...paths: readonly string[]): string[][] {
  const document = XmlDocument.fromString(xml);
  try {
    return paths.map((path) => {
      const steps = path.replaceAll(/(^|\/)(?=[A-Z])/g, "$1p:");
      return document.find(`//${steps}`, NAMESPACES).map((node) => node.content);
    });
  } finally {
    document.dispose();
  }
}

describe("a file of SEPA payments", () => {
  it("is valid, and another parser reads the values that went in", async () => {
    const transfers = [sepaTransfer(), sepaTransfer({ end_to_end_id: sampleId(2), amount: 1n })];
    const xml = await writeWhole(SEPA_FILE, transfers);
    expect(validate?.(xml) ?? []).toEqual([]);
    expect(
      readBack(xml, "MsgId", "CreDtTm", "NbOfTxs", "CtrlSum", "SvcLvl/Cd", "ChrgBr", "ReqdExctnDt"),
    ).toEqual([
      ["SR20261116-000001"],
      ["2026-11-16T09:30:15Z"],
      ["2", "2"],
      ["123.46", "123.46"],
      ["SEPA"],
      ["SLEV"],
      ["2026-11-17"],
    ]);
    expect(
      readBack(xml, "EndToEndId", "UETR", "InstdAmt", "InstdAmt/@Ccy", "Cdtr/Nm", "CdtrAcct"),
    ).toEqual([
      transfers.map(({ end_to_end_id }) => end_to_end_id),
      [],
      ["123.45", "0.01"],
      ["EUR", "EUR"],
      ["Maria Sample", "Maria Sample"],
      ["DE89370400440532013000", "DE89370400440532013000"],
    ]);
  });

  it("has no empty elements where something is absent or cannot be written", async () => {
    const xml = await writeWhole(SEPA_FILE, [sepaTransfer({ remittance: " / " })]);
    expect(validate?.(xml) ?? []).toEqual([]);
    expect(xml).not.toMatch(/<(\w+)[^>]*><\/\1>|<\w+\/>/);
  });
});

describe("files of cross-border payments and wires", () => {
  it("a SWIFT file has structured addresses, UETR, banks, purpose and message", async () => {
    const xml = await writeWhole(SWIFT_FILE, [swiftTransfer()]);
    expect(validate?.(xml) ?? []).toEqual([]);
    const address = ["StrtNm", "PstCd", "TwnNm", "CtrySubDvsn", "Ctry"];
    expect(readBack(xml, ...address.map((name) => `Cdtr/PstlAdr/${name}`))).toEqual([
      ["12 Sample Street, Flat 3"],
      ["400001"],
      ["Mumbai"],
      ["MH"],
      ["IN"],
    ]);
    expect(
      readBack(xml, "UETR", "IntrmyAgt1", "CdtrAgt//ClrSysId", "CdtrAgt//MmbId", "Purp", "Ustrd"),
    ).toEqual([
      ["7a562c67-ca16-48ba-b074-65581be6f001"],
      ["DEUTDEFF"],
      ["INFSC"],
      ["HDFC0000001"],
      ["SUPP"],
      ["Invoice 17"],
    ]);
    expect(readBack(xml, "CdtrAcct/Id/Othr/Id", "SvcLvl", "ChrgBr")).toEqual([
      ["000123456789"],
      ["NURG"],
      ["SHAR"],
    ]);
  });

  it("a purpose of a country or a bank is written as its own code", async () => {
    const xml = await writeWhole(SWIFT_FILE, [swiftTransfer({ purpose: "P0802" })]);
    expect(validate?.(xml) ?? []).toEqual([]);
    expect(readBack(xml, "Purp/Prtry", "Purp/Cd")).toEqual([["P0802"], []]);
  });

  it("streets stand in address lines for banks that want it so", async () => {
    const xml = await writeWhole({ ...SWIFT_FILE, address_form: "hybrid" }, [swiftTransfer()]);
    expect(validate?.(xml) ?? []).toEqual([]);
    expect(readBack(xml, "AdrLine", "StrtNm", "TwnNm")).toEqual([
      ["12 Sample Street", "Flat 3"],
      [],
      ["Mumbai"],
    ]);
  });

  it("a US wire names the payee's bank by its routing number", async () => {
    const xml = await writeWhole(WIRE_FILE, [wireTransfer()]);
    expect(validate?.(xml) ?? []).toEqual([]);
    expect(readBack(xml, "CdtrAgt//Cd", "CdtrAgt//MmbId", "DbtrAcct//Othr", "SvcLvl")).toEqual([
      ["USABA"],
      ["021000021"],
      ["9900012345"],
      ["URGP"],
    ]);
  });
});

describe("amounts", () => {
  const anyCurrency = fc.constantFrom(...CURRENCIES.keys());
  const anyAmount = fc.bigInt({ min: 1n, max: 10n ** 18n - 1n });

  it("are written with the decimals of their currency and read back to the same", () => {
    fc.assert(
      fc.property(anyCurrency, anyAmount, (currency, amount) => {
        const text = formatAmount(amount, currency);
        expect(text.split(".")[1]?.length ?? 0).toBe(CURRENCIES.get(currency)!.minor_digits);
        expect(parseAmount(text, currency)).toBe(amount);
      }),
    );
  });

  it.each([
    ["12.5", "eur", 1250n],
    ["12.500", "eur", 1250n],
    ["12.505", "eur", undefined],
    ["12.0", "jpy", 12n],
    ["12.5", "jpy", undefined],
    ["1.2345", "tnd", undefined],
    ["-1", "eur", undefined],
    ["1,5", "eur", undefined],
    ["1e3", "eur", undefined],
    ["", "eur", undefined],
    [".5", "eur", 50n],
    ["5.", "eur", 500n],
    [".", "eur", undefined],
    ["1", "xxx", undefined],
  ])("%j %s is read as %s", (text, currency, amount) => {
    expect(parseAmount(text, currency)).toBe(amount);
  });

  it("any amounts, currencies and characters give a valid file with the right control sum", async () => {
    const anyTransfer = fc
      .record({
        currency: anyCurrency,
        amount: fc.bigInt({ min: 1n, max: 10n ** 13n }),
        name: fc.string({ unit: "binary", maxLength: 160 }),
        remittance: fc.option(fc.string({ unit: "binary", maxLength: 200 })),
      })
      .map(({ name, ...facts }) => {
        const { address } = swiftTransfer().creditor;
        return swiftTransfer({ ...facts, creditor: { name: `N${name}`, address } });
      });
    await fc.assert(
      fc.asyncProperty(fc.array(anyTransfer, { minLength: 1, maxLength: 5 }), async (some) => {
        const transfers = some.map((one, at) => ({ ...one, end_to_end_id: sampleId(at) }));
        const xml = await writeWhole(SWIFT_FILE, transfers);
        expect(validate?.(xml) ?? []).toEqual([]);
        const [amounts, names, texts, sums] = readBack(
          ...([xml, "InstdAmt", "Cdtr/Nm", "Ustrd", "CtrlSum"] as const),
        );
        expect(amounts!.map((text, at) => parseAmount(text, transfers[at]!.currency))).toEqual(
          transfers.map(({ amount }) => amount),
        );
        expect(names).toEqual(transfers.map(({ creditor }) => fitName(creditor.name, 140)));
        const messages = transfers.map(({ remittance }) => fitText(remittance ?? "", 140));
        expect(texts).toEqual(messages.filter(Boolean));
        const sum = amounts!.reduce((total, text) => total + hundredThousandths(text), 0n);
        expect(sums!.map(hundredThousandths)).toEqual([sum, sum]);
      }),
      { numRuns: 20 },
    );
  });
});

function hundredThousandths(text: string): bigint {
  const [whole, decimals = ""] = text.split(".");
  return BigInt(whole! + decimals.padEnd(5, "0"));
}

describe("what would be rejected is refused before", () => {
  it.each<[string, Partial<CreditTransfer>, string]>([
    ["another currency than euro", { currency: "usd" }, "currency"],
    ["no amount", { amount: 0n }, "amount"],
    ["a billion", { amount: 100_000_000_000n }, "amount"],
    ["an underscore in an id", { end_to_end_id: "a_b" }, "end_to_end_id"],
    ["a slash in an id", { end_to_end_id: "a/b" }, "end_to_end_id"],
    ["an id of 36 characters", { end_to_end_id: "a".repeat(36) }, "end_to_end_id"],
    ["a wrong IBAN", { creditor_account: { iban: "DE89370400440532013001" } }, "iban"],
    ["an IBAN with spaces", { creditor_account: { iban: "DE89 370400440532013000" } }, "iban"],
    ["no IBAN", { creditor_account: { number: "12345" } }, "iban"],
    ["a name without letters", { creditor: { name: "...", address: null } }, "account_name"],
    ["a BIC in lower case", { creditor_bank: { bic: "deutdeff" } }, "swift_bic"],
    ["a long purpose", { purpose: "SALARY" }, "purpose"],
  ])("in SEPA: %s", (_, change, field) => {
    expect(checkTransfer("sepa", sepaTransfer(change)).map((problem) => problem.field)).toContain(
      field,
    );
  });

  it.each<[string, Partial<CreditTransfer>, string]>([
    ["no UETR", { uetr: null }, "uetr"],
    ["a UETR of version 7", { uetr: "0190a5e6-0000-7000-8000-000000000001" }, "uetr"],
    ["no address", { creditor: { name: "A", address: null } }, "city"],
    ["no bank", { creditor_bank: null }, "swift_bic"],
    ["an account with a slash", { creditor_account: { number: "12/3" } }, "account_number"],
    ["an account of 35", { creditor_account: { number: "1".repeat(35) } }, "account_number"],
    ["a purpose of 36", { purpose: "P".repeat(36) }, "purpose"],
    ["a purpose with a mark", { purpose: "<P>" }, "purpose"],
    ["more than 18 digits", { amount: 10n ** 18n }, "amount"],
  ])("in SWIFT: %s", (_, change, field) => {
    expect(checkTransfer("swift", swiftTransfer(change)).map((problem) => problem.field)).toContain(
      field,
    );
  });

  it("a payment that is refused, or stands twice, ends the file without its last piece", async () => {
    for (const second of [sepaTransfer({ amount: 0n, end_to_end_id: "b" }), sepaTransfer()]) {
      const transfers = [sepaTransfer(), second];
      const pieces: string[] = [];
      const write = async () => {
        for await (const piece of writePayments(SEPA_FILE, totalsOf(transfers), transfers)) {
          pieces.push(piece);
        }
      };
      await expect(write()).rejects.toThrow(/stands twice|above zero/);
      expect(pieces.join("")).not.toContain("</Document>");
    }
  });

  it("payments that differ from the totals end the file without its last piece", async () => {
    const totals = { count: 1, control_sum: "123.46" };
    const write = collect(writePayments(SEPA_FILE, totals, [sepaTransfer()]));
    await expect(write).rejects.toThrow("1 with a sum of 123.45, not 1 with 123.46");
  });

  it("a file cannot have another charge bearer than its scheme", async () => {
    const file = { ...SEPA_FILE, charge_bearer: "SHAR" as const };
    await expect(writeWhole(file, [sepaTransfer()])).rejects.toThrow("charge bearer");
  });
});

it("10 000 payments are written one at a time", async () => {
  const count = 10_000;
  const seen = { asked: 0, written: 0, ahead_max: 0, largest: 0 };
  function* transfers() {
    for (; seen.asked < count; seen.asked += 1) {
      yield sepaTransfer({ end_to_end_id: sampleId(seen.asked) });
    }
  }
  const totals = { count, control_sum: "1234500.00" };
  for await (const piece of writePayments(SEPA_FILE, totals, transfers())) {
    if (piece.includes("<CdtTrfTxInf>")) seen.written += 1;
    seen.ahead_max = Math.max(seen.ahead_max, seen.asked - seen.written);
    seen.largest = Math.max(seen.largest, piece.length);
  }
  // Nothing is collected: a payment is written before the next one is asked for.
  expect(seen).toMatchObject({ written: count, ahead_max: 0 });
  expect(seen.largest).toBeLessThan(1_500);
});
