import { readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import {
  AFTER_FIRST,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { entry, statement, status, statusReport } from "./report-texts.ts";

let bank: FileBankFixture;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture();
});
afterAll(() => bank.close());
beforeEach(async () => {
  inbox = await bank.clearInbox();
});

/** Payments in a file that the bank has. */
async function pay(...changes: Partial<Instruction>[]): Promise<Instruction[]> {
  const payments = changes.map((change) => bank.instruction(change));
  await bank.submit(...payments);
  await bank.run(AFTER_FIRST);
  return payments;
}

async function messageId(): Promise<string> {
  const [file] = await bank.database.query<{ message_id: string }>(
    "select message_id from bank_files",
  );
  return file!.message_id;
}

async function receive(name: string, text: string): Promise<void> {
  await writeFile(join(inbox, name), text);
  await utimes(join(inbox, name), MORNING, MORNING);
}

const readNow = (database: Database = bank.database) =>
  readInbox({ ...bank.deps, database }, inbox, AFTER_FIRST, AFTER_FIRST);

async function readAll(...texts: string[]): Promise<void> {
  for (const [at, text] of texts.entries()) await receive(`${at}.xml`, text);
  expect(await readNow()).toEqual([]);
}

const listAnswers = async () => (await bank.bankOf().listAnswers(null, 100)).answers;
const listCredits = async () => (await bank.bankOf().listCredits(null, 100)).credits;
const listUnmatched = () =>
  bank.database.query(
    `select problem from bank_lines where state = 'unmatched'
     union all select problem from bank_unmatched_statuses`,
  );

describe("statuses", () => {
  it("a rejected payment is answered once, with its reason; accepted ones are not answered", async () => {
    const [first, second] = await pay({}, {});
    const id = await messageId();
    const report = statusReport(
      id,
      status(first!.end_to_end_id, "RJCT") + status(second!.end_to_end_id, "ACSC"),
    );
    await readAll(report, `${report}\n`, report);
    expect(await listAnswers()).toMatchObject([
      {
        ...{ account_id: bank.account_id, end_to_end_id: first!.end_to_end_id },
        ...{ kind: "rejected", amount: 12_345n, currency: "eur", uetr: null },
        reasons: [{ code: "AC04" }],
      },
    ]);
    expect(await listUnmatched()).toEqual([]);
  });

  it("a rejection that names another file is for a person: a copy may have been rejected", async () => {
    const [payment] = await pay({});
    const rejected = status(payment!.end_to_end_id, "RJCT");
    await readAll(statusReport("M1", rejected));
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      { problem: expect.stringContaining("It names another file") },
    ]);
    // A program on the way wrote its own message id; the batch is ours.
    const id = await messageId();
    await readAll(
      statusReport("M1", rejected).replace("<OrgnlPmtInfId>M1", `<OrgnlPmtInfId>${id}`),
    );
    expect(await listAnswers()).toMatchObject([{ end_to_end_id: payment!.end_to_end_id }]);
  });

  it("a rejected file rejects every payment in it, also those that are not listed", async () => {
    const payments = await pay({}, {}, {});
    const id = await messageId();
    await readAll(statusReport(id, "<PmtInfSts>RJCT</PmtInfSts>"));
    expect((await listAnswers()).map((answer) => answer.end_to_end_id)).toEqual(
      payments.map(({ end_to_end_id }) => end_to_end_id),
    );
  });

  it("a duplicate and an unknown payment are for a person: neither is known to be unpaid", async () => {
    const [payment] = await pay({});
    const id = await messageId();
    const ids = [payment!.end_to_end_id, "unknown"];
    await readAll(statusReport(id, status(ids[0]!, "RJCT", "AM05") + status(ids[1]!, "RJCT")));
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      { problem: "Rejected as a duplicate: find out whether the other one was paid." },
      { problem: "No payment of ours was rejected here." },
    ]);
  });
});

describe("lines of a statement", () => {
  it("names and accounts are kept of lines only that are no payments, encrypted", async () => {
    const [payment] = await pay({});
    const details = "<RltdPties><Dbtr><Pty><Nm>Jane Sender</Nm></Pty></Dbtr></RltdPties>";
    await readAll(
      statement([
        entry({ amount: "123.45", id: payment!.end_to_end_id, reference: "B1", details }),
        entry({ amount: "1.00", credit: true, reference: "B2", details }),
        entry({ amount: "2.00", reference: "B3", details }),
      ]),
    );
    const rows = await bank.database.query<{ state: string; details: Buffer | null }>(
      "select state, details from bank_lines order by number",
    );
    expect(rows.map((row) => [row.state, row.details !== null])).toEqual([
      ["answer", false],
      ["credit", true],
      ["unmatched", true],
    ]);
    for (const row of rows) expect(String(row.details)).not.toContain("Jane");
  });

  it("a booking and a later return answer the payment, in any file, twice, with or without ids", async () => {
    const [payment] = await pay({});
    const id = payment!.end_to_end_id;
    const booking = entry({ amount: "123.45", id, reference: "B1" });
    const back = entry({
      ...{ amount: "120.00", credit: true, id, reference: "B2" },
      details: "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>",
    });
    await readAll(statement([booking]), statement([booking, back], { id: "S2" }));
    await readAll(statement([back], { id: "S3" }));
    expect(await listAnswers()).toMatchObject([
      { kind: "booked", end_to_end_id: id, amount: 12_345n, reasons: [] },
      { kind: "returned", end_to_end_id: id, amount: 12_000n, reasons: [{ code: "AC06" }] },
    ]);
    expect(await listCredits()).toEqual([]);
  });

  it("a credit with an id of ours is a return, not a deposit", async () => {
    const [payment] = await pay({});
    await readAll(
      statement([entry({ amount: "123.45", credit: true, id: payment!.end_to_end_id })]),
    );
    expect(await listAnswers()).toMatchObject([{ kind: "returned" }]);
  });

  it("a credit of another amount with an id of ours is for a person", async () => {
    const [payment] = await pay({});
    const id = payment!.end_to_end_id;
    await readAll(
      statement([
        entry({ amount: "123.45", id, reference: "B1" }),
        entry({ amount: "122.22", credit: true, id, reference: "B2" }),
        entry({ amount: "0.01", credit: true, id, reference: "B3" }),
      ]),
    );
    expect(await listAnswers()).toMatchObject([{ kind: "booked" }]);
    expect(await listCredits()).toEqual([]);
    const problem = expect.stringMatching(/^A credit of another amount names this payment/);
    expect(await listUnmatched()).toEqual([{ problem }, { problem }]);
  });

  it("what the same report takes back is neither a deposit nor a return", async () => {
    const [payment] = await pay({});
    const id = payment!.end_to_end_id;
    const reversal = (line: string) => line.replace("<Sts>", "<RvslInd>true</RvslInd><Sts>");
    await readAll(
      statement([
        entry({ amount: "123.45", id, reference: "B1" }),
        entry({ amount: "123.45", credit: true, id, reference: "B2" }),
        entry({ amount: "50.00", credit: true, reference: "B3" }),
        entry({ amount: "50.01", credit: true, reference: "B4" }),
        reversal(entry({ amount: "123.45", id, reference: "B5" })),
        reversal(entry({ amount: "50.00", reference: "B6" })),
      ]),
    );
    expect(await listAnswers()).toMatchObject([{ kind: "booked" }]);
    expect(await listCredits()).toMatchObject([{ amount: 5_001n }]);
    const credit = { problem: expect.stringMatching(/^The bank took this amount back/) };
    const taken = { problem: "The bank took money back that it had credited." };
    expect(await listUnmatched()).toEqual([credit, credit, taken, taken]);
  });

  it("a direct debit with an id of ours books no payout", async () => {
    const [payment] = await pay({});
    const id = payment!.end_to_end_id;
    const codeOf = (family: string) =>
      `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>ESDD</SubFmlyCd></Fmly>` +
      "</Domn></BkTxCd>";
    const line = entry({ amount: "123.45", id });
    await readAll(statement([line.replace("<BkTxCd/>", codeOf("RDDT"))]));
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([{ problem: expect.stringMatching(/^A direct debit/) }]);
  });

  it("a file that is booked as one sum answers all of its payments", async () => {
    const payments = await pay({}, { amount: 5n });
    const id = await messageId();
    const batch = (sum: string) =>
      statement([
        `<Ntry><Amt Ccy="EUR">${sum}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>BOOK</Sts><NtryDtls>` +
          `<Btch><PmtInfId>${id}</PmtInfId><NbOfTxs>2</NbOfTxs></Btch></NtryDtls></Ntry>`,
      ]);
    await readAll(batch("123.49"));
    expect(await listUnmatched()).toEqual([
      { problem: "The bank booked another sum than the file has." },
    ]);
    await readAll(batch("123.50"));
    expect(await listAnswers()).toMatchObject(
      payments.map(({ end_to_end_id, amount }) => ({ kind: "booked", end_to_end_id, amount })),
    );
  });

  it("deposits are listed once, with payer and text, which are stored encrypted", async () => {
    const details =
      "<RltdPties><Dbtr><Pty><Nm>Jane Sender</Nm></Pty></Dbtr></RltdPties>" +
      "<RmtInf><Ustrd>code ABCD-EFGH</Ustrd></RmtInf>";
    const deposit = entry({ amount: "50.00", credit: true, id: "NOTPROVIDED", details });
    // Equal lines of one statement are several; the same statement again adds none.
    await readAll(statement([deposit, deposit]), `${statement([deposit, deposit])}\n`);
    const credits = await listCredits();
    expect(credits).toMatchObject(
      [1, 2].map(() => ({
        ...{ bank_account: "main-eur", amount: 5_000n, currency: "eur" },
        ...{ payer_name: "Jane Sender", text: "code ABCD-EFGH" },
        booked_at: new Date("2026-11-16T00:00:00Z"),
      })),
    );
    expect(new Set(credits.map((credit) => credit.bank_reference)).size).toBe(2);
    const rows = await bank.database.query<{ text: string }>(
      "select t::text as text from bank_lines t",
    );
    expect(rows.map((row) => row.text).join("")).not.toContain(
      Buffer.from("Jane Sender").toString("hex"),
    );
  });

  it("what cannot be matched is kept for a person", async () => {
    const [payment] = await pay({});
    const id = payment!.end_to_end_id;
    await readAll(
      statement([
        entry({ amount: "123.44", id }),
        entry({ amount: "1.00" }),
        entry({ amount: "2.00", credit: true, details: "<RtrInf><Rsn><Cd>X</Cd></Rsn></RtrInf>" }),
      ]),
    );
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      { problem: "The bank booked another amount than was ordered." },
      { problem: "No payment of ours was booked here." },
      { problem: "No payment of ours was returned here." },
    ]);
  });

  it("only the reports that an account is booked by count", async () => {
    const [payment] = await pay({});
    const line = entry({ amount: "123.45", id: payment!.end_to_end_id });
    await readAll(statement([line], { type: "54" }));
    expect(await listAnswers()).toEqual([]);
    await readAll(statement([line]));
    expect(await listAnswers()).toMatchObject([{ kind: "booked" }]);
  });
});

describe("the inbox", () => {
  it("a file that cannot be read is set aside, delays no other, and is read after repair", async () => {
    const good = statement([entry({ amount: "1.00", credit: true })]);
    const other = statement([entry({ amount: "2.00", credit: true })], { id: "S2" });
    await receive("a.xml", good.slice(0, -20));
    await receive("b.xml", other);
    await receive(
      "c.xml",
      statement([entry({ amount: "3.00", credit: true })], { account: "DE1" }),
    );
    expect(await readNow()).toEqual([
      { name: "a.xml", problem: expect.stringContaining("not well-formed") },
      {
        name: "c.xml",
        problem: "A statement is of the account …DE1, not of one in the banks file.",
      },
    ]);
    expect((await listCredits()).map(({ amount }) => amount)).toEqual([200n]);
    expect(await readdir(join(inbox, "set-aside"))).toEqual(["a.xml", "c.xml"]);
    await receive("set-aside/a.xml", good);
    await rename(join(inbox, "set-aside/a.xml"), join(inbox, "a.xml"));
    expect(await readNow()).toEqual([]);
    expect((await listCredits()).map(({ amount }) => amount)).toEqual([200n, 100n]);
  });

  it("a file whose name is not UTF-8 or very long, or whose time is ahead, is read", async () => {
    const file = (at: number) =>
      statement([entry({ amount: `${at}.00`, credit: true })], { id: `S${at}` });
    const folder = Buffer.from(join(inbox, "/"));
    const latin = Buffer.concat([folder, Buffer.from("Auszüge.xml", "latin1")]);
    await writeFile(latin, file(1));
    await utimes(latin, MORNING, MORNING);
    await receive(`${"n".repeat(250)}.xml`, file(2));
    const ahead = new Date(Date.now() + DAY_MS);
    await writeFile(join(inbox, "ahead.xml"), file(3));
    await utimes(join(inbox, "ahead.xml"), ahead, ahead);
    const minute_later = new Date(Date.now() + MINUTE_MS);
    expect(await readInbox(bank.deps, inbox, AFTER_FIRST, minute_later)).toEqual([]);
    expect((await listCredits()).map(({ amount }) => amount)).toEqual([100n, 300n, 200n]);
    expect(await readdir(inbox)).toEqual(["done", "set-aside"]);
  });

  it("files that are still being written do not delay others, however many they are", async () => {
    const good = statement([entry({ amount: "1.00", credit: true })]);
    for (let at = 0; at < 120; at += 1) await writeFile(join(inbox, `a${at}.xml`), "<Document>");
    await receive("z.xml", good);
    expect(await readInbox(bank.deps, inbox, MORNING, new Date())).toEqual([]);
    expect(await listCredits()).toHaveLength(1);
  });

  it("a file that is still being written is left alone", async () => {
    await writeFile(join(inbox, "a.xml"), "<Document>");
    expect(await readInbox(bank.deps, inbox, MORNING, new Date())).toEqual([]);
    expect(await readFile(join(inbox, "a.xml"), "utf8")).toBe("<Document>");
  });

  it("a crash before or after recording, and two readers at once, count nothing twice", async () => {
    const [payment] = await pay({});
    const lines = [
      entry({ amount: "123.45", id: payment!.end_to_end_id }),
      entry({ amount: "1.00", credit: true }),
    ];
    await receive("a.xml", statement(lines));
    const dying: Database = {
      ...bank.database,
      transaction: async (work, options) => {
        await bank.database.transaction(work, options);
        throw new Error("ended after the commit");
      },
    };
    await expect(readNow(dying)).rejects.toThrow("ended");
    // Both find the file; one of them finds it gone when it moves it.
    expect(await Promise.all([readNow(), readNow()])).toEqual([[], []]);
    expect(await readdir(join(inbox, "done"))).toHaveLength(1);
    expect(await listAnswers()).toHaveLength(1);
    expect(await listCredits()).toHaveLength(1);
  });

  it("a statement of thousands of lines is recorded whole or not at all", async () => {
    const lines = Array.from({ length: 1_200 }, (_, at) =>
      entry({ amount: "0.01", credit: true, reference: `R${at}` }),
    );
    const text = statement(lines);
    await receive("a.xml", text.replace("</Stmt>", "<Bad></Stmt>"));
    expect(await readNow()).toHaveLength(1);
    expect(await listCredits()).toEqual([]);
    await readAll(text);
    const [row] = await bank.database.query<{ count: number }>(
      "select count(*)::integer as count from bank_lines",
    );
    expect(row).toEqual({ count: 1_200 });
  });
});
