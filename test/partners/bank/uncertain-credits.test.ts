import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
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

let bank: FileBankFixture;
let inbox: string;
let reports = 0;
beforeAll(async () => {
  bank = await openFileBankFixture((folder) => [bankAccount(folder), achAccount(folder)]);
});
afterAll(() => bank.close());
beforeEach(async () => {
  inbox = await bank.clearInbox();
  bank.deps.accounts[0]!.reference_days = 10;
});

async function pay(...changes: Partial<Instruction>[]): Promise<Instruction[]> {
  const payments = changes.map((change) => bank.instruction(change));
  await bank.submit(...payments);
  await bank.run(AFTER_FIRST);
  return payments;
}

/** Reads reports one after the other. */
async function readInTurn(...texts: string[]): Promise<void> {
  for (const text of texts) {
    reports += 1;
    const path = join(inbox, `${reports}.xml`);
    await writeFile(path, text);
    await utimes(path, MORNING, MORNING);
    expect(await readInbox(bank.deps, inbox, AFTER_FIRST, AFTER_FIRST)).toEqual([]);
  }
}

const listAnswers = async () => (await bank.bankOf().listAnswers(null, 100)).answers;
const listAmounts = async () =>
  (await bank.bankOf().listCredits(null, 1_000)).credits.map(({ amount }) => Number(amount));
const listUnmatched = async () => {
  const rows = await bank.database.query<{ amount: bigint; problem: string }>(
    "select amount, problem from bank_lines where state = 'unmatched' order by number",
  );
  return rows.map(({ amount, problem }) => [Number(amount), problem]);
};

const credit = (amount: string, reference?: string, day?: string) =>
  entry({ amount, credit: true, ...(reference && { reference }), ...(day && { day }) });
const reversal = (amount: string, day?: string) =>
  entry({ amount, ...(day && { day }) }).replace("<Sts>", "<RvslInd>true</RvslInd><Sts>");

const SAME_REFERENCE = expect.stringMatching(/^Another credit has this reference of the bank/);
const TAKEN_BACK = expect.stringMatching(/^The bank took this amount back/);
const TAKING = "The bank took money back that it had credited.";
const MAYBE_ACH = expect.stringMatching(/^This may be an ACH payment that came back/);

describe("credits with the same reference of the bank", () => {
  it("one with another amount, day or both is for a person, also in the same report", async () => {
    await readInTurn(
      statement([credit("10.00", "R1"), credit("10.01", "R1")]),
      statement([credit("10.00", "R1", "2026-11-17"), credit("10.00", "R2")], { id: "S2" }),
      statement([credit("12.00", "R1", "2026-11-25"), credit("10.00", "R1")], { id: "S3" }),
    );
    expect(await listAmounts()).toEqual([1_000, 1_000]);
    expect(await listUnmatched()).toEqual([
      [1_001, SAME_REFERENCE],
      [1_000, SAME_REFERENCE],
      [1_200, SAME_REFERENCE],
    ]);
  });

  it("one that a report lists twice counts once", async () => {
    await readInTurn(statement([credit("10.00", "R1"), credit("10.00", "R1")]));
    expect(await listAmounts()).toEqual([1_000]);
    expect(await listUnmatched()).toEqual([[1_000, SAME_REFERENCE]]);
  });

  it("the reference of a part counts where the line has none", async () => {
    const part = (amount: string, reference: string) =>
      credit(amount).replace(
        "<TxDtls>",
        `<TxDtls><Refs><AcctSvcrRef>${reference}</AcctSvcrRef></Refs>`,
      );
    await readInTurn(
      statement([part("10.00", "P1")]),
      statement([part("11.00", "P1"), part("12.00", "P2")], { id: "S2" }),
    );
    expect(await listAmounts()).toEqual([1_000, 1_200]);
    expect(await listUnmatched()).toEqual([[1_100, SAME_REFERENCE]]);
  });

  it("all parts of a line are for a person, however many they are", async () => {
    const detail = '<TxDtls><Amt Ccy="EUR">1.00</Amt></TxDtls>';
    const line = credit("700.00", "R1").replace("<TxDtls></TxDtls>", detail.repeat(700));
    await readInTurn(statement([credit("10.00", "R1")]), statement([line], { id: "S2" }));
    expect(await listAmounts()).toEqual([1_000]);
    expect(await listUnmatched()).toHaveLength(700);
  });

  it("a return that is told with another day does not count twice", async () => {
    const [payment] = await pay({});
    const back = (day: string) =>
      entry({
        ...{ amount: "60.00", credit: true, id: payment!.end_to_end_id, reference: "B2", day },
        details: "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>",
      });
    await readInTurn(
      statement([back("2026-11-16")]),
      statement([back("2026-11-17")], { id: "S2" }),
    );
    expect(await listAnswers()).toMatchObject([{ kind: "returned", amount: 6_000n }]);
    expect(await listUnmatched()).toEqual([[6_000, SAME_REFERENCE]]);
  });

  it("references that the bank uses again are new ones after the days of the setting", async () => {
    const days = ["2026-11-02", "2026-11-13", "2026-11-14"];
    const lines = days.map((day) => credit("10.00", "R1", day));
    await readInTurn(...lines.map((line, at) => statement([line], { id: `S${at}` })));
    expect(await listAmounts()).toEqual([1_000, 1_000]);
    expect(await listUnmatched()).toHaveLength(1);
    bank.deps.accounts[0]!.reference_days = 0;
    const next = [credit("10.00", "R1", "2026-11-15"), credit("11.00", "R1", "2026-11-15")];
    await readInTurn(statement(next, { id: "S4" }));
    expect(await listAmounts()).toEqual([1_000, 1_000, 1_000]);
    expect(await listUnmatched()).toHaveLength(2);
  });

  it("no reference, zeros, and the reference of a debit are no conflict", async () => {
    await readInTurn(
      statement([
        ...[credit("1.00"), credit("2.00"), credit("3.00", "0000"), credit("4.00", "0000")],
        ...[entry({ amount: "5.00", reference: "D1" }), credit("6.00", "D1")],
      ]),
    );
    expect(await listAmounts()).toEqual([100, 200, 300, 400, 600]);
  });
});

describe("credits that the bank takes back", () => {
  it("one that is read after its reversal is for a person, until the reversal is settled", async () => {
    await readInTurn(
      statement([reversal("50.00", "2026-11-17")]),
      statement([credit("50.00", "A"), credit("50.01", "B")], { id: "S2" }),
      statement([credit("50.00", "C", "2026-11-18")], { id: "S3" }),
    );
    // What comes after the reversal is another payment.
    expect(await listAmounts()).toEqual([5_001, 5_000]);
    expect(await listUnmatched()).toEqual([
      [5_000, TAKING],
      [5_000, TAKEN_BACK],
    ]);
    await bank.database.query(
      "update bank_lines set state = 'settled' where kind = 'taken_back' and state = 'unmatched'",
    );
    await readInTurn(statement([credit("50.00", "D")], { id: "S4" }));
    expect(await listAmounts()).toEqual([5_001, 5_000, 5_000]);
  });

  it("a return that is read after its reversal bounces no payout", async () => {
    const [payment] = await pay({});
    await readInTurn(
      statement([reversal("123.45", "2026-11-17")]),
      statement([entry({ amount: "123.45", credit: true, id: payment!.end_to_end_id })], {
        id: "S2",
      }),
    );
    expect(await listAnswers()).toEqual([]);
    expect(await listUnmatched()).toEqual([
      [12_345, TAKING],
      [12_345, TAKEN_BACK],
    ]);
  });

  it("a credit and its reversal far away in the same report are for a person", async () => {
    const many = Array.from({ length: 600 }, (_, at) => credit(`1.${100 + at}`.slice(0, 4)));
    await readInTurn(
      statement([reversal("70.00"), credit("80.00"), ...many, credit("70.00"), reversal("80.00")]),
    );
    expect(await listAmounts()).toHaveLength(600);
    expect((await listUnmatched()).map(([amount]) => amount)).toEqual([7_000, 8_000, 7_000, 8_000]);
  });
});

describe("credits to an account that pays by ACH", () => {
  const usd = (change: { amount: string; code?: string; day?: string; text?: string }) =>
    entry({ credit: true, currency: "USD", day: "2026-11-18", ...change })
      .replace("<BkTxCd/>", change.code ?? "")
      .replace("</Ntry>", `<AddtlNtryInf>${change.text ?? "ABCDEFGHJKMN"}</AddtlNtryInf></Ntry>`);
  const own = (code: string) => `<BkTxCd><Prtry><Cd>${code}</Cd></Prtry></BkTxCd>`;
  const iso = (family: string, more = "") =>
    `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>OTHR</SubFmlyCd></Fmly></Domn>` +
    `${more}</BkTxCd>`;
  const read = (...lines: string[]) => readInTurn(statement(lines, { account: "9900012345" }));

  it("what the bank's code calls a return is no deposit, with or without a word", async () => {
    await read(
      ...["168", "257", "258", "266"].map((code, at) =>
        usd({ amount: `${at + 1}.00`, code: own(code) }),
      ),
      usd({ amount: "5.00", code: iso("RCDT", "<Prtry><Cd>257</Cd><Issr>BAI</Issr></Prtry>") }),
      usd({ amount: "6.00", code: iso("ICDT") }),
      usd({ amount: "7.00", code: own("142") }),
    );
    expect(await listAmounts()).toEqual([700]);
    expect(await listUnmatched()).toEqual(
      [1, 2, 3, 4, 5, 6].map((amount) => [amount * 100, MAYBE_ACH]),
    );
  });

  it("one with the amount of a payment is for a person, unless the bank says that it is new", async () => {
    await pay({ ...ACH_PAYEE }, { ...ACH_PAYEE, amount: 777n });
    await read(
      usd({ amount: "123.45" }),
      usd({ amount: "123.44", text: "another amount" }),
      usd({ amount: "7.77", code: own("169") }),
      ...[usd({ amount: "7.77", code: own("142") }), usd({ amount: "7.77", code: iso("RCDT") })],
      // Before the payment left, and long after it.
      ...[usd({ amount: "7.77", day: "2026-11-10" }), usd({ amount: "7.77", day: "2027-03-01" })],
    );
    expect(await listAmounts()).toEqual([12_344, 777, 777, 777, 777]);
    expect(await listUnmatched()).toEqual([
      [12_345, MAYBE_ACH],
      [777, MAYBE_ACH],
    ]);
  });
});
