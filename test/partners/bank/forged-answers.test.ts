import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { listOpenLines } from "../../../src/partners/bank/file-bank/open-item-store.ts";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import { verifyBankAnswers } from "../../../src/verify/verify-bank-payments.ts";
import {
  AFTER_FIRST,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { entry, statement } from "./report-texts.ts";

// Somebody who can write to the database, and does not have the keys.

let bank: FileBankFixture;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture();
});
afterAll(() => bank.close());
beforeEach(async () => {
  inbox = await bank.clearInbox();
});

async function read(...lines: string[]): Promise<void> {
  await writeFile(join(inbox, "a.xml"), statement(lines));
  await utimes(join(inbox, "a.xml"), MORNING, MORNING);
  expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
}

async function payAndBook(count: number): Promise<string[]> {
  const payments = Array.from({ length: count }, () => bank.instruction());
  await bank.submit(...payments);
  await bank.run(AFTER_FIRST);
  const ids = payments.map(({ end_to_end_id }) => end_to_end_id);
  await read(...ids.map((id) => entry({ amount: "123.45", id })));
  return ids;
}

const listAnswers = () => bank.bankOf().listAnswers(null, 100);
const verify = () => verifyBankAnswers(bank.database, bank.deps.index_key, bank.account_id);

it("an answer that was written by SQL is not given to anybody, and is named", async () => {
  const [paid] = await payAndBook(1);
  expect(await verify()).toBeNull();
  await bank.database.query(
    `insert into bank_file_answers (account_id, bank_reference, end_to_end_id, kind, amount,
       currency, reason_codes, bank_account, paid_from, mac)
     select account_id, 'forged', end_to_end_id, 'returned', amount, currency, reason_codes,
       bank_account, paid_from, mac from bank_file_answers`,
  );
  const { answers, cursor } = await listAnswers();
  expect(answers).toMatchObject([{ kind: "booked", end_to_end_id: paid }]);
  // Those that follow are not held up.
  expect((await bank.bankOf().listAnswers(cursor, 100)).answers).toEqual([]);
  expect(await verify()).toMatch(/^answer forged to payment .* was not written by Sliproad$/);
  await bank.database.query("update bank_file_answers set mac = null");
  expect(await verify()).toContain("was not written by Sliproad");
});

it("an answer that was planted is named, wherever its reference sorts", async () => {
  await payAndBook(1);
  for (const reference of ["+", "-1", "00", "~"]) {
    await bank.database.query(
      `insert into bank_file_answers (account_id, bank_reference, end_to_end_id, kind, amount,
         currency, reason_codes, bank_account, paid_from, mac)
       select account_id, $1, end_to_end_id, 'returned', amount, currency, reason_codes,
         bank_account, paid_from, mac from bank_file_answers limit 1`,
      [reference],
    );
    expect(await verify()).toContain("was not written by Sliproad");
    await bank.database.query("delete from bank_file_answers where bank_reference = $1", [
      reference,
    ]);
  }
});

it.each([
  ["kind", "'returned'"],
  ["amount", "amount + 1"],
  ["currency", "'usd'"],
  ["end_to_end_id", "'x'"],
  ["bank_reference", "'x'"],
  ["bank_account", "'x'"],
  ["paid_from", "null"],
  ["reason_codes", "array['AC04']"],
  ["trace_number", "'1'"],
])("an answer whose %s was changed by SQL is not given to anybody", async (column, value) => {
  const [, second] = await payAndBook(2);
  await bank.database.query(
    `update bank_file_answers set ${column} = ${value}
     where number = (select min(number) from bank_file_answers)`,
  );
  expect((await listAnswers()).answers).toMatchObject([{ end_to_end_id: second }]);
  expect(await verify()).toContain("was not written by Sliproad");
});

it.each([
  ["amount", "amount * 100"],
  ["currency", "'usd'"],
  ["booked_on", "booked_on + 1"],
  ["bank_account", "'other'"],
  ["details", "(select details from bank_lines order by number desc limit 1)"],
])("a deposit whose %s was changed by SQL is not credited", async (column, value) => {
  await read(
    ...[1, 2].map((at) =>
      entry({ amount: `${at}.00`, credit: true, reference: `R${at}`, details: "<RmtInf/>" }),
    ),
  );
  const first = "where number = (select min(number) from bank_lines)";
  await bank.database.query(`update bank_lines set ${column} = ${value} ${first}`);
  const { credits } = await bank.bankOf().listCredits(null, 100);
  expect(credits.map(({ amount }) => amount)).toEqual([200n]);
  expect(await listOpenLines(bank.database, 10)).toMatchObject([
    { problem: expect.stringContaining("changed in the database") },
  ]);
});

it.each(["booked", "incoming"])(
  "a debit that SQL calls a credit is not credited, as %s",
  async (kind) => {
    await read(entry({ amount: "5.00", reference: "D1" }), entry({ amount: "6.00", credit: true }));
    await bank.database.query(
      "update bank_lines set state = 'credit', problem = null, kind = $1 where kind = 'booked'",
      [kind],
    );
    const { credits } = await bank.bankOf().listCredits(null, 100);
    expect(credits.map(({ amount }) => amount)).toEqual([600n]);
    expect(await listOpenLines(bank.database, 10)).toMatchObject([
      { problem: expect.stringContaining("changed in the database") },
    ]);
  },
);
