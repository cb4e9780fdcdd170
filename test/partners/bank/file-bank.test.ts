import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAccount } from "../../../src/accounts/create-account.ts";
import { closeFiles } from "../../../src/partners/bank/file-bank/close-files.ts";
import { createFileBank } from "../../../src/partners/bank/file-bank/file-bank.ts";
import type { FileBankAccount } from "../../../src/partners/bank/file-bank/model.ts";
import type { FileBankDeps } from "../../../src/partners/bank/file-bank/submit-payments.ts";
import { writeFiles } from "../../../src/partners/bank/file-bank/write-files.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import type { Config } from "../../../src/platform/config/config.ts";
import type { Database, Session } from "../../../src/platform/db/database.ts";
import { openInstallation } from "../../../src/platform/encryption/installation.ts";
import { createKeyring } from "../../../src/platform/encryption/keyring.ts";
import { openLocalKeys } from "../../../src/platform/encryption/local-keys.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";
import { loadSchema } from "./iso-schemas.ts";

const validate = loadSchema("pain.001.001.09");
const MORNING = new Date("2026-11-16T07:00:00Z");
const AFTER_FIRST = new Date("2026-11-16T10:00:00Z");
const AFTER_SECOND = new Date("2026-11-16T15:00:00Z");

let db: TestDatabase;
let outbox: string;
let account_id: string;
let deps: FileBankDeps;
let now: Date;
let submitted = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  outbox = await mkdtemp(join(tmpdir(), "outbox-"));
  const { database } = db;
  const masters = openLocalKeys({ encryption_key: randomBytes(32) } as Config);
  await openInstallation(database, masters, "sandbox", MORNING);
  const keyring = createKeyring(masters);
  const by = { actor: "command line", reason: "test" } as const;
  const account = await database.transaction((tx) =>
    createAccount(tx, keyring, { name: "test", is_operator: false, ...by }, MORNING),
  );
  account_id = account.id;
  deps = { database, keyring, accounts: [bankAccount(outbox)] };
});
afterAll(async () => {
  await db.drop();
  await rm(outbox, { recursive: true });
});
beforeEach(async () => {
  now = MORNING;
  await db.database.query("truncate bank_files, bank_payments, bank_file_answers");
  for (const name of await readdir(outbox)) await rm(join(outbox, name));
});

function bankAccount(directory: string): FileBankAccount {
  const schedule = {
    calendar: "target" as const,
    time_zone: "Europe/Vilnius",
    cut_offs: ["11:00", "15:30"],
    lead_days: 0,
  };
  const common = { is_batch_booked: false, address_form: "structured" as const, schedule };
  return {
    name: "main-eur",
    outbox: directory,
    debtor: { name: "Sample Ramp UAB", address: null },
    debtor_account: { iban: "LT069999900000012345" },
    debtor_bank: { bic: "SLIPLT21XXX" },
    routes: [
      { ...common, scheme: "sepa", charge_bearer: "SLEV", rail: "local", currencies: ["eur"] },
      { ...common, scheme: "swift", charge_bearer: "SHAR", rail: "swift", currencies: ["jpy"] },
    ],
  };
}

function instruction(change: Partial<Instruction> = {}): Instruction {
  submitted += 1;
  return {
    account_id,
    end_to_end_id: `${submitted.toString(16).padStart(32, "0")}001`,
    amount: 12_345n,
    currency: "eur",
    rail: "local",
    beneficiary: {
      account_name: "Maria Sample",
      iban: "DE89 3704 0044 0532 0130 00",
      address_line1: "12 Sample Street",
      city: "Lisbon",
      country: "PT",
      swift_bic: "deutdeff",
    },
    reference: "Invoice 17",
    ...change,
  };
}

const bankOf = (database: Database) =>
  createFileBank({ ...deps, database, clock: { now: () => now } as never });

const submit = (...instructions: Instruction[]) => bankOf(db.database).submit(instructions);

async function run(database: Database, time: Date): Promise<void> {
  await closeFiles(database, time);
  await writeFiles({ ...deps, database }, time);
}

const listOutbox = async () => (await readdir(outbox)).sort();
const readOutbox = async () =>
  Promise.all((await listOutbox()).map((name) => readFile(join(outbox, name), "utf8")));
const idsIn = (xml: string) => [...xml.matchAll(/<EndToEndId>(\w+)</g)].map((match) => match[1]);
const idsOf = (instructions: readonly Instruction[]) =>
  instructions.map(({ end_to_end_id }) => end_to_end_id);

describe("payments by file", () => {
  it("are in one file per account, scheme and window, written when the window has closed", async () => {
    const early = [instruction(), instruction()];
    const abroad = instruction({ rail: "swift", currency: "jpy", amount: 500n });
    await submit(...early, abroad);
    await run(db.database, MORNING);
    expect(await listOutbox()).toEqual([]);
    now = AFTER_FIRST;
    const late = instruction({ amount: 1n });
    await submit(late);
    await run(db.database, AFTER_FIRST);
    const [sepa, swift, ...more] = await readOutbox();
    expect(more).toEqual([]);
    expect(idsIn(sepa!)).toEqual(idsOf(early));
    expect(idsIn(swift!)).toEqual(idsOf([abroad]));
    expect(sepa).toContain("<NbOfTxs>2</NbOfTxs><CtrlSum>246.90</CtrlSum>");
    expect(sepa).toContain("<IBAN>DE89370400440532013000</IBAN>");
    expect(swift).toContain('<InstdAmt Ccy="JPY">500</InstdAmt>');
    for (const xml of [sepa!, swift!]) expect(validate?.(xml) ?? []).toEqual([]);
    await run(db.database, AFTER_SECOND);
    expect((await readOutbox()).flatMap(idsIn)).toHaveLength(4);
    // Written again or not: what is in a file stays there.
    await submit(...early, abroad, late);
    await run(db.database, new Date("2026-11-20T15:00:00Z"));
    expect((await readOutbox()).flatMap(idsIn)).toHaveLength(4);
  });

  it("payees are stored encrypted, and not at all once the file is written", async () => {
    await submit(instruction());
    const read = () => db.database.query<{ details: Buffer }>("select details from bank_payments");
    const [before] = await read();
    expect(before!.details.toString("latin1")).not.toMatch(/Maria|DE89|Invoice/);
    await run(db.database, AFTER_FIRST);
    expect(await read()).toEqual([{ details: null }]);
  });

  it("one that no file can carry is rejected at once, with the reason, and once", async () => {
    const wrong = [
      instruction({ beneficiary: { account_name: "Maria Sample", iban: "DE00" } }),
      instruction({ rail: "wire" }),
      instruction({ rail: "swift", currency: "jpy", beneficiary: { account_name: "..." } }),
    ];
    const good = instruction();
    await submit(...wrong, good);
    await submit(...wrong, good);
    const { answers, cursor } = await bankOf(db.database).listAnswers(null, 10);
    expect(answers).toMatchObject(
      wrong.map(({ end_to_end_id, amount }, at) => {
        const reasons = [{ code: ["AC01", "FF03", "BE22"][at] }];
        return { account_id, end_to_end_id, kind: "rejected", amount, reasons };
      }),
    );
    expect((await bankOf(db.database).listAnswers(cursor, 10)).answers).toEqual([]);
    await run(db.database, AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).toEqual(idsOf([good]));
  });

  it("submitted by several callers at once they are in one file, each once", async () => {
    const payments = Array.from({ length: 40 }, () => instruction());
    const reversed = payments.toReversed();
    await Promise.all([
      ...payments.map((one) => submit(one)),
      submit(...payments),
      submit(...reversed),
    ]);
    await Promise.all([1, 2, 3].map(() => run(db.database, AFTER_FIRST)));
    const files = await readOutbox();
    expect(files.map(idsIn).map((ids) => ids.toSorted())).toEqual([idsOf(payments).toSorted()]);
  });

  it("a payment that arrives while its window closes goes into the next one", async () => {
    await submit(instruction());
    await closeFiles(db.database, AFTER_FIRST);
    // The caller's clock is behind.
    const late = instruction();
    await submit(late);
    await run(db.database, AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).not.toContain(late.end_to_end_id);
    await run(db.database, AFTER_SECOND);
    expect((await readOutbox()).flatMap(idsIn)).toContain(late.end_to_end_id);
  });

  it("an outbox that cannot be written delays the file, and loses nothing", async () => {
    const payment = instruction();
    await submit(payment);
    await closeFiles(db.database, AFTER_FIRST);
    const broken = { ...deps, accounts: [bankAccount(join(outbox, "absent"))] };
    await expect(writeFiles(broken, AFTER_FIRST)).rejects.toThrow("ENOENT");
    await run(db.database, AFTER_FIRST);
    expect((await readOutbox()).flatMap(idsIn)).toEqual(idsOf([payment]));
  });
});

class Crash extends Error {}

function isCrash(error: unknown): true {
  if (error instanceof Crash) return true;
  throw error;
}

/** A database whose caller dies at its nth call: before it, or after it and before the next. */
function dyingAt(database: Database, call: number, moment: "before" | "after"): Database {
  let calls = 0;
  const guard = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    calls += 1;
    const is_last = calls === call;
    if (is_last && moment === "before") throw new Crash();
    const result = await work();
    if (is_last && moment === "after") throw new Crash();
    return result;
  };
  const query = (session: Session): Session["query"] => {
    return (text, values) => guard(() => session.query(text, values));
  };
  return {
    ...database,
    query: query(database),
    transaction: (work) =>
      guard(() => database.transaction((tx) => work({ ...tx, query: query(tx) }))),
  };
}

describe("a process that dies at any step", () => {
  for (const moment of ["before", "after"] as const) {
    it(`${moment} a call of the database: each payment reaches the bank once`, async () => {
      let has_died = true;
      let calls = 0;
      for (; has_died; calls += 1) {
        await db.database.query("truncate bank_files, bank_payments");
        const payments = [instruction(), instruction()];
        const taken: string[] = [];
        /** The bank empties the directory whenever it looks. */
        const take = async () => {
          for (const name of (await listOutbox()).filter((one) => !one.startsWith("."))) {
            taken.push(await readFile(join(outbox, name), "utf8"));
            await rm(join(outbox, name));
          }
        };
        const dying = dyingAt(db.database, calls + 1, moment);
        has_died = await bankOf(dying)
          .submit(payments)
          .then(() => run(dying, AFTER_FIRST))
          .then(() => false, isCrash);
        await take();
        await submit(...payments);
        await run(db.database, AFTER_FIRST);
        await take();
        await run(db.database, AFTER_FIRST);
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
    await submit(instruction());
    await closeFiles(db.database, AFTER_FIRST);
    await Promise.all([1, 2, 3, 4].map(() => writeFiles(deps, AFTER_FIRST)));
    await writeFiles(deps, AFTER_FIRST);
    expect(await listOutbox()).toEqual([expect.stringMatching(/^sepa-[0-9a-f]{32}\.xml$/)]);
  });

  it("what a dead process left half written is removed", async () => {
    await submit(instruction());
    await closeFiles(db.database, AFTER_FIRST);
    const [file] = await db.database.query<{ message_id: string }>(
      "select message_id from bank_files",
    );
    await writeFile(join(outbox, `.${file!.message_id}.x.tmp`), "<Document>");
    await writeFiles(deps, AFTER_FIRST);
    expect(await listOutbox()).toHaveLength(1);
  });
});
