import { appendFile, open, readdir, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { readInbox, retryFile } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import { rereadDone } from "../../../src/partners/bank/file-bank/recover/reread-done.ts";
import type { Database } from "../../../src/platform/db/database.ts";
import {
  AFTER_FIRST,
  type FileBankFixture,
  MORNING,
  openFileBankFixture,
} from "./file-bank-fixture.ts";
import { entry, statement } from "./report-texts.ts";

let bank: FileBankFixture;
let inbox: string;
beforeAll(async () => {
  bank = await openFileBankFixture();
});
afterAll(() => bank.close());
beforeEach(async () => {
  inbox = await bank.clearInbox();
});

const credit = (at: number) =>
  statement([entry({ amount: `${at}.00`, credit: true, reference: `R${at}` })], { id: `S${at}` });

async function receive(name: string, text: string): Promise<void> {
  await writeFile(join(inbox, name), text);
  await utimes(join(inbox, name), MORNING, MORNING);
}

/** The bank's program puts another file in the place of one, as it is usual: whole, by a rename. */
async function replace(name: string, text: string): Promise<void> {
  await receive(`.${name}.part`, text);
  await rename(join(inbox, `.${name}.part`), join(inbox, name));
}

const readNow = (database: Database = bank.database) =>
  readInbox({ ...bank.deps, database }, inbox, AFTER_FIRST, AFTER_FIRST);

const listAmounts = async () =>
  (await bank.bankOf().listCredits(null, 100)).credits.map(({ amount }) => Number(amount) / 100);

/** Something happens directly before or after the first report is recorded. */
function meanwhile(moment: "before" | "after", work: () => Promise<void>): Database {
  let is_done = false;
  const once = async (now: typeof moment) => {
    if (is_done || now !== moment) return;
    is_done = true;
    await work();
  };
  return {
    ...bank.database,
    transaction: async (record, options) => {
      await once("before");
      const result = await bank.database.transaction(record, options);
      await once("after");
      return result;
    },
  };
}

it.each(["before", "after"] as const)(
  "a file that takes the place of another %s that one is recorded is read as well",
  async (moment) => {
    await receive("a.xml", credit(1));
    await readNow(meanwhile(moment, () => replace("a.xml", credit(2))));
    await readNow();
    expect(await listAmounts()).toEqual([1, 2]);
    expect(await readdir(inbox)).toEqual(["done", "set-aside"]);
    // What is kept is known: nothing has to be read again after a restore.
    expect(await rereadDone(bank.database, inbox)).toEqual([]);
  },
);

it("a file that grows while it is read is read when it is complete", async () => {
  const whole = credit(1);
  await receive("a.xml", whole.slice(0, -30));
  const grow = () => appendFile(join(inbox, "a.xml"), whole.slice(-30));
  expect(await readNow(meanwhile("before", grow))).toEqual([]);
  expect(await listAmounts()).toEqual([]);
  await utimes(join(inbox, "a.xml"), MORNING, MORNING);
  expect(await readNow()).toEqual([]);
  expect(await listAmounts()).toEqual([1]);
  expect(await rereadDone(bank.database, inbox)).toEqual([]);
});

it("a file that is overwritten while it is read counts with its new content only", async () => {
  await receive("a.xml", credit(1));
  await readNow(meanwhile("before", () => receive("a.xml", credit(2))));
  await readNow();
  expect(await listAmounts()).toEqual([2]);
  await receive("b.xml", credit(1));
  await readNow();
  expect(await listAmounts()).toEqual([2, 1]);
});

it("a file that was set aside half-written is read by a retry once it is complete", async () => {
  const whole = credit(1);
  await receive("a.xml", whole.slice(0, -30));
  const writer = await open(join(inbox, "a.xml"), "a");
  expect(await readNow()).toMatchObject([{ name: "a.xml" }]);
  await writer.write(whole.slice(-30));
  await writer.close();
  expect(await retryFile(bank.deps, inbox, "a.xml", AFTER_FIRST)).toBeNull();
  expect(await listAmounts()).toEqual([1]);
});

it("a file that is renamed while it is read counts once", async () => {
  await receive("a.xml", credit(1));
  const move = () => rename(join(inbox, "a.xml"), join(inbox, "b.xml"));
  expect(await readNow(meanwhile("after", move))).toEqual([]);
  expect(await readNow()).toEqual([]);
  expect(await listAmounts()).toEqual([1]);
  expect(await readdir(inbox)).toEqual(["done", "set-aside"]);
});

it("the same content under two names counts once, and the same name twice counts twice", async () => {
  await receive("a.xml", credit(1));
  await receive("b.xml", credit(1));
  expect(await readNow()).toEqual([]);
  await receive("a.xml", credit(2));
  expect(await readNow()).toEqual([]);
  expect(await listAmounts()).toEqual([1, 2]);
  expect(await readdir(join(inbox, "done"))).toHaveLength(3);
});
