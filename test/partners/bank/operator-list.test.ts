import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readlink, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  countOpenItems,
  listOpenCorrections,
  listOpenLines,
  listOpenStatuses,
  listSetAsideReasons,
} from "../../../src/partners/bank/file-bank/open-item-store.ts";
import {
  listSetAside,
  readInbox,
  retryFile,
} from "../../../src/partners/bank/file-bank/read-inbox.ts";
import {
  type Found,
  readItemId,
  settleItem,
} from "../../../src/partners/bank/file-bank/settle-item.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import {
  ACH_PAYEE,
  AFTER_FIRST,
  achAccount,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { achReport } from "./sample-ach.ts";

let bank: FileBankFixture;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [
    bankAccount(join(folder, "out")),
    achAccount(join(folder, "out")),
  ]);
  inbox = join(bank.folder, "in");
  await mkdir(join(bank.folder, "out"));
});
afterAll(() => bank.close());
beforeEach(async () => {
  await bank.clear();
  await rm(inbox, { recursive: true, force: true });
  await mkdir(inbox);
});

async function pay(...changes: Partial<Instruction>[]): Promise<Instruction[]> {
  const payments = changes.map((change) => bank.instruction(change));
  await bank.submit(...payments);
  await bank.run(AFTER_FIRST);
  return payments;
}

async function receive(name: string, text: string): Promise<void> {
  await writeFile(join(inbox, name), text);
  await utimes(join(inbox, name), MORNING, MORNING);
}

const readNow = () => readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST);

function statement(entries: string, account = "<IBAN>LT069999900000012345</IBAN>"): string {
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>` +
    `<Id>S1</Id><Acct><Id>${account}</Id></Acct>${entries}</Stmt></BkToCstmrStmt></Document>`
  );
}

function line(amount: string, sign: "DBIT" | "CRDT" = "DBIT", details = "", currency = "EUR") {
  return (
    `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${sign}</CdtDbtInd>` +
    `<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-16</Dt></BookgDt>` +
    `<NtryDtls><TxDtls>${details}</TxDtls></NtryDtls></Ntry>`
  );
}

const RETURNED = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>";

async function settle(id: string, found: Found = null): Promise<string | null> {
  const settled = await bank.database.transaction((tx) =>
    settleItem(tx, bank.deps.index_key, readItemId(id)!, found, AFTER_FIRST),
  );
  return typeof settled === "string" ? settled : null;
}

const answers = async () => (await bank.bankOf().listAnswers(null, 100)).answers;
const lineIds = async () =>
  (await listOpenLines(bank.database, 100)).map(({ number }) => `line-${number}`);

/** The files of the inbox that this process has open, where the system says so. */
async function listOpenFiles(): Promise<string[]> {
  if (!existsSync("/proc/self/fd")) return [];
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
  );
  return links.filter((path) => path.startsWith(inbox));
}

// Node ends a process that forgets to close one.
it("no file stays open, also if it cannot be read", async () => {
  await receive("wrong.xml", statement(line("1.005")));
  await receive("empty.xml", "");
  await receive("long.xml", `${statement(line("1.00"))}<!-- ${"x".repeat(300_000)} --><again/>`);
  await receive("wrong.ach", achReport("PPD", []).replace(/^9/m, "7"));
  await receive("good.xml", statement(line("1.00")));
  expect((await readNow()).map(({ name }) => name)).toEqual([
    ...["empty.xml", "long.xml", "wrong.ach", "wrong.xml"],
  ]);
  expect(await listOpenFiles()).toEqual([]);
});

describe("what matches nothing", () => {
  it("stays in the list until it is settled, and is not settled twice", async () => {
    await receive("a.xml", statement(line("3.00") + line("4.00")));
    expect(await readNow()).toEqual([]);
    const [first, second] = await lineIds();
    expect(await settle(first!)).toBeNull();
    expect(await settle(first!)).toBe("There is no such open item.");
    expect(await lineIds()).toEqual([second]);
    // The same line in a later statement does not come back.
    await receive("b.xml", `${statement(line("3.00") + line("4.00"))}\n`);
    expect(await readNow()).toEqual([]);
    expect(await lineIds()).toEqual([second]);
    expect(await countOpenItems(bank.database)).toEqual({
      ...{ lines: 1, statuses: 0, corrections: 0, returns: 0 },
    });
    expect(await answers()).toEqual([]);
  });

  it("a booking or return without an id answers the payment that a person names", async () => {
    const [paid, other] = await pay({}, { amount: 1n });
    await receive("a.xml", statement(line("123.45") + line("100.00", "CRDT", RETURNED)));
    await readNow();
    const [booking, back] = await lineIds();
    expect(await settle(booking!, { payment: other!.end_to_end_id })).toContain("another amount");
    expect(await settle(booking!, { payment: "unknown" })).toBe("There is no such payment.");
    expect(await settle(booking!, { payment: paid!.end_to_end_id })).toBeNull();
    expect(await settle(back!, { payment: paid!.end_to_end_id })).toBeNull();
    const { end_to_end_id } = paid!;
    expect(await answers()).toMatchObject([
      { kind: "booked", end_to_end_id, amount: 12_345n },
      { kind: "returned", end_to_end_id, amount: 10_000n, currency: "eur" },
    ]);
    expect(await lineIds()).toEqual([]);
  });

  it("a sum answers the file or the batch that a person names, if it is the same sum", async () => {
    const company = { beneficiary: { ...ACH_PAYEE.beneficiary, beneficiary_type: "business" } };
    await pay({ ...ACH_PAYEE, amount: 100n }, { ...ACH_PAYEE, ...company, amount: 50n });
    const account = "<Othr><Id>9900012345</Id></Othr>";
    await receive("a.xml", statement(line("1.00", "DBIT", "", "USD"), account));
    await readNow();
    const [booking] = await lineIds();
    const [{ message_id: file }] = (await bank.database.query<{ message_id: string }>(
      "select message_id from bank_files",
    )) as [{ message_id: string }];
    expect(await settle(booking!, { file, batch: null })).toContain("another amount");
    expect(await settle(booking!, { file, batch: 7 })).toContain("There is no file or batch");
    expect(await settle(booking!, { file, batch: 1 })).toBeNull();
    expect(await answers()).toMatchObject([{ kind: "booked", amount: 100n }]);
  });

  it("a payment that waits for its window is answered by nothing", async () => {
    const waiting = bank.instruction();
    await bank.submit(waiting);
    const refs = `<Refs><EndToEndId>${waiting.end_to_end_id}</EndToEndId></Refs>`;
    const rejected =
      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>` +
      `<OrgnlGrpInfAndSts><OrgnlMsgId>M1</OrgnlMsgId></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>` +
      `<OrgnlPmtInfId>M1</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>${waiting.end_to_end_id}` +
      `</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>` +
      `</CstmrPmtStsRpt></Document>`;
    await receive("a.xml", statement(line("123.45", "CRDT", refs) + line("123.45", "DBIT", refs)));
    await receive("b.xml", rejected);
    expect(await readNow()).toEqual([]);
    expect(await answers()).toEqual([]);
    expect(await countOpenItems(bank.database)).toMatchObject({ lines: 2, statuses: 1 });
    const [, booking] = await lineIds();
    const found = { payment: waiting.end_to_end_id };
    expect(await settle(booking!, found)).toContain("in no file that the bank has");
  });

  it("a line of another account of ours that names the payment is for a person", async () => {
    const [paid] = await pay({});
    const refs = `<Refs><EndToEndId>${paid!.end_to_end_id}</EndToEndId></Refs>`;
    const account = "<Othr><Id>9900012345</Id></Othr>";
    await receive("a.xml", statement(line("123.45", "DBIT", refs, "EUR"), account));
    await readNow();
    expect(await answers()).toEqual([]);
    expect(await lineIds()).toHaveLength(1);
  });

  it("a rejection as a duplicate returns the money once a person says that neither was paid", async () => {
    const [paid] = await pay({});
    const rejected =
      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>` +
      `<OrgnlGrpInfAndSts><OrgnlMsgId>M1</OrgnlMsgId></OrgnlGrpInfAndSts><OrgnlPmtInfAndSts>` +
      `<TxInfAndSts><OrgnlEndToEndId>${paid!.end_to_end_id}</OrgnlEndToEndId><TxSts>RJCT</TxSts>` +
      `<StsRsnInf><Rsn><Cd>AM05</Cd></Rsn></StsRsnInf></TxInfAndSts></OrgnlPmtInfAndSts>` +
      `</CstmrPmtStsRpt></Document>`;
    await receive("a.xml", rejected);
    await readNow();
    const [status] = await listOpenStatuses(bank.database, 10);
    expect(await settle(`status-${status!.number}`, { payment: paid!.end_to_end_id })).toBeNull();
    expect(await answers()).toMatchObject([{ kind: "rejected", reasons: [{ code: "AM05" }] }]);
    expect(await listOpenStatuses(bank.database, 10)).toEqual([]);
  });

  it("a correction is settled without any effect", async () => {
    const [paid] = await pay(ACH_PAYEE);
    const [row] = await bank.database.query<{ trace_number: string; short_id: string }>(
      "select trace_number, short_id from bank_payments",
    );
    const entry = { amount: 0n, id: row!.short_id, account: "0012345678", code: "C01" };
    const change = { ...entry, original_trace: row!.trace_number, data: "0087654321" };
    await receive("a.txt", achReport("COR", [change]));
    expect(await readNow()).toEqual([]);
    const [correction] = await listOpenCorrections(bank.database, 10);
    expect(correction!.end_to_end_id).toBe(paid!.end_to_end_id);
    expect(await settle(`correction-${correction!.number}`)).toBeNull();
    expect(await listOpenCorrections(bank.database, 10)).toEqual([]);
    expect(await answers()).toEqual([]);
  });
});

describe("files that were set aside", () => {
  const good = () => statement(line("1.00", "CRDT"));

  it("are read again after repair, and say what is wrong as long as they are not", async () => {
    await receive("a.xml", good().slice(0, -9));
    expect(await readNow()).toMatchObject([{ name: "a.xml" }]);
    const problem = (await listSetAsideReasons(bank.database))[0]!.problem;
    expect(problem).toContain("not well-formed");
    const retry = () => retryFile(bank.deps, inbox, "a.xml", AFTER_FIRST);
    expect(await retry()).toBe(problem);
    await writeFile(join(inbox, "set-aside/a.xml"), good());
    expect(await retry()).toBeNull();
    expect(await retry()).toBeUndefined();
    expect(await listSetAsideReasons(bank.database)).toEqual([]);
    expect((await bank.bankOf().listCredits(null, 10)).credits).toHaveLength(1);
    expect(await readdir(join(inbox, "set-aside"))).toEqual([]);
  });

  it("two of the same name are both kept", async () => {
    await receive("a.xml", "<Document>");
    await readNow();
    await receive("a.xml", "<Other>");
    await readNow();
    const names = await readdir(join(inbox, "set-aside"));
    expect(names).toHaveLength(2);
    const reasons = await listSetAsideReasons(bank.database);
    expect(reasons.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it("links and special files are named and moved, and never followed", async () => {
    const outside = join(bank.folder, "outside.xml");
    await writeFile(outside, good());
    await utimes(outside, MORNING, MORNING);
    await symlink(outside, join(inbox, "link.xml"));
    await symlink(join(bank.folder, "absent"), join(inbox, "nowhere.xml"));
    await promisify(execFile)("mkfifo", [join(inbox, "pipe.xml")]);
    await mkdir(join(inbox, "archive"));
    const names = ["link.xml", "nowhere.xml", "pipe.xml"];
    const problem = expect.stringContaining("a symbolic link or a special file");
    expect(await readNow()).toEqual(names.map((name) => ({ name, problem })));
    expect(await readNow()).toEqual([]);
    expect((await bank.bankOf().listCredits(null, 10)).credits).toEqual([]);
    expect(listSetAside(inbox)).toEqual(names);
    expect(await listSetAsideReasons(bank.database)).toMatchObject(names.map((name) => ({ name })));
    for (const name of names) {
      expect(await retryFile(bank.deps, inbox, name, AFTER_FIRST)).toEqual(problem);
    }
    // The file itself, in place of the link, is read.
    await rm(join(inbox, "set-aside/link.xml"));
    await rename(outside, join(inbox, "set-aside/link.xml"));
    expect(await retryFile(bank.deps, inbox, "link.xml", AFTER_FIRST)).toBeNull();
    expect((await bank.bankOf().listCredits(null, 10)).credits).toHaveLength(1);
  });

  it("a name outside of the directory is no file of it", async () => {
    await writeFile(join(inbox, "b.xml"), good());
    expect(await retryFile(bank.deps, inbox, "../b.xml", AFTER_FIRST)).toBeUndefined();
  });
});
