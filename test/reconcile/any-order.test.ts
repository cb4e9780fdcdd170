import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findFault } from "../offramps/story.ts";
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
}, 60_000);
afterAll(() => bank.close());

const RUNS = 4;
const OPENING = 500_000n;
let closing = OPENING;
let days = 0;

function nextDay(...lines: BankLine[]): BankDay {
  days += 1;
  const day = new Date(Date.UTC(2027, 0, days)).toISOString().slice(0, 10);
  const one = { id: `S${days}`, day, opening: closing, lines, sequence: days };
  closing = closingOf(one);
  return one;
}

const why = "<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>";
const entriesOf = (text: string) => text.match(/<Ntry>.*<\/Ntry>/)![0];

/** Two payouts that were booked as one sum, with each payment as a detail. */
function asBatch(text: string, parts: readonly { id: string; amount: string }[]): string {
  const details = parts.map(
    ({ id, amount }) =>
      `<TxDtls><Refs><EndToEndId>${id}</EndToEndId></Refs>` +
      `<Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>`,
  );
  return text.replace(/<TxDtls>.*?<\/TxDtls>/, details.join(""));
}

/** The files of three days: what happened, told once, twice, late and over several files. */
function filesOf(run: number, first: string, second: string): string[] {
  const booked = asBatch(statementOf(nextDay({ amount: -30_000n, reference: `B${run}` })), [
    { id: first, amount: "100.00" },
    { id: second, amount: "200.00" },
  ]);
  const back = statementOf(
    nextDay(
      // The bank kept 5.00 of the return, and 2.60 of a credit.
      { amount: 19_500n, reference: `R${run}`, id: second, more: why },
      {
        ...{ amount: 97_400n, reference: `D${run}` },
        more:
          '<AmtDtls><InstdAmt><Amt Ccy="EUR">1000.00</Amt></InstdAmt></AmtDtls>' +
          '<Chrgs><Rcrd><Amt Ccy="EUR">26.00</Amt></Rcrd></Chrgs>',
      },
      { amount: -750n, reference: `F${run}` },
    ),
  );
  // The bank reverses the reversal: the return was a mistake.
  const again = statementOf(
    nextDay({ amount: -19_500n, reference: `X${run}`, id: second, more: why }),
  ).replace("<BkTxCd/>", "<RvslInd>true</RvslInd><BkTxCd/>");
  const told = [booked, back, again];
  const all = told.map(entriesOf).join("");
  const first_day = /<Bal>.*?<\/Bal>/.exec(booked)![0];
  const week = again.replace(/<Id>S\d+/, `<Id>WEEK${run}`).replace(entriesOf(again), all);
  return [
    ...told,
    ...told.map((text) => `${text}\n`),
    week.replace(/<Bal>.*?<\/Bal>/, first_day),
    again
      .replaceAll("camt.053", "camt.054")
      .replaceAll("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn")
      .replaceAll("Stmt>", "Ntfctn>"),
  ];
}

it("the same lines in any order, twice, split over files and late lose and double nothing", async () => {
  await bank.book({
    ...{ what: "opening", bank_account: ACCOUNT, currency: "eur", amount: String(OPENING) },
  });
  const paid = await bank.pay(...Array.from({ length: RUNS }, () => [100, 200]).flat());
  const { database } = bank.server.core;
  const listOpen = () =>
    database.query<{ number: bigint; kind: string; amount: bigint }>(
      `select number, kind, amount from bank_lines where state = 'unmatched'
       order by amount, kind`,
    );
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }),
      fc.integer({ min: 1, max: 8 }),
      async (order, at_once) => {
        const [first, second] = paid.slice(2 * run, 2 * run + 2);
        const files = filesOf(run, first!.id, second!.id);
        run += 1;
        const sorted = order.map((at) => files[at]!);
        for (let from = 0; from < sorted.length; from += at_once) {
          await bank.receive(...sorted.slice(from, from + at_once));
        }
        expect(await bank.setAside()).toEqual([]);
        await first!.story.waitForStatus("fiat_sent");
        // A return that was read after its reversal, or with it, waits for the operator.
        const open = await listOpen();
        const is_held = open.some(({ kind }) => kind === "returned");
        await second!.story.waitForStatus(is_held ? "fiat_sent" : "bounced");
        const answers = await database.query(
          `select end_to_end_id, kind, outcome, amount from bank_answers
           where end_to_end_id = any($1) order by end_to_end_id, kind`,
          [[first!.id, second!.id]],
        );
        const applied = { outcome: "applied" };
        const of_second = { ...applied, end_to_end_id: second!.id };
        const returned = { ...of_second, kind: "returned", amount: 19_500n };
        const expected = [
          { ...applied, end_to_end_id: first!.id, kind: "booked", amount: 10_000n },
          { ...of_second, kind: "booked", amount: 20_000n },
          ...(is_held ? [] : [returned]),
        ];
        expect(answers).toHaveLength(expected.length);
        expect(answers).toEqual(expect.arrayContaining(expected));
        expect(open).toMatchObject([
          { kind: "booked", amount: 750n },
          ...(is_held ? [{ kind: "returned", amount: 19_500n }] : []),
          { kind: "taken_back", amount: 19_500n },
        ]);
        const unbooked = is_held ? -750n : -20_250n;
        const found = await bank.reconcile();
        expect(found.days.at(-1)!.difference).toBe(unbooked);
        const sum = found.candidates.reduce((total, { amount }) => total + amount, 0n);
        expect(sum).toBe(unbooked);
        for (const { number, amount } of open) {
          const as = amount === 750n ? "fee" : "transfer";
          await bank.book({ what: "line", number: String(number), as });
        }
        expect(await bank.reconcile()).toMatchObject({ ledger_now: closing, candidates: [] });
        expect((await bank.reconcile()).days.every(({ difference }) => difference === 0n)).toBe(
          true,
        );
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
  expect(await findFault(bank.server)).toBeNull();
}, 300_000);
