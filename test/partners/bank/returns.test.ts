import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { describeItems, listBankItems } from "../../../src/cli/banks/list-items.ts";
import { updateOldDetails } from "../../../src/partners/bank/file-bank/old-details-store.ts";
import {
  countOpenItems,
  listOpenLines,
} from "../../../src/partners/bank/file-bank/open-item-store.ts";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import { listHandReturns } from "../../../src/partners/bank/file-bank/returns/return-store.ts";
import {
  type Found,
  readItemId,
  settleItem,
} from "../../../src/partners/bank/file-bank/settle-item.ts";
import {
  AFTER_FIRST,
  achAccount,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { loadSchema } from "./iso-schemas.ts";

const validate = loadSchema("pain.001.001.09");
let bank: FileBankFixture;
let [inbox, outbox] = ["", ""];
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [
    bankAccount(join(folder, "out")),
    achAccount(join(folder, "out")),
  ]);
  [inbox, outbox] = [join(bank.folder, "in"), join(bank.folder, "out")];
});
afterAll(() => bank.close());
beforeEach(async () => {
  await bank.clear();
  for (const folder of [inbox, outbox]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  }
});

const settleNow = (item: NonNullable<ReturnType<typeof readItemId>>, found: Found) =>
  bank.database.transaction((tx) => settleItem(tx, bank.deps.index_key, item, found, AFTER_FIRST));

const PAYER =
  "<RltdPties><Dbtr><Pty><Nm>Jörg Sender</Nm></Pty></Dbtr>" +
  "<DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct></RltdPties>";

const WIRE_PAYER =
  "<RltdPties><Dbtr><Pty><Nm>Jane Sender</Nm></Pty></Dbtr><DbtrAcct><Id><Othr><Id>0012345678</Id>" +
  "</Othr></Id></DbtrAcct></RltdPties><RltdAgts><DbtrAgt><FinInstnId><ClrSysMmbId><ClrSysId>" +
  "<Cd>USABA</Cd></ClrSysId><MmbId>011401533</MmbId></ClrSysMmbId></FinInstnId></DbtrAgt></RltdAgts>";

function statement(lines: string, account = "<IBAN>LT069999900000012345</IBAN>"): string {
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>` +
    `<Id>S1</Id><Acct><Id>${account}</Id></Acct>${lines}</Stmt></BkToCstmrStmt></Document>`
  );
}

function line(sign: "CRDT" | "DBIT", amount: string, details: string): string {
  return (
    `<Ntry><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>${sign}</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>` +
    `<BookgDt><Dt>2026-11-16</Dt></BookgDt><NtryDtls><TxDtls>${details}</TxDtls></NtryDtls></Ntry>`
  );
}

/** A wire that names its payer's account and bank. */
const DOLLARS = statement(
  line("CRDT", "50.00", WIRE_PAYER).replace("EUR", "USD"),
  "<Othr><Id>9900012345</Id></Othr>",
);

async function receive(name: string, xml: string): Promise<void> {
  await writeFile(join(inbox, name), xml);
  await utimes(join(inbox, name), MORNING, MORNING);
  expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
}

const receiveLines = (...lines: string[]) => receive("a.xml", statement(lines.join("")));

async function deposit(details: string) {
  await receiveLines(line("CRDT", "50.00", details));
  const [credit] = (await bank.bankOf().listCredits(null, 10)).credits;
  return { ...credit!, key: "deposit:1:0" };
}

async function readOutbox(): Promise<string[]> {
  const names = (await readdir(outbox)).sort();
  return Promise.all(names.map((name) => readFile(join(outbox, name), "utf8")));
}

const idIn = (xml: string) => /<EndToEndId>(\w+)</.exec(xml)![1]!;
const refs = (id: string) => `<Refs><EndToEndId>${id}</EndToEndId></Refs>`;

it("a deposit goes back to its payer's account by file, once, and is booked by the statement", async () => {
  const request = await deposit(PAYER);
  const ask = () => bank.bankOf().returnCredit(request);
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(["pending", "pending", "pending"]);
  await bank.run(AFTER_FIRST);
  const [xml, ...more] = await readOutbox();
  expect(more).toEqual([]);
  expect(xml).toContain("<NbOfTxs>1</NbOfTxs><CtrlSum>50.00</CtrlSum>");
  expect(xml).toContain("<Nm>Joerg Sender</Nm>");
  expect(xml).toContain("<IBAN>DE89370400440532013000</IBAN>");
  expect(xml).toContain("<Ustrd>Return of your payment ");
  expect(validate?.(xml!) ?? []).toEqual([]);
  expect(await ask()).toBe("pending");
  await receiveLines(line("DBIT", "50.00", refs(idIn(xml!))));
  expect(await ask()).toBe("booked");
  // It is no answer to a payout.
  expect((await bank.bankOf().listAnswers(null, 10)).answers).toEqual([]);
  await receiveLines(line("CRDT", "50.00", refs(idIn(xml!))));
  expect(await countOpenItems(bank.database)).toMatchObject({ lines: 1 });
  expect((await bank.bankOf().listCredits(null, 10)).credits).toHaveLength(1);
});

it("one that came back after it was booked becomes a deposit again, by a person's word", async () => {
  const request = await deposit(PAYER);
  const ask = () => bank.bankOf().returnCredit(request);
  await ask();
  await bank.run(AFTER_FIRST);
  const [xml] = await readOutbox();
  const { cursor } = await bank.bankOf().listCredits(null, 10);
  // The bank keeps a fee, and leaves the parties as they were.
  const why = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>";
  const ours =
    "<RltdPties><Dbtr><Pty><Nm>Sample Ramp</Nm></Pty></Dbtr><DbtrAcct><Id>" +
    "<IBAN>LT069999900000012345</IBAN></Id></DbtrAcct></RltdPties>";
  await receiveLines(line("CRDT", "49.00", refs(idIn(xml!)) + ours + why));
  // A later line moves the reader of credits on.
  await receiveLines(line("CRDT", "1.00", PAYER));
  const read = await bank.bankOf().listCredits(cursor, 10);
  expect(read.credits).toMatchObject([{ amount: 100n }]);
  const [open] = await listOpenLines(bank.database, 10);
  expect(open!.problem).toContain("Settle it with --deposit");
  const settleAs = (found: Found) => settleNow(readItemId(`line-${open!.number}`)!, found);
  expect(await settleAs("deposit")).toContain("booked");
  await receiveLines(line("DBIT", "50.00", refs(idIn(xml!))));
  expect(await ask()).toBe("booked");
  expect(await settleAs("deposit")).toMatchObject({ answers: [] });
  expect(await settleAs("deposit")).toBe("There is no such open item.");
  expect(await countOpenItems(bank.database)).toMatchObject({ lines: 0 });
  const { credits } = await bank.bankOf().listCredits(read.cursor, 10);
  expect(credits).toMatchObject([{ bank_account: "main-eur", amount: 4_900n, currency: "eur" }]);
  // To send it back again, a person needs another account: ours is no payer's.
  const again = { ...credits[0]!, key: "deposit:3:0" };
  expect(await bank.bankOf().returnCredit(again)).toBe("pending");
  expect(await listHandReturns(bank.database, 10)).toMatchObject([
    { amount: 4_900n, problem: expect.stringContaining("ask its payer for another account") },
  ]);
});

it("what left, or has no date, is no deposit", async () => {
  const undated = line("CRDT", "2.00", PAYER).replace(/<BookgDt>.*<\/BookgDt>/, "");
  await receiveLines(line("DBIT", "3.00", ""), undated);
  const open = await listOpenLines(bank.database, 10);
  expect(open).toHaveLength(2);
  for (const { number } of open) {
    const item = readItemId(`line-${number}`)!;
    expect(await settleNow(item, "deposit")).toMatch(/Only a credit can be a deposit|no date/);
  }
});

it("a return that the bank rejects is refused", async () => {
  const request = await deposit(PAYER);
  await bank.bankOf().returnCredit(request);
  await bank.run(AFTER_FIRST);
  const [xml] = await readOutbox();
  const rejected =
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>` +
    `<OrgnlGrpInfAndSts><OrgnlMsgId>${/<MsgId>(\w+)</.exec(xml!)![1]}</OrgnlMsgId>` +
    `</OrgnlGrpInfAndSts><OrgnlPmtInfAndSts><TxInfAndSts><OrgnlEndToEndId>${idIn(xml!)}</OrgnlEndToEndId>` +
    `<TxSts>RJCT</TxSts></TxInfAndSts></OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`;
  await writeFile(join(inbox, "b.xml"), rejected);
  await utimes(join(inbox, "b.xml"), MORNING, MORNING);
  expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
  expect(await bank.bankOf().returnCredit(request)).toBe("refused");
});

it("one that came by wire or ACH is returned by the bank, at the request of a person", async () => {
  await receive("a.xml", DOLLARS);
  const [credit] = (await bank.bankOf().listCredits(null, 10)).credits;
  const request = { ...credit!, key: "deposit:2:0" };
  expect(request).toMatchObject({ bank_account: "main-usd", amount: 5_000n, currency: "usd" });
  expect(await bank.bankOf().returnCredit(request)).toBe("pending");
  await bank.run(AFTER_FIRST);
  expect(await readOutbox()).toEqual([]);
  const items = await listBankItems(bank.deps as never, { inbox } as never);
  const [told, ...more] = describeItems(items);
  expect(more).toEqual([]);
  expect(told).toContain("Ask the bank to return the wire, ACH credit or transfer.");
  const [, id] = /sliproad banks settle (return-\d+) --reason/.exec(told!)!;
  const item = readItemId(id!)!;
  expect(await settleNow(item, null)).toMatchObject({ answers: [] });
  expect(await bank.bankOf().returnCredit(request)).toBe("booked");
});

it("one whose payer was deleted after the legal period is sent back by a person", async () => {
  const request = await deposit(PAYER);
  expect(await updateOldDetails(bank.database, new Date("2026-11-16"), 10)).toBe(0);
  expect(await updateOldDetails(bank.database, new Date("2026-11-17"), 10)).toBe(1);
  const { credits } = await bank.bankOf().listCredits(null, 10);
  expect(credits).toMatchObject([{ amount: 5_000n, text: "", payer_name: "" }]);
  expect(await bank.bankOf().returnCredit(request)).toBe("pending");
  const [item] = await listHandReturns(bank.database, 10);
  expect(item!.problem).toContain("deleted after the legal period");
});

it("one whose payer's account is not known is sent back by a person, who says so", async () => {
  const request = await deposit("<RltdPties><Dbtr><Pty><Nm>Jane</Nm></Pty></Dbtr></RltdPties>");
  const ask = () => bank.bankOf().returnCredit(request);
  const other = { ...request, key: "bank_exception:1:0", bank_account: null };
  expect([await ask(), await ask()]).toEqual(["pending", "pending"]);
  expect(await bank.bankOf().returnCredit(other)).toBe("pending");
  await bank.run(AFTER_FIRST);
  expect(await readOutbox()).toEqual([]);
  const [item, ...more] = await listHandReturns(bank.database, 10);
  expect([item, ...more]).toMatchObject([
    { amount: 5_000n, problem: "The bank did not say from which account it came." },
    { problem: "It is not known which line of a statement it came with." },
  ]);
  const id = readItemId(`return-${item!.number}`)!;
  const settle = () => settleNow(id, null);
  expect(await settle()).toMatchObject({ answers: [] });
  expect(await settle()).toBe("There is no such open item.");
  expect(await ask()).toBe("booked");
});
