import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { shortId } from "../../../src/partners/bank/file-bank/ach/credit-of.ts";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
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
import { entry, statement } from "./report-texts.ts";

// A payment that a bank booked before it is submitted here: the database was restored, or somebody
// else wrote its id into a debit.

let bank: FileBankFixture;
let inbox: string;
let outbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [
    bankAccount(join(folder, "out")),
    achAccount(join(folder, "out")),
  ]);
  outbox = join(bank.folder, "out");
});
afterAll(() => bank.close());
beforeEach(async () => {
  inbox = await bank.clearInbox();
  await rm(outbox, { recursive: true, force: true });
  await mkdir(outbox);
});

async function read(text: string): Promise<void> {
  const path = join(inbox, "0.xml");
  await writeFile(path, text);
  await utimes(path, MORNING, MORNING);
  expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
}

const listAnswers = async () => (await bank.bankOf().listAnswers(null, 100)).answers;

/** Submits a payment; whether a file that the bank gets has it. */
async function isPaid(payment: Instruction): Promise<boolean> {
  await bank.submit(payment);
  await bank.run(AFTER_FIRST);
  const names = await readdir(outbox);
  const texts = await Promise.all(names.map((name) => readFile(join(outbox, name), "latin1")));
  const ids = [payment.end_to_end_id, shortId(payment.end_to_end_id)];
  return texts.some((text) => ids.some((id) => text.includes(id)));
}

const codeOf = (family: string) =>
  `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>ESDD</SubFmlyCd></Fmly>` +
  "</Domn></BkTxCd>";

it("a booking that names the payment answers it, and so does its return", async () => {
  const payment = bank.instruction({ recorded_at: new Date("2026-11-16T06:00:00Z") });
  const id = payment.end_to_end_id;
  const details = "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>";
  await read(
    statement([
      entry({ amount: "123.45", id }),
      entry({ amount: "120.00", credit: true, id, details }),
    ]),
  );
  expect(await isPaid(payment)).toBe(false);
  expect(await listAnswers()).toMatchObject([
    { kind: "booked", end_to_end_id: id, amount: 12_345n, bank_account: "main-eur" },
    { kind: "returned", end_to_end_id: id, amount: 12_000n },
  ]);
});

it("a direct debit with its id is no booking of it", async () => {
  const payment = bank.instruction();
  const line = entry({ amount: "123.45", id: payment.end_to_end_id });
  await read(statement([line.replace("<BkTxCd/>", codeOf("RDDT"))]));
  expect(await isPaid(payment)).toBe(true);
  expect(await listAnswers()).toEqual([]);
});

it("a debit of a day before the record existed is no booking of it", async () => {
  const payment = bank.instruction({ recorded_at: MORNING });
  await read(
    statement([entry({ amount: "123.45", id: payment.end_to_end_id, day: "2026-11-14" })]),
  );
  expect(await isPaid(payment)).toBe(true);
  expect(await listAnswers()).toEqual([]);
});

it("what a caller wrote into the text of a EUR payment is no booking of an ACH payment", async () => {
  const payment = bank.instruction(ACH_PAYEE);
  const details = `<RmtInf><Ustrd>${shortId(payment.end_to_end_id)}</Ustrd></RmtInf>`;
  await read(statement([entry({ amount: "123.45", details })]));
  expect(await isPaid(payment)).toBe(true);
  expect(await listAnswers()).toEqual([]);
});

it("a debit of another amount or account answers nothing, and the payment waits for a person", async () => {
  const other_amount = bank.instruction();
  const other_account = bank.instruction();
  const usd = { account: "9900012345", id: "S2" };
  await read(statement([entry({ amount: "123.46", id: other_amount.end_to_end_id })]));
  await read(statement([entry({ amount: "123.45", id: other_account.end_to_end_id })], usd));
  for (const payment of [other_amount, other_account]) expect(await isPaid(payment)).toBe(false);
  expect(await listAnswers()).toEqual([]);
});

it("a return that was told twice, or that the bank took back, is answered once or not at all", async () => {
  const payment = bank.instruction();
  const id = payment.end_to_end_id;
  const details = "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>";
  const back = { amount: "60.00", credit: true, id, details, reference: "B2" };
  const other = { ...back, amount: "50.00", reference: "B3" };
  const taken = entry({ amount: "50.00" }).replace("<Sts>", "<RvslInd>true</RvslInd><Sts>");
  await read(
    statement([
      ...[entry({ amount: "123.45", id }), entry(back), entry({ ...back, day: "2026-11-17" })],
      ...[entry(other), taken],
    ]),
  );
  expect(await isPaid(payment)).toBe(false);
  expect((await listAnswers()).map(({ kind, amount }) => [kind, amount])).toEqual([
    ["booked", 12_345n],
    ["returned", 6_000n],
  ]);
});

it.each([
  ["the id", "named_ids = array[$1::text]"],
  ["the id, kind and amount", "named_ids = array[$1::text], kind = 'booked', amount = 12345"],
])("a line of which somebody changed %s in the database answers nothing", async (_, change) => {
  const payment = bank.instruction();
  const is_debit = !change.includes("kind");
  await read(statement([entry({ amount: is_debit ? "123.45" : "1.00", credit: !is_debit })]));
  await bank.database.query(
    `update bank_lines set state = 'unmatched', problem = 'x', ${change} where $1 <> ''`,
    [payment.end_to_end_id],
  );
  expect(await isPaid(payment)).toBe(false);
  expect(await listAnswers()).toEqual([]);
});
