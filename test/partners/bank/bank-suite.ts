import { afterAll, beforeAll, expect, it } from "vitest";
import { OtherContentError } from "../../../src/partners/bank/known-payment.ts";
import type {
  BankAnswer,
  BankCredit,
  BankPort,
  CreditReturn,
  Instruction,
} from "../../../src/partners/bank/port.ts";

/** Each takes a second to start on a busy machine. */
const PROCESSES = { timeout: 900_000 };
const ROUNDS_MAX = 200;

export type Outcome = "booked" | "rejected" | "returned";
export type PaidIn = Pick<BankCredit, "amount" | "text" | "payer_name" | "bank_reference">;

/** A bank that a test plays. */
export type PlayedBank = {
  port: BankPort;
  instruction(change?: Partial<Instruction>): Instruction;
  /** What the bank will do with a payment that it gets; without a plan it books it. */
  plan(instruction: Instruction, outcome: Outcome): void;
  /** After it, the bank has what was submitted, and has said what it did. */
  settle(): Promise<void>;
  /** How many payments the bank got with this id, amount, currency and payee. */
  countPaid(instruction: Instruction): Promise<number>;
  /** How many payments the bank got, whatever they are. */
  countAll(): Promise<number>;
  /** Money from outside arrives; the same reference again is the same line. */
  payIn(credit: PaidIn): Promise<void>;
  /** How often, and how much, the bank was told to pay back under a key. */
  listReturned(request: CreditReturn): Promise<bigint[]>;
  /**
   * Pays in a process of its own, which kills itself (kill -9) at a call of the database, and reads
   * what the bank said to what was submitted before. False: it ended by itself.
   */
  payInProcess(instructions: readonly Instruction[], killed_at: number | null): Promise<boolean>;
  /** How many calls are passed over between two kills: 1 tries each. */
  calls_between_kills: number;
  close(): Promise<void>;
};

/** What every adapter of the bank port guarantees. */
export function bankSuite(open: () => Promise<PlayedBank>): void {
  let on: PlayedBank;
  beforeAll(async () => {
    on = await open();
  });
  afterAll(() => on.close());

  const readAnswers = async (from: string | null = null, limit = 1_000) => {
    const found: BankAnswer[] = [];
    for (let cursor = from; ; ) {
      const page = await on.port.listAnswers(cursor, limit);
      expect(page.answers.length).toBeLessThanOrEqual(limit);
      if (page.answers.length === 0) return { found, cursor };
      found.push(...page.answers);
      cursor = page.cursor;
    }
  };
  const readCredits = async (from: string | null = null, limit = 1_000) => {
    const found: BankCredit[] = [];
    for (let cursor = from; ; ) {
      const page = await on.port.listCredits(cursor, limit);
      if (page.credits.length === 0) return { found, cursor };
      found.push(...page.credits);
      cursor = page.cursor;
    }
  };
  const answersOf = (answers: readonly BankAnswer[], { end_to_end_id }: Instruction) =>
    answers.filter((answer) => answer.end_to_end_id === end_to_end_id);

  it("a payment reaches the bank once, for its payee and amount, however often it is submitted", async () => {
    const before = await on.countAll();
    const payments = [on.instruction(), on.instruction({ amount: 1n })];
    await on.port.submit(payments);
    await Promise.all([payments, payments, [payments[1]!]].map((some) => on.port.submit(some)));
    await on.settle();
    await on.port.submit(payments);
    await on.settle();
    for (const payment of payments) expect(await on.countPaid(payment)).toBe(1);
    expect(await on.countAll()).toBe(before + 2);
  });

  it("a known id with another amount, currency or payee is refused, and nothing of it is paid", async () => {
    const before = await on.countAll();
    const payment = on.instruction();
    await on.port.submit([payment]);
    const { amount, beneficiary } = payment;
    const other_amount = { ...payment, amount: amount + 1n };
    const other_payee = {
      ...payment,
      beneficiary: { ...beneficiary, account_name: "Somebody Else" },
    };
    for (const other of [other_amount, { ...payment, currency: "jpy" }, other_payee]) {
      await expect(on.port.submit([other])).rejects.toThrow(OtherContentError);
    }
    await on.settle();
    await expect(on.port.submit([other_amount])).rejects.toThrow(OtherContentError);
    await on.port.submit([payment]);
    await on.settle();
    expect(await on.countPaid(payment)).toBe(1);
    expect(await on.countAll()).toBe(before + 1);
  });

  it("a known id with fewer codes of the payee's bank, as after an upgrade, is the same payment", async () => {
    const payment = on.instruction();
    const told = { ...payment, beneficiary: { ...payment.beneficiary, bank_code: "37040044" } };
    await on.port.submit([told]);
    await on.port.submit([payment]);
    const elsewhere = { ...told.beneficiary, bank_code: "10010010" };
    const other = on.port.submit([{ ...told, beneficiary: elsewhere }]);
    await expect(other).rejects.toThrow(OtherContentError);
    await on.settle();
    await on.port.submit([payment]);
    expect(await on.countPaid(told)).toBe(1);
  });

  it("each answer names its payment, amount and what became of it, a return after its booking", async () => {
    const { cursor } = await readAnswers();
    const [booked, rejected, returned] = [1, 2, 3].map(() => on.instruction()) as [
      Instruction,
      Instruction,
      Instruction,
    ];
    on.plan(rejected, "rejected");
    on.plan(returned, "returned");
    await on.port.submit([booked, rejected, returned]);
    expect(await on.countPaid(booked)).toBeLessThanOrEqual(1);
    await on.settle();
    const { found } = await readAnswers(cursor);
    const kinds = (instruction: Instruction) =>
      answersOf(found, instruction).map(({ kind }) => kind);
    expect(kinds(booked)).toEqual(["booked"]);
    expect(kinds(rejected)).toEqual(["rejected"]);
    expect(kinds(returned)).toEqual(["booked", "returned"]);
    expect(found).toHaveLength(4);
    for (const answer of found) {
      expect(answer).toMatchObject({
        ...{ account_id: booked.account_id, amount: booked.amount, currency: booked.currency },
        bank_reference: expect.stringMatching(/./),
      });
    }
  });

  it("answers are in one order, whatever the size of a page, and each is listed once", async () => {
    const payments = Array.from({ length: 5 }, () => on.instruction());
    on.plan(payments[2]!, "returned");
    await on.port.submit(payments);
    await on.settle();
    const whole = await readAnswers();
    expect((await readAnswers(null, 1)).found).toEqual(whole.found);
    expect((await readAnswers(null, 2)).found).toEqual(whole.found);
    expect(await readAnswers(whole.cursor)).toEqual({ found: [], cursor: whole.cursor });
    const names = whole.found.map(({ bank_reference }) => bank_reference);
    expect(new Set(names).size).toBe(names.length);
  });

  it("a reader that follows while others write misses no answer", async () => {
    const { cursor } = await readAnswers();
    const payments = Array.from({ length: 12 }, () => on.instruction());
    const written = Promise.all(payments.map((payment) => on.port.submit([payment]))).then(() =>
      on.settle(),
    );
    let is_written = false;
    const done = written.then(() => {
      is_written = true;
    });
    const seen: BankAnswer[] = [];
    for (let at = cursor, is_last = false; ; ) {
      const page = await readAnswers(at, 3);
      seen.push(...page.found);
      at = page.cursor;
      if (is_last) break;
      is_last = is_written;
      await new Promise(setImmediate);
    }
    await done;
    for (const payment of payments) expect(answersOf(seen, payment)).toHaveLength(1);
  });

  it("money that arrives is listed once, with its payer and text, on an account of ours", async () => {
    const { cursor } = await readCredits();
    const first = { ...PAID_IN, bank_reference: "paid-in-1" };
    const second = { ...PAID_IN, amount: 7n, bank_reference: "paid-in-2" };
    for (const credit of [first, second, first]) await on.payIn(credit);
    await on.settle();
    const { found, cursor: after } = await readCredits(cursor);
    expect(found).toMatchObject(
      [5_000n, 7n].map((amount) => ({
        ...{ amount, currency: "eur", text: PAID_IN.text, payer_name: PAID_IN.payer_name },
        booked_at: expect.any(Date),
      })),
    );
    expect(found[0]!.bank_account).toBe(found[1]!.bank_account);
    expect(found[0]!.bank_reference).not.toBe(found[1]!.bank_reference);
    expect((await readCredits(null, 1)).found).toEqual((await readCredits()).found);
    expect((await readCredits(after)).found).toEqual([]);
  });

  it("payers are told an account of the currency, or that there is none", () => {
    expect(on.port.coordinatesFor("eur", "local")).toMatchObject({
      bank_iban: expect.stringMatching(/^[A-Z]{2}\d{2}/),
      bank_name: expect.stringMatching(/./),
      bank_beneficiary_name: expect.stringMatching(/./),
    });
    expect(on.port.coordinatesFor("xxx", "local")).toBeNull();
  });

  it("names the account of ours that pays, as the booking will", async () => {
    const account = on.port.payingAccount({ currency: "eur", rail: "local" });
    expect(account).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
  });

  it("money goes back to its sender once per key, however often it is asked for", async () => {
    const { cursor } = await readCredits();
    await on.payIn({ ...PAID_IN, bank_reference: "paid-in-and-back" });
    await on.settle();
    const [credit] = (await readCredits(cursor)).found;
    const { bank_account, bank_reference, currency } = credit!;
    const request = { key: "return:suite", bank_account, bank_reference, amount: 4_000n, currency };
    await Promise.all([1, 2, 3].map(() => on.port.returnCredit(request)));
    let status = await on.port.returnCredit(request);
    for (let round = 0; status === "pending" && round < 5; round += 1) {
      await on.settle();
      status = await on.port.returnCredit(request);
    }
    expect(status).toBe("booked");
    expect(await on.listReturned(request)).toEqual([4_000n]);
  });

  it("a process that is killed pays nothing twice and loses nothing", PROCESSES, async () => {
    const { cursor } = await readAnswers();
    const before = await on.countAll();
    const payments: Instruction[] = [];
    let rounds = 0;
    for (let is_killed = true; is_killed; rounds += 1) {
      expect(rounds).toBeLessThan(ROUNDS_MAX);
      // Each process finds the same: an answer to the first, and the second to be paid.
      const [answered, payment] = [on.instruction(), on.instruction()];
      payments.push(answered, payment);
      await on.port.submit([answered]);
      is_killed = await on.payInProcess([payment], 1 + rounds * on.calls_between_kills);
      // What was killed is done again by another process, as its task would be.
      await on.port.submit([payment]);
      await on.settle();
    }
    expect(await on.payInProcess(payments, null)).toBe(false);
    await on.settle();
    for (const payment of payments) expect(await on.countPaid(payment)).toBe(1);
    expect(await on.countAll()).toBe(before + payments.length);
    const { found } = await readAnswers(cursor);
    for (const payment of payments) {
      expect(answersOf(found, payment).map(({ kind }) => kind)).toEqual(["booked"]);
    }
    expect(rounds).toBeGreaterThan(1);
  });
}

const PAID_IN = { amount: 5_000n, text: "code ABCD-EFGH", payer_name: "Jane Sender" };
