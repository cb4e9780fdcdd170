import { afterAll, beforeAll, expect, it } from "vitest";
import { settleItem } from "../../src/partners/bank/file-bank/settle-item.ts";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import { runCommand } from "../harness/command-line.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, findFault, good, settle } from "../offramps/story.ts";
import {
  ACCOUNT,
  type BankDay,
  type BankFixture,
  type BankLine,
  closingOf,
  openBankFixture,
  statementOf,
} from "./bank-fixture.ts";

let bank: BankFixture;
beforeAll(async () => {
  bank = await openBankFixture();
});
afterAll(() => bank.close());

/** The bank's own account of the day before. */
let last: BankDay = { id: "S0", day: "2026-12-01", opening: 1_000_000n, lines: [] };
let days = 1;

function nextDay(...lines: BankLine[]): BankDay {
  days += 1;
  const day = `2026-12-${String(days).padStart(2, "0")}`;
  last = { id: `S${days}`, day, opening: closingOf(last), lines };
  return last;
}

const lastDifference = async () => (await bank.reconcile()).days.at(-1)!.difference;
const openLines = () =>
  bank.server.core.database.query<{ number: bigint; kind: string }>(
    "select number, kind from bank_lines where state = 'unmatched' order by number",
  );
const bookLine = (line: { number: bigint } | undefined, as: "transfer" | "fee") =>
  bank.book({ what: "line", number: String(line!.number), as });

it("an opening balance is a difference until the treasury books it, once", async () => {
  await bank.receive(statementOf(nextDay()));
  const found = await bank.reconcile();
  expect(found.days).toEqual([
    { closed_on: "2026-12-02", closing: 1_000_000n, ledger: 0n, difference: 1_000_000n },
  ]);
  expect(found.candidates).toMatchObject([{ kind: "opening", amount: 1_000_000n }]);
  const opening = { what: "opening", bank_account: ACCOUNT, currency: "eur" } as const;
  await bank.book({ ...opening, amount: "999999" });
  expect((await bank.reconcile()).candidates).toMatchObject([{ kind: "opening", amount: 1n }]);
  await bank.book({ ...opening, amount: "1000000" });
  await expect(bank.book({ ...opening, amount: "1000000" })).rejects.toThrow("booked already");
  expect(await bank.reconcile()).toMatchObject({
    ...{ ledger_now: 1_000_000n, candidates: [], notes: [], tampered: [] },
    days: [{ difference: 0n }],
  });
});

it("payouts, returns, deposits, fees and own transfers of statements agree with the books", async () => {
  const [first, second] = await bank.pay(200, 300);
  const booked = nextDay(
    { amount: -20_000n, reference: "B1", id: first!.id },
    { amount: -30_000n, reference: "B2", id: second!.id },
    { amount: -150n, reference: "F1", more: "<AddtlTxInf>monthly fee</AddtlTxInf>" },
  );
  await bank.receive(statementOf(booked));
  await first!.story.waitForStatus("fiat_sent");
  const found = await bank.reconcile();
  const lines = await openLines();
  expect(found.days.at(-1)).toMatchObject({ closing: 949_850n, ledger: 950_000n });
  expect(found.candidates).toMatchObject([
    { kind: "not_in_books", amount: -150n, day: booked.day, lines: [{ number: lines[0]!.number }] },
  ]);
  await bookLine(lines[0], "fee");
  expect(await lastDifference()).toBe(0n);
  await expect(bookLine(lines[0], "fee")).rejects.toThrow("is in the books");

  const back = nextDay(
    {
      ...{ amount: 29_000n, reference: "R2", id: second!.id },
      more: "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>",
    },
    { amount: 50_000n, reference: "D1", more: "<RmtInf><Ustrd>own funds</Ustrd></RmtInf>" },
  );
  await bank.receive(statementOf(back));
  await second!.story.waitForStatus("bounced");
  expect(await lastDifference()).toBe(0n);
  const [deposit] = await bank.server.core.database.query<{ id: string }>(
    "select id from fiat_deposits where status = 'unmatched'",
  );
  await bank.book({ what: "deposit", id: deposit!.id });
  await expect(bank.book({ what: "deposit", id: deposit!.id })).rejects.toThrow("is kept");
  const found_last = await bank.reconcile();
  expect(found_last).toMatchObject({ candidates: [], notes: [] });
  expect(found_last.days.map(({ difference }) => difference)).toEqual([0n, 0n, 0n]);
  expect(await findFault(bank.server)).toBeNull();
});

it("a deposit that was sent back and came back is a deposit again, once a person says so", async () => {
  const { server } = bank;
  const { database, clock, index_key } = server.core;
  const findDeposit = () =>
    database.query<{ id: string }>("select id from fiat_deposits where status = 'unmatched'");
  const payer =
    "<RltdPties><Dbtr><Pty><Nm>Jane Sender</Nm></Pty></Dbtr>" +
    "<DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct></RltdPties>";
  await bank.receive(statementOf(nextDay({ amount: 5_000n, reference: "D2", more: payer })));
  const [first] = await findDeposit();
  good(await server.call("POST", `/deposits/${first!.id}/return`));
  await settle(server);
  const [back] = await database.query<{ end_to_end_id: string }>("select * from bank_returns");
  // The window closes now: in days of waiting the bank would be asked every minute.
  await database.query("update bank_files set closes_at = $1 where state = 'open'", [clock.now()]);
  await waitFor(async () => {
    const rows = await database.query("select from bank_files where state <> 'written'");
    return rows.length === 0;
  });
  const id = back!.end_to_end_id;
  const why = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>";
  await bank.receive(
    statementOf(nextDay({ amount: -5_000n, reference: "S2", id })),
    statementOf(nextDay({ amount: 4_900n, reference: "R3", id, more: why })),
  );
  await advance(server, 2 * MINUTE_MS);
  expect((await bank.reconcile()).candidates).toMatchObject([
    {
      ...{ kind: "not_in_books", amount: 4_900n },
      lines: [{ problem: expect.stringContaining("--deposit") }],
    },
  ]);
  const [line] = await openLines();
  const item = { type: "line", number: line!.number } as const;
  await database.transaction((tx) => settleItem(tx, index_key, item, "deposit", clock.now()));
  await waitFor(async () => (await findDeposit()).length > 0);
  await settle(server);
  expect(await bank.reconcile()).toMatchObject({ candidates: [], notes: [] });
  const [second] = await findDeposit();
  await bank.book({ what: "deposit", id: second!.id });
  expect(await lastDifference()).toBe(0n);
  expect(await findFault(server)).toBeNull();
});

it("a missing statement is named, and is no more when it comes late", async () => {
  const [paid] = await bank.pay(100);
  const missing = nextDay({ amount: -10_000n, reference: "B3", id: paid!.id });
  const after = nextDay({ amount: -100n, reference: "F2" });
  await bank.receive(statementOf(after));
  await bookLine((await openLines())[0], "fee");
  const found = await bank.reconcile();
  expect(found.days.at(-1)!.difference).toBe(-10_000n);
  expect(found.notes).toMatchObject([{ kind: "missing", closed_on: after.day, amount: -10_000n }]);
  expect(found.candidates).toMatchObject([{ kind: "statements", amount: -10_000n }]);
  await bank.receive(statementOf(missing));
  await paid!.story.waitForStatus("fiat_sent");
  expect(await bank.reconcile()).toMatchObject({ candidates: [], notes: [] });
});

it("pages, copies and overlapping statements count once", async () => {
  const lines = [1, 2, 3].map((number) => ({ amount: 1_000n, reference: `P${number}` }));
  const paged = nextDay(...lines);
  const page = (number: number) => {
    const is_last = number === 3;
    return statementOf(
      { ...paged, lines: [lines[number - 1]!], page: { number, is_last } },
      undefined,
    ).replace(/<Bal><Tp><CdOrPrtry><Cd>CLBD.*?<\/Bal>/, (balance) =>
      balance.replace(/<Amt.*?<\/Amt>/, `<Amt Ccy="EUR">${Number(closingOf(paged)) / 100}</Amt>`),
    );
  };
  await bank.receive(page(3), page(1));
  const kinds = (await bank.reconcile()).notes.map(({ kind }) => kind);
  expect(kinds).toEqual(["incomplete", "does_not_add_up"]);
  await bank.receive(page(2), `${page(2)}\n`);
  expect(await bank.reconcile()).toMatchObject({ candidates: [], notes: [] });

  const next = nextDay({ amount: 5n, reference: "P4" });
  const both = { ...next, id: "WEEK", opening: paged.opening };
  const of_days = [paged, next].map((day) => statementOf(day).match(/<Ntry>.*<\/Ntry>/)![0]);
  await bank.receive(statementOf(next), statementOf(next).replace("<Id>", "\n<Id>"));
  await bank.receive(statementOf({ ...both, closing: closingOf(next) }, of_days.join("")));
  const found = await bank.reconcile();
  expect(found.notes).toMatchObject([{ kind: "overlaps", statement_id: "WEEK" }]);
  expect(found).toMatchObject({ candidates: [] });
  expect(found.days.at(-1)!.difference).toBe(0n);
});

it("a corrected statement replaces the first, and what it withdraws is named", async () => {
  const wrong = nextDay({ amount: 700n, reference: "W1" }, { amount: 11n, reference: "W2" });
  await bank.receive(statementOf(wrong));
  expect(await lastDifference()).toBe(0n);
  last = { ...wrong, lines: [{ amount: 11n, reference: "W2" }] };
  await bank.receive(statementOf(last));
  const found = await bank.reconcile();
  expect(found.days.at(-1)!.difference).toBe(-700n);
  expect(found.notes).toContainEqual(
    expect.objectContaining({ kind: "corrected", amount: -700n, statement_id: wrong.id }),
  );
  expect(found.candidates).toMatchObject([{ kind: "not_on_statement", amount: -700n }]);
  // The bank had it right the first time.
  last = wrong;
  await bank.receive(`${statementOf(wrong)}\n`);
  expect(await lastDifference()).toBe(0n);
});

it("whoever changes a balance or a line in the database is noticed", async () => {
  const { database } = bank.server.core;
  const changes = [
    ["update bank_statements set closing = closing + $1", "bank_statements"],
    ["update bank_statement_entries set amount = amount + $1", "bank_statement_entries"],
  ] as const;
  for (const [change] of changes) {
    await database.query(change, [1n]);
    expect((await bank.reconcile()).tampered).not.toEqual([]);
    await database.query(change, [-1n]);
    expect((await bank.reconcile()).tampered).toEqual([]);
  }
  const changeBooked = (by: bigint) =>
    database.query("update bank_lines set amount = amount + $1 where state = 'treasury'", [by]);
  await changeBooked(1n);
  expect(await findFault(bank.server)).toContain("no line of a statement explains it");
  await changeBooked(-1n);
  // A theft that is passed off as the return of a payout that another line is.
  await bank.receive(statementOf(nextDay({ amount: -9_900n, reference: "THEFT" })));
  await database.query(
    `update bank_lines set state = 'answer', problem = null, answer_references =
       (select answer_references from bank_lines where kind = 'booked' and state = 'answer' limit 1)
     where state = 'unmatched'`,
  );
  const found = await bank.reconcile();
  expect(found.days.at(-1)!.difference).toBe(-9_900n);
});

it("the command line shows differences with their candidates, and its exit code says so", async () => {
  const environment = {
    SLIPROAD_BANKS_FILE: bank.banks_file,
    SLIPROAD_DATA_DIR: bank.server.data_dir,
    DATABASE_URL: bank.server.db.url,
  };
  const shown = await runCommand(["reconcile", "--bank"], environment);
  expect(shown.stdout, shown.stderr).toContain("DIFFERENT by -99");
  expect(shown.code).toBe(1);
  const metrics = await bank.server.call("GET", "/metrics", undefined, { key: null });
  expect(metrics.text).toContain(`sliproad_bank_difference{bank_account="${ACCOUNT}"} 1`);
});
