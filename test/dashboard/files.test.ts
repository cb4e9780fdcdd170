import { describe, expect, it } from "vitest";
import { findMapping } from "../../dashboard/src/app/pages/payouts/batches/columns.ts";
import { decode, parse } from "../../dashboard/src/app/pages/payouts/batches/read-file.ts";
import { fromCsvCell, toCsv } from "../../dashboard/src/app/parts/csv.ts";
import { recordsFile } from "../../dashboard/src/app/parts/records-file.ts";
import {
  findDateOrder,
  findFormat,
  toPlainAmount,
  toPlainDate,
} from "../../dashboard/src/app/parts/written-values.ts";
import { payoutFile } from "./payout-files.ts";

describe("files that are written", () => {
  it("have a byte order mark and CRLF, and nothing that a spreadsheet would run", () => {
    const risky = ["=1+1", "+351 21", "-x", "@cmd", "\tx", "-12.50", 'a "b", c', "plain"];
    const text = toCsv([risky]);
    expect(text).toBe(`\ufeff'=1+1,'+351 21,'-x,'@cmd,'\tx,-12.50,"a ""b"", c",plain\r\n`);
    // Programs differ in whether they skip white space, and take wide signs for usual ones.
    expect(toCsv([[" =1+1", "\u00a0@x", "＝1"]])).toBe("\ufeff' =1+1,'\u00a0@x,'＝1\r\n");
    expect(fromCsvCell("'=1+1")).toBe("=1+1");
    expect(fromCsvCell("'tis")).toBe("'tis");
  });

  it("have the fields of records, names for ids, and amounts as they are", () => {
    const names = {
      users: { u1: { name: "Ana" } },
      payment_details: { d1: { holder: "=HYPERLINK()", bank: "Bank", account: "1234" } },
    };
    const one = { id: "1", user_id: "u1", payment_detail_id: "d1", amount: 0.0000001, names };
    const other = { id: "2", user_id: "u2", document: { status: null, tags: ["a"] } };
    expect(recordsFile([one, other]).split("\r\n")).toEqual([
      "\ufeffid,user_id,payment_detail_id,amount,user_name,payee,payee_bank,payee_account," +
        "document.status,document.tags",
      "1,u1,d1,0.0000001,Ana,'=HYPERLINK(),Bank,··1234,,",
      '2,u2,,,,,,,,"[""a""]"',
      "",
    ]);
  });
});

describe("files that are read", () => {
  it("may have a title, semicolons, sums and any usual encoding", () => {
    const { text, rows } = payoutFile();
    const read = parse(decode(new TextEncoder().encode(text)).text);
    expect(read.rows).toHaveLength(rows);
    expect(read.skipped).toBe(2);
    expect(read.rows[0]).toMatchObject({ n: 3 });
    const storage = { getItem: () => null };
    Object.assign(globalThis, { localStorage: storage });
    expect(findMapping(read.headings)).toEqual([
      ...["account_name", "beneficiary_type", "iban", "bank_name", "address_line1", "city"],
      ...["postal_code", "country", "amount", "currency", "reference"],
    ]);
    expect(decode(new Uint8Array([0x4a, 0xf6, 0x72, 0x67]))).toEqual({
      text: "Jörg",
      encoding: "windows-1252",
    });
    expect(decode(new Uint8Array([0xff, 0xfe, 0x41, 0])).text).toBe("A");
    expect(() => decode(new Uint8Array([0x50, 0x4b, 3, 4]))).toThrow(/CSV UTF-8/);
    expect(parse("sep=|\nName|Amount\nTotal Energy|1\nTotal|1").rows).toEqual([
      { n: 3, cells: ["Total Energy", "1"] },
    ]);
  });

  it.each([
    [["1,234.50", "12.00"], "point", "1234.50"],
    [["1.234,50", "12,00"], "comma", "1234.50"],
    [["€ 1'234.50", "3"], "point", "1234.50"],
    [["12", "7"], "point", "12"],
    [["1.234", "12"], null, null],
    [["1.5", "1,5"], null, null],
  ] as const)("amounts such as %s are written with a %s", (values, format, first) => {
    expect(findFormat(values)).toBe(format);
    if (format) expect(toPlainAmount(values[0], format)).toBe(first);
  });

  it("what is no amount stays as it is, for the check to mark", () => {
    expect(toPlainAmount("1.23E+17", "point")).toBe("1.23E+17");
    expect(toPlainAmount("12,5,0", "comma")).toBe("12,5,0");
  });

  it("dates tell their order, or a person is asked", () => {
    expect(findDateOrder(["31.12.1980", "01.02.1990"])).toBe("day_first");
    expect(findDateOrder(["12/31/1980"])).toBe("month_first");
    expect(findDateOrder(["01/02/1990"])).toBeNull();
    expect(toPlainDate("1.2.1990", "day_first")).toBe("01/02/1990");
    expect(toPlainDate("12/31/1980", "month_first")).toBe("31/12/1980");
    expect(toPlainDate("1980-12-31", "day_first")).toBe("1980-12-31");
  });
});
