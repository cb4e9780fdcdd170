import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import { dyingAt, isCrash } from "./dying-database.ts";
import {
  AFTER_FIRST,
  AFTER_SECOND,
  bankAccount,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { loadSchema } from "./iso-schemas.ts";
import { closeAll, writeAllFiles } from "./write-all.ts";

const validate = loadSchema("pain.001.001.09");

let bank: FileBankFixture;
beforeAll(async () => {
  bank = await openFileBankFixture();
});
afterAll(() => bank.close());
beforeEach(async () => {
  await bank.clear();
  for (const name of await listOutbox()) await rm(join(bank.folder, name));
});

const listOutbox = async () => (await readdir(bank.folder)).sort();
const readOutbox = async () =>
  Promise.all((await listOutbox()).map((name) => readFile(join(bank.folder, name), "utf8")));
const idsIn = (xml: string) => [...xml.matchAll(/<EndToEndId>(\w+)</g)].map((match) => match[1]);
const idsOf = (instructions: readonly Instruction[]) =>
  instructions.map(({ end_to_end_id }) => end_to_end_id);

describe("payments by file", () => {
  it("are in one file per account, scheme and window, written when the window has closed", async () => {
    const early = [bank.instruction(), bank.instruction()];
    const abroad = bank.instruction({ rail: "swift", currency: "jpy", amount: 500n });
    await bank.submit(...early, abroad);
    await bank.run(MORNING);
    expect(await listOutbox()).toEqual([]);
    bank.state.now = AFTER_FIRST;
    const late = bank.instruction({ amount: 1n });
    await bank.submit(late);
    await bank.run(AFTER_FIRST);
    const [sepa, swift, ...more] = await readOutbox();
    expect(more).toEqual([]);
    expect(idsIn(sepa!)).toEqual(idsOf(early));
    expect(idsIn(swift!)).toEqual(idsOf([abroad]));
    expect(sepa).toContain("<NbOfTxs>2</NbOfTxs><CtrlSum>246.90</CtrlSum>");
    expect(sepa).toContain("<IBAN>DE89370400440532013000</IBAN>");
    expect(swift).toContain('<InstdAmt Ccy="JPY">500</InstdAmt>');
    for (const xml of [sepa!, swift!]) expect(validate?.(xml) ?? []).toEqual([]);
    await bank.run(AFTER_SECOND);
    expect((await readOutbox()).flatMap(idsIn)).toHaveLength(4);
    // Written again or not: what is in a file stays there.
    await bank.submit(...early, abroad, late);
    await bank.run(new Date("2026-11-20T15:00:00Z"));
    expect((await readOutbox()).flatMap(idsIn)).toHaveLength(4);
  });

  it("a payment has the purpose and the intermediary bank of its route and currency", async () => {
    const { accounts } = bank.deps;
    const terms = { purposes: { jpy: "SUPP" }, intermediary_banks: { jpy: { bic: "DEUTDEFF" } } };
    const [account] = accounts;
    const routes = account!.routes.map((one) =>
      one.scheme === "ach" ? one : { ...one, ...terms },
    );
    const deps = { ...bank.deps, accounts: [{ ...account!, routes }] };
    await bank.submit(bank.instruction(), bank.instruction({ rail: "swift", currency: "jpy" }));
    await closeAll(deps, AFTER_FIRST);
    await writeAllFiles(deps, AFTER_FIRST);
    const [sepa, swift] = await readOutbox();
    expect(sepa).not.toMatch(/<Purp>|<IntrmyAgt1>/);
    expect(swift).toContain("<Purp><Cd>SUPP</Cd></Purp>");
    expect(swift).toContain("<IntrmyAgt1><FinInstnId><BICFI>DEUTDEFF</BICFI>");
    expect(validate?.(swift!) ?? []).toEqual([]);
  });

  it("payees are stored encrypted, and not at all once the file is written", async () => {
    await bank.submit(bank.instruction());
    const read = () =>
      bank.database.query<{ details: Buffer }>("select details from bank_payments");
    const [before] = await read();
    expect(before!.details.toString("latin1")).not.toMatch(/Maria|DE89|Invoice/);
    await bank.run(AFTER_FIRST);
    expect(await read()).toEqual([{ details: null }]);
  });

  it("an amount that was changed in the database is not paid", async () => {
    const [changed, other] = [bank.instruction(), bank.instruction()];
    await bank.submit(changed, other);
    const setAmount = (amount: bigint) =>
      bank.database.query("update bank_payments set amount = $2 where end_to_end_id = $1", [
        ...[changed.end_to_end_id, amount],
      ]);
    await setAmount(changed.amount * 100n);
    await expect(bank.run(AFTER_FIRST)).rejects.toThrow("was changed in the database");
    expect(await readOutbox()).toEqual([]);
  });

  it("one that no file can carry is rejected at once, with the reason, and once", async () => {
    const wrong = [
      bank.instruction({ beneficiary: { account_name: "Maria Sample", iban: "DE00" } }),
      bank.instruction({ rail: "wire" }),
      bank.instruction({ rail: "swift", currency: "jpy", beneficiary: { account_name: "..." } }),
    ];
    const good = bank.instruction();
    await bank.submit(...wrong, good);
    await bank.submit(...wrong, good);
    const { answers, cursor } = await bank.bankOf().listAnswers(null, 10);
    expect(answers).toMatchObject(
      wrong.map(({ end_to_end_id, amount }, at) => {
        const reasons = [{ code: ["AC01", "FF03", "BE22"][at] }];
        return { account_id: bank.account_id, end_to_end_id, kind: "rejected", amount, reasons };
      }),
    );
    expect((await bank.bankOf().listAnswers(cursor, 10)).answers).toEqual([]);
    await bank.run(AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).toEqual(idsOf([good]));
  });

  it("submitted by several callers at once they are in one file, each once", async () => {
    const payments = Array.from({ length: 40 }, () => bank.instruction());
    const reversed = payments.toReversed();
    await Promise.all([
      ...payments.map((one) => bank.submit(one)),
      bank.submit(...payments),
      bank.submit(...reversed),
    ]);
    await Promise.all([1, 2, 3].map(() => bank.run(AFTER_FIRST)));
    const files = await readOutbox();
    expect(files.map(idsIn).map((ids) => ids.toSorted())).toEqual([idsOf(payments).toSorted()]);
  });

  it("a payment that arrives while its window closes goes into the next one", async () => {
    await bank.submit(bank.instruction());
    await closeAll(bank.deps, AFTER_FIRST);
    // The caller's clock is behind.
    const late = bank.instruction();
    await bank.submit(late);
    await bank.run(AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).not.toContain(late.end_to_end_id);
    await bank.run(AFTER_SECOND);
    expect((await readOutbox()).flatMap(idsIn)).toContain(late.end_to_end_id);
  });

  it("a file that is closed days later, after an outage, is carried out on a day to come", async () => {
    await bank.submit(bank.instruction());
    // 20 November is a Friday; its last window has closed.
    await bank.run(new Date("2026-11-20T20:00:00Z"));
    expect((await readOutbox())[0]).toContain("<ReqdExctnDt><Dt>2026-11-23</Dt></ReqdExctnDt>");
    await bank.clear();
    await bank.submit(bank.instruction());
    await bank.run(new Date("2026-11-16T21:59:00Z"));
    expect((await readOutbox()).at(-1)).toContain("<ReqdExctnDt><Dt>2026-11-16</Dt></ReqdExctnDt>");
  });

  it("an outbox that cannot be written delays the file, and loses nothing", async () => {
    const payment = bank.instruction();
    await bank.submit(payment);
    await closeAll(bank.deps, AFTER_FIRST);
    const broken = { ...bank.deps, accounts: [bankAccount(join(bank.folder, "absent"))] };
    await expect(writeAllFiles(broken, AFTER_FIRST)).rejects.toThrow("ENOENT");
    await bank.run(AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).toEqual(idsOf([payment]));
  });
});

describe("a payment that must not leave", () => {
  const stopping = (stopped: Set<string>) => ({
    ...bank.deps,
    findStopped: async (_: unknown, payments: readonly { end_to_end_id: string }[]) =>
      new Set(idsOf(payments as Instruction[]).filter((id) => stopped.has(id))),
  });

  it("waits in the file of the next window, until it may go, and is in no other", async () => {
    const [held, free] = [bank.instruction(), bank.instruction({ amount: 5n })];
    await bank.submit(held, free);
    const stopped = new Set([held.end_to_end_id]);
    const deps = stopping(stopped);
    await closeAll(deps, AFTER_FIRST);
    await writeAllFiles(deps, AFTER_FIRST);
    const [first] = await readOutbox();
    expect(idsIn(first!)).toEqual([free.end_to_end_id]);
    expect(first).toContain("<NbOfTxs>1</NbOfTxs><CtrlSum>0.05</CtrlSum>");
    // Nothing else is in the next file, which closes without it and leaves nothing behind.
    await closeAll(deps, AFTER_SECOND);
    await writeAllFiles(deps, AFTER_SECOND);
    expect((await readOutbox()).flatMap(idsIn)).toEqual([free.end_to_end_id]);
    stopped.clear();
    const tomorrow = new Date("2026-11-17T15:00:00Z");
    await bank.submit(held, free);
    await closeAll(deps, tomorrow);
    await writeAllFiles(deps, tomorrow);
    expect((await readOutbox()).flatMap(idsIn).toSorted()).toEqual(idsOf([held, free]).toSorted());
  });

  it("is taken out of a closed file as long as no bytes of it are where the bank looks", async () => {
    const payments = [bank.instruction(), bank.instruction({ amount: 5n })];
    await bank.submit(...payments);
    const stopped = new Set<string>();
    const deps = stopping(stopped);
    await closeAll(deps, AFTER_FIRST);
    const absent = { ...deps, accounts: [bankAccount(join(bank.folder, "absent"))] };
    await expect(writeAllFiles(absent, AFTER_FIRST)).rejects.toThrow("ENOENT");
    stopped.add(payments[0]!.end_to_end_id);
    // The first run takes it out, the second one writes the file.
    await writeAllFiles(deps, AFTER_FIRST);
    expect(await listOutbox()).toEqual([]);
    await writeAllFiles(deps, AFTER_FIRST);
    const [xml] = await readOutbox();
    expect(idsIn(xml!)).toEqual([payments[1]!.end_to_end_id]);
    expect(validate?.(xml!) ?? []).toEqual([]);
  });

  it("stopped while another process renders the file: what was rendered is thrown away", async () => {
    const [held, free] = [bank.instruction(), bank.instruction({ amount: 5n })];
    await bank.submit(held, free);
    const stopped = new Set<string>();
    const deps = stopping(stopped);
    await closeAll(deps, AFTER_FIRST);
    const slow: Database = {
      ...bank.database,
      query: async (text, values) => {
        if (text.includes("set state = 'placing'")) {
          stopped.add(held.end_to_end_id);
          await writeAllFiles(deps, AFTER_FIRST);
        }
        return bank.database.query(text, values);
      },
    };
    await writeAllFiles({ ...deps, database: slow }, AFTER_FIRST);
    expect(await listOutbox()).toEqual([]);
    await writeAllFiles(deps, AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).toEqual([free.end_to_end_id]);
  });
});

describe("a process that dies at any step", () => {
  for (const moment of ["before", "after"] as const) {
    it(`${moment} a call of the database: each payment reaches the bank once`, async () => {
      let has_died = true;
      let calls = 0;
      for (; has_died; calls += 1) {
        await bank.clear();
        const payments = [bank.instruction(), bank.instruction()];
        const taken: string[] = [];
        /** The bank empties the directory whenever it looks. */
        const take = async () => {
          for (const name of (await listOutbox()).filter((one) => !one.startsWith("."))) {
            taken.push(await readFile(join(bank.folder, name), "utf8"));
            await rm(join(bank.folder, name));
          }
        };
        const dying = dyingAt(bank.database, calls + 1, moment);
        has_died = await bank
          .bankOf(dying)
          .submit(payments)
          .then(() => bank.run(AFTER_FIRST, dying))
          .then(() => false, isCrash);
        await take();
        await bank.submit(...payments);
        await bank.run(AFTER_FIRST);
        await take();
        await bank.run(AFTER_FIRST);
        await take();
        expect(taken.flatMap(idsIn)).toEqual(idsOf(payments));
        expect(taken.flatMap((xml) => validate?.(xml) ?? [])).toEqual([]);
        expect(await listOutbox()).toEqual([]);
      }
      // Every step of both transactions, of the two that follow, and of reading the payments.
      expect(calls).toBeGreaterThan(10);
    });
  }

  it("two processes write one file: the bytes of one of them", async () => {
    await bank.submit(bank.instruction());
    await closeAll(bank.deps, AFTER_FIRST);
    await Promise.all([1, 2, 3, 4].map(() => writeAllFiles(bank.deps, AFTER_FIRST)));
    await writeAllFiles(bank.deps, AFTER_FIRST);
    expect(await listOutbox()).toEqual([expect.stringMatching(/^sepa-[0-9a-f]{32}\.xml$/)]);
  });

  it("what a dead process left half written is removed", async () => {
    await bank.submit(bank.instruction());
    await closeAll(bank.deps, AFTER_FIRST);
    const [file] = await bank.database.query<{ message_id: string }>(
      "select message_id from bank_files",
    );
    await writeFile(join(bank.folder, `.${file!.message_id}.x.tmp`), "<Document>");
    await writeAllFiles(bank.deps, AFTER_FIRST);
    expect(await listOutbox()).toHaveLength(1);
  });
});
