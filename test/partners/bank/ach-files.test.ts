import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  CORRECTION_DETAILS,
  type CorrectionDetails,
} from "../../../src/partners/bank/file-bank/ach/apply-ach-items.ts";
import { shortId } from "../../../src/partners/bank/file-bank/ach/credit-of.ts";
import type { AchOrigination } from "../../../src/partners/bank/file-bank/model.ts";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import { explainReasons } from "../../../src/partners/bank/reasons/explain-reason.ts";
import { dyingAt, isCrash } from "./dying-database.ts";
import {
  ACH_PAYEE,
  AFTER_FIRST,
  AFTER_SECOND,
  achAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { achReport, type ReportedEntry } from "./sample-ach.ts";
import { closeAll, writeAllFiles } from "./write-all.ts";

let bank: FileBankFixture;
let outbox: string;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [achAccount(join(folder, "out"))]);
  [outbox, inbox] = [join(bank.folder, "out"), join(bank.folder, "in")];
});
afterAll(() => bank.close());
beforeEach(async () => {
  await bank.clear();
  originate({ offset: null, is_booked_by_sum: false });
  for (const folder of [outbox, inbox]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  }
});

/** Changes the terms of the account's NACHA files. */
function originate(change: Partial<AchOrigination>): void {
  const [route] = bank.deps.accounts[0]!.routes;
  if (route?.scheme !== "ach") throw new Error("no such route");
  Object.assign(route.origination, change);
}

const payee = (change: object) => ({ beneficiary: { ...ACH_PAYEE.beneficiary, ...change } });
const payment = (change: Partial<Instruction> = {}) =>
  bank.instruction({ ...ACH_PAYEE, ...change });

async function pay(...changes: Partial<Instruction>[]): Promise<Instruction[]> {
  const payments = changes.map(payment);
  await bank.submit(...payments);
  await bank.run(AFTER_FIRST);
  return payments;
}

async function readOutbox(): Promise<string[][]> {
  const names = (await readdir(outbox)).filter((name) => !name.startsWith(".")).sort();
  expect(names.filter((name) => !name.endsWith(".ach"))).toEqual([]);
  const texts = await Promise.all(names.map((name) => readFile(join(outbox, name), "latin1")));
  return texts.map((text) => text.split("\n").slice(0, -1));
}

const entriesOf = (lines: readonly string[]) => lines.filter((line) => line.startsWith("6"));
const idsOf = (lines: readonly string[]) => entriesOf(lines).map((line) => line.slice(39, 54));
const tracesOf = (lines: readonly string[]) => entriesOf(lines).map((line) => line.slice(79, 94));

async function receive(name: string, text: string): Promise<void> {
  await writeFile(join(inbox, name), text);
  await utimes(join(inbox, name), MORNING, MORNING);
}

async function readAll(...texts: string[]): Promise<void> {
  for (const [at, text] of texts.entries()) await receive(`${at}.txt`, text);
  expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
}

const listAnswers = async () => (await bank.bankOf().listAnswers(null, 1_000)).answers;
const listUnmatched = () =>
  bank.database.query(
    `select problem from bank_lines where state = 'unmatched'
     union all select problem from bank_unmatched_statuses`,
  );

/** The entry of a file as the payee's bank sends it back. */
function back(lines: readonly string[], at: number, change: Partial<ReportedEntry> = {}) {
  const line = entriesOf(lines)[at]!;
  return {
    ...{ amount: BigInt(line.slice(29, 39)), id: line.slice(39, 54), account: "0012345678" },
    ...{ original_trace: line.slice(79, 94), code: "R03", ...change },
  };
}

describe("ACH payouts", () => {
  it("are in one NACHA file per window: persons by PPD, companies by CCD, traces ascending", async () => {
    const company = payee({ beneficiary_type: "business", account_type: "savings" });
    const payments = await pay({}, company, { amount: 1n });
    const [lines] = await readOutbox();
    expect(lines!.map((line) => line.slice(0, 4))).toEqual([
      ...["101 ", "5220", "6220", "6220", "8220", "5220", "6320", "8220", "9000", "9999"],
    ]);
    expect([lines![1]!.slice(50, 53), lines![5]!.slice(50, 53)]).toEqual(["PPD", "CCD"]);
    // 16 November is a Monday; the effective date is the next banking day.
    expect(lines![1]!.slice(69, 75)).toBe("261117");
    expect(idsOf(lines!)).toEqual([0, 2, 1].map((at) => shortId(payments[at]!.end_to_end_id)));
    expect(tracesOf(lines!)).toEqual([1, 2, 3].map((last) => `02100002000000${last}`));
    expect(lines![0]!.slice(23, 34)).toBe("2611161200A");
  });

  it("traces go on in the next file, and files of a day differ in their modifier", async () => {
    await pay({});
    bank.state.now = AFTER_FIRST;
    await bank.submit(payment());
    await bank.run(AFTER_SECOND);
    const files = await readOutbox();
    expect(files.flatMap(tracesOf).toSorted()).toEqual(["021000020000001", "021000020000002"]);
    expect(files.map((lines) => lines[0]![33]).toSorted()).toEqual(["A", "B"]);
  });

  it("traces begin anew after the last one, and a return names the later payment", async () => {
    await bank.database.query("insert into bank_traces values ('02100002', 0)");
    const [first] = await pay({});
    await bank.database.query("update bank_traces set last_sequence = 9999999");
    bank.state.now = AFTER_FIRST;
    const later = payment();
    await bank.submit(later);
    await bank.run(AFTER_SECOND);
    const files = await readOutbox();
    expect(files.flatMap(tracesOf)).toEqual(["021000020000001", "021000020000001"]);
    const entry = { ...back(files[0]!, 0), id: "" };
    await readAll(achReport("PPD", [entry]));
    const [answer] = await listAnswers();
    expect(answer!.end_to_end_id).toBe(later.end_to_end_id);
    expect(answer!.end_to_end_id).not.toBe(first!.end_to_end_id);
  });

  it("a balanced file debits our account, in as many batches as its amount field needs", async () => {
    const account = { routing_number: "021000021", account_number: "9900012345" };
    originate({ offset: { ...account, account_type: "checking", name: "SAMPLE RAMP" } });
    await pay({ amount: 9_999_999_999n }, { amount: 5n }, { amount: 6n });
    const [lines] = await readOutbox();
    const debits = entriesOf(lines!).filter((line) => line.startsWith("627"));
    expect(debits.map((line) => line.slice(29, 39))).toEqual(["9999999999", "0000000011"]);
    expect(tracesOf(lines!).map((trace) => Number(trace.slice(-7)))).toEqual([1, 2, 3, 4, 5]);
    expect(lines!.filter((line) => line.startsWith("8200"))).toHaveLength(2);
  });

  it("one that no file can carry is rejected at once, with the reason", async () => {
    originate({});
    const [route] = bank.deps.accounts[0]!.routes;
    const wrong = [
      payment(payee({ routing_number: "011401534" })),
      payment(payee({ account_number: "123456789012345678" })),
      payment(payee({ account_name: "..." })),
      payment({ amount: 10_000_000_000n }),
    ];
    await bank.submit(...wrong);
    route!.schedule.lead_days = 0;
    const too_large = payment({ amount: 100_000_001n });
    await bank.submit(too_large, payment({ amount: 100_000_000n }));
    route!.schedule.lead_days = 1;
    expect(await listAnswers()).toMatchObject(
      [...wrong, too_large].map(({ end_to_end_id }, at) => ({
        ...{ end_to_end_id, kind: "rejected" },
        reasons: [{ code: ["RC01", "AC01", "BE22", "AM02", "AM02"][at] }],
      })),
    );
  });

  for (const moment of ["before", "after"] as const) {
    it(`a process that dies ${moment} any call of the database: each payment is in one file, once`, async () => {
      let has_died = true;
      const traces: string[] = [];
      for (let calls = 1; has_died; calls += 1) {
        await bank.database.query(
          "truncate bank_files, bank_payments, bank_file_answers, bank_ach_batches, bank_corrections",
        );
        const payments = [payment(), payment(payee({ beneficiary_type: "business" })), payment()];
        const dying = dyingAt(bank.database, calls, moment);
        const taken: string[][] = [];
        /** The bank empties the directory whenever it looks. */
        const take = async () => {
          taken.push(...(await readOutbox()));
          for (const name of await readdir(outbox)) {
            if (!name.startsWith(".")) await rm(join(outbox, name));
          }
        };
        has_died = await bank
          .bankOf(dying)
          .submit(payments)
          .then(() => bank.run(AFTER_FIRST, dying))
          .then(() => false, isCrash);
        await take();
        await bank.submit(...payments);
        for (let run = 0; run < 2; run += 1) {
          await bank.run(AFTER_FIRST);
          await take();
        }
        const ids = payments.map(({ end_to_end_id }) => shortId(end_to_end_id));
        expect(taken.flatMap(idsOf).toSorted()).toEqual(ids.toSorted());
        traces.push(...taken.flatMap(tracesOf));
      }
      expect(new Set(traces).size).toBe(traces.length);
      expect(traces.length).toBeGreaterThan(30);
    });
  }

  it("a file is rendered to the same bytes again", async () => {
    await bank.submit(payment(), payment());
    await closeAll(bank.deps, AFTER_FIRST);
    const before = { ...bank.deps.accounts[0]!, outbox: join(bank.folder, "absent") };
    await expect(
      writeAllFiles({ ...bank.deps, accounts: [before] }, AFTER_FIRST),
    ).rejects.toThrow();
    await bank.run(AFTER_SECOND);
    const [lines] = await readOutbox();
    expect(lines![0]!.slice(23, 33)).toBe("2611161200");
    expect(tracesOf(lines!)).toEqual(["021000020000001", "021000020000002"]);
  });
});

describe("what NACHA files say about payouts", () => {
  it("a return answers its payment once, in any file, with a reason that decides on a re-route", async () => {
    const payments = await pay({}, {}, {});
    const [lines] = await readOutbox();
    const codes = ["R03", "R16", "R85"];
    const entries = codes.map((code, at) => back(lines!, at, { code }));
    const report = achReport("PPD", entries);
    await readAll(report, achReport("PPD", entries.toReversed()), `${report}\n`);
    const answers = await listAnswers();
    expect(answers).toMatchObject(
      payments.map(({ end_to_end_id, amount }, at) => ({
        ...{ end_to_end_id, kind: "returned", amount, currency: "usd", uetr: null },
        ...{ trace_number: tracesOf(lines!)[at], reasons: [{ code: codes[at] }] },
      })),
    );
    expect(answers.map(({ reasons }) => explainReasons(reasons).is_reroute_sensible)).toEqual([
      ...[true, false, false],
    ]);
    expect(explainReasons(answers[0]!.reasons).because).toContain("no such account");
    expect(await listUnmatched()).toEqual([]);
  });

  it("one whose trace was numbered anew is known by our id and its amount", async () => {
    const [sent] = await pay({});
    const [lines] = await readOutbox();
    await readAll(achReport("PPD", [back(lines!, 0, { original_trace: "999999990000001" })]));
    expect(await listAnswers()).toMatchObject([{ end_to_end_id: sent!.end_to_end_id }]);
  });

  it("a return of another amount, of a debit, of a dispute and of nobody are for a person", async () => {
    await pay({}, {});
    const [lines] = await readOutbox();
    await readAll(
      achReport("PPD", [
        back(lines!, 0, { amount: 1n }),
        back(lines!, 0, { transaction_code: "26" }),
        back(lines!, 0, { code: "R68" }),
        back(lines!, 0, { original_trace: tracesOf(lines!)[1]! }),
        { ...back(lines!, 0), id: "SOMEBODY", original_trace: "123456780000001" },
      ]),
    );
    expect(await listAnswers()).toEqual([]);
    const nobody = { problem: "No payment of ours has its trace or id, and its amount." };
    expect(await listUnmatched()).toEqual([
      nobody,
      { problem: "A debit came back, and payouts are credits." },
      { problem: "The banks dispute a return." },
      { problem: "Its trace and its id belong to two payments." },
      nobody,
    ]);
  });

  it("a return of another company with our trace, and one without addendum, are for a person", async () => {
    await pay({});
    const [lines] = await readOutbox();
    const foreign = { ...back(lines!, 0), id: "SOMEBODY" };
    await readAll(
      achReport("PPD", [foreign]).replaceAll("1234567890PPD", "9876543210PPD"),
      achReport("PPD", [back(lines!, 0, { code: null })]),
    );
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      { problem: "It has a trace of ours, but is another company's." },
      { problem: "A return that does not say why." },
    ]);
    // With our id it is our payment, whatever company the bank writes.
    const named = achReport("PPD", [back(lines!, 0)]);
    await readAll(named.replaceAll("1234567890PPD", "9876543210PPD"));
    expect(await listAnswers()).toMatchObject([{ kind: "returned" }]);
  });

  it("a return whose reason is no code is for a person, and one with a newer code counts", async () => {
    await pay({});
    const [lines] = await readOutbox();
    await readAll(achReport("PPD", [back(lines!, 0, { code: "ZZZ" })]));
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toMatchObject([{ problem: expect.stringContaining("no code") }]);
    await readAll(achReport("PPD", [back(lines!, 0, { code: "R97" })]));
    expect(await listAnswers()).toMatchObject([{ kind: "returned", reasons: [{ code: "R97" }] }]);
  });

  it("an entry that ACH refused is rejected", async () => {
    const [sent] = await pay({});
    const [lines] = await readOutbox();
    const entry = back(lines!, 0, { code: null, trace: "REJ040211234567" });
    await readAll(achReport("PPD", [entry]));
    expect(await listAnswers()).toMatchObject([
      { end_to_end_id: sent!.end_to_end_id, kind: "rejected", reasons: [{ code: "REJ04021" }] },
    ]);
  });

  it("a notification of change is kept as a suggestion, encrypted, and changes nothing", async () => {
    const [sent] = await pay({});
    const [lines] = await readOutbox();
    const change = back(lines!, 0, { code: "C01", amount: 0n, data: "0087654321" });
    const report = achReport("COR", [change]);
    await readAll(report, `${report}\n`);
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([]);
    const rows = await bank.database.query<{ code: string; details: Buffer; state: string }>(
      "select code, details, state from bank_corrections",
    );
    expect(rows).toMatchObject([{ code: "C01", state: "open" }]);
    expect(rows[0]!.details.toString("latin1")).not.toContain("0087654321");
    const key = await bank.deps.keyring.openAccount(bank.database, bank.account_id);
    const record = { account_id: bank.account_id, id: `${sent!.end_to_end_id} C01` };
    expect(CORRECTION_DETAILS.open(key, record, rows[0]!.details)).toEqual({
      corrected: { account_number: "0087654321" },
      text: "0087654321",
    } satisfies CorrectionDetails);
  });

  it("a copy of our own file says nothing new", async () => {
    await pay({}, {});
    const [lines] = await readOutbox();
    await readAll(`${lines!.join("\r\n")}\r\n`);
    expect([await listAnswers(), await listUnmatched()]).toEqual([[], []]);
  });

  it("a file that is cut off is set aside and counts for nothing", async () => {
    await pay({}, {});
    const [lines] = await readOutbox();
    const report = achReport("PPD", [back(lines!, 0), back(lines!, 1)]);
    await receive("a.txt", report.split("\n").slice(0, 6).join("\n"));
    expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toMatchObject([
      { name: "a.txt", problem: "The file is cut off." },
    ]);
    expect(await listAnswers()).toEqual([]);
  });
});

function statement(...entries: string[]): string {
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>` +
    `<Id>S1</Id><Acct><Id><Othr><Id>9900012345</Id></Othr></Id></Acct>${entries.join("")}` +
    `</Stmt></BkToCstmrStmt></Document>`
  );
}

type Line = { amount: string; credit?: boolean; text?: string; refs?: string; date?: string };

function line({ amount, credit, text = "", refs = "", date = "2026-11-17" }: Line): string {
  return (
    `<Ntry><Amt Ccy="USD">${amount}</Amt><CdtDbtInd>${credit ? "CRDT" : "DBIT"}</CdtDbtInd>` +
    `<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${date}</Dt></BookgDt><NtryDtls><TxDtls>` +
    `<Refs>${refs}</Refs></TxDtls></NtryDtls><AddtlNtryInf>${text}</AddtlNtryInf></Ntry>`
  );
}

describe("lines of an account that pays by ACH", () => {
  it("are known by the trace or our id, wherever the bank repeats it", async () => {
    const payments = await pay({}, {}, {});
    const [lines] = await readOutbox();
    const [first, second] = tracesOf(lines!);
    await readAll(
      statement(
        line({ amount: "123.45", text: `ACH CREDIT TRACE# ${first} SAMPLE RAMP` }),
        line({ amount: "123.45", refs: `<TxId>${second}</TxId>` }),
        line({ amount: "123.45", refs: `<EndToEndId>${idsOf(lines!)[2]}</EndToEndId>` }),
      ),
    );
    expect(await listAnswers()).toMatchObject(
      payments.map(({ end_to_end_id }, at) => ({
        ...{ end_to_end_id, kind: "booked", trace_number: tracesOf(lines!)[at] },
      })),
    );
  });

  it("a text that names another payment does not hide the one that the bank names", async () => {
    const [, second] = await pay({}, {});
    const [lines] = await readOutbox();
    const refs = `<EndToEndId>${idsOf(lines!)[1]}</EndToEndId>`;
    await readAll(
      statement(line({ amount: "123.45", refs, text: `Invoice ${tracesOf(lines!)[0]}` })),
    );
    const { end_to_end_id } = second!;
    expect(await listAnswers()).toMatchObject([{ end_to_end_id, kind: "booked" }]);
  });

  it("a return in a NACHA file and its line in the statement are one return", async () => {
    await pay({});
    const [lines] = await readOutbox();
    const text = `RETURN ${tracesOf(lines!)[0]}`;
    await readAll(
      achReport("PPD", [back(lines!, 0)]),
      statement(line({ amount: "123.45", credit: true, text })),
    );
    expect(await listAnswers()).toHaveLength(1);
    expect((await bank.bankOf().listCredits(null, 10)).credits).toEqual([]);
  });

  it("a part of an ACH payment is no return of it: ACH returns whole payments", async () => {
    await pay({});
    const [lines] = await readOutbox();
    const back = `<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>`;
    const text = `RETURN ${tracesOf(lines!)[0]}`;
    const partial = line({ amount: "122.22", credit: true, text });
    await readAll(statement(partial.replace("</TxDtls>", `${back}</TxDtls>`)));
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      { problem: expect.stringContaining("ACH returns a payment whole") },
    ]);
  });

  it("a return without an id is no deposit, whatever code the payee's name has", async () => {
    await pay({});
    const [lines] = await readOutbox();
    const texts = ["ACH RETURN R03 ABCD EFGH JKMN", "Rtn item ABCDEFGHJKMN", "WIRE ABCDEFGHJKMN"];
    const [first, second, third] = texts.map((text) => ({ amount: "123.45", credit: true, text }));
    await readAll(
      achReport("PPD", [back(lines!, 0)]),
      statement(line(first!), line(second!), line({ ...third!, amount: "123.46" })),
    );
    expect(await listAnswers()).toMatchObject([{ kind: "returned" }]);
    expect((await bank.bankOf().listCredits(null, 10)).credits).toMatchObject([{ text: texts[2] }]);
    const problem = expect.stringMatching(/^This may be an ACH payment that came back/);
    expect(await listUnmatched()).toEqual([{ problem }, { problem }]);
  });

  it("a payee whose name is the trace or id of another payment is not paid", async () => {
    const names = ["021000020000001", "Pay SR0123456789ABC", "Sriramachandran 7"];
    const payments = await pay(...names.map((account_name) => payee({ account_name })));
    expect(await listAnswers()).toMatchObject(
      payments.slice(0, 2).map(({ end_to_end_id }) => ({
        ...{ end_to_end_id, kind: "rejected", reasons: [{ code: "BE22" }] },
      })),
    );
  });

  it("a file or batch that is booked as one sum is answered where the bank is known to do so", async () => {
    originate({ is_booked_by_sum: true });
    const company = payee({ beneficiary_type: "business" });
    const payments = await pay({ amount: 100n }, { amount: 250n }, { ...company, amount: 7n });
    await readAll(statement(line({ amount: "3.50" }), line({ amount: "0.07" })));
    expect(await listAnswers()).toMatchObject(
      payments.map(({ end_to_end_id, amount }) => ({ end_to_end_id, kind: "booked", amount })),
    );
  });

  it("two files with the same sum, another day and other banks are a suggestion for a person", async () => {
    await pay({ amount: 100n });
    await readAll(
      statement(line({ amount: "1.00" }), line({ amount: "1.00", date: "2026-12-24" })),
    );
    originate({ is_booked_by_sum: true });
    bank.state.now = AFTER_FIRST;
    await bank.submit(payment({ amount: 100n }));
    await bank.run(AFTER_SECOND);
    await readAll(statement(line({ amount: "1.00", text: "again" })));
    expect(await listAnswers()).toEqual([]);
    const nothing = "No payment of ours was booked here.";
    expect(await listUnmatched()).toEqual([
      { problem: expect.stringMatching(`${nothing} Its amount is the sum of batch 1 of \\w+\\.`) },
      { problem: nothing },
      { problem: expect.stringMatching(/the sum of batch 1 of \w+, and of batch 1 of \w+\.$/) },
    ]);
  });
});
