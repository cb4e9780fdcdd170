import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readInbox } from "../../../src/partners/bank/file-bank/read-inbox.ts";
import type { Instruction } from "../../../src/partners/bank/port.ts";
import { DAY_MS } from "../../../src/platform/durations.ts";
import type { Outcome, PlayedBank } from "./bank-suite.ts";
import { MORNING, openFileBankFixture } from "./file-bank-fixture.ts";
import { entry, statement, status, statusReport } from "./report-texts.ts";
import { runBankProcess } from "./run-bank-process.ts";

/** From a Monday to the Friday after it, every window has closed. */
const WINDOWS_MS = 4 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

/** Where money came from; no payment of the suite goes there. */
const PAYER_IBAN = "FR1420041010050500013M02606";

type Paid = { id: string; amount: string; currency: string; payee: string; name: string };

/**
 * A bank behind two directories: it takes files of payments and leaves reports. Each use is in a
 * week of its own, so that no window is closed already.
 */
export async function playFileBank(): Promise<PlayedBank> {
  const fixture = await openFileBankFixture();
  const { folder, state, deps } = fixture;
  const inbox = join(folder, "inbox");
  await mkdir(inbox);
  const outcomes = new Map<string, Outcome>();
  const answered = new Set<string>();
  const lines: string[] = [];
  let reports = 0;

  const writeAt = () => new Date(state.now.getTime() + WINDOWS_MS);
  const leave = async (text: string) => {
    reports += 1;
    const path = join(inbox, `${String(reports).padStart(4, "0")}.xml`);
    await writeFile(path, text);
    await utimes(path, MORNING, MORNING);
  };
  const answer = async () => {
    for (const { message_id, payments } of await listFiles(folder)) {
      const news = payments.filter(({ id }) => !answered.has(id));
      const rejected = news.filter(({ id }) => outcomes.get(id) === "rejected");
      if (rejected.length > 0) {
        const statuses = rejected.map(({ id }) => status(id, "RJCT"));
        await leave(statusReport(message_id, statuses.join("")));
      }
      for (const { id, amount } of news) {
        answered.add(id);
        const outcome = outcomes.get(id) ?? "booked";
        if (outcome === "rejected") continue;
        lines.push(entry({ amount, id, reference: `B-${id}` }));
        if (outcome !== "returned") continue;
        const details = "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>";
        lines.push(entry({ amount, id, credit: true, reference: `R-${id}`, details }));
      }
    }
    if (lines.length > 0) await leave(statement(lines.splice(0), { id: `S${reports}` }));
  };

  return {
    port: fixture.bankOf(),
    instruction: fixture.instruction,
    plan: ({ end_to_end_id }, outcome) => outcomes.set(end_to_end_id, outcome),
    settle: async () => {
      await fixture.run(writeAt());
      await answer();
      expectNone(await readInbox(deps, inbox, writeAt(), writeAt()));
      state.now = new Date(state.now.getTime() + WEEK_MS);
    },
    countPaid: async (instruction) => {
      const paid = (await listFiles(folder)).flatMap(({ payments }) => payments);
      return paid.filter((payment) => isOf(payment, instruction)).length;
    },
    countAll: async () => (await listFiles(folder)).flatMap(({ payments }) => payments).length,
    payIn: async ({ amount, text, payer_name, bank_reference }) => {
      const details =
        `<RltdPties><Dbtr><Pty><Nm>${payer_name}</Nm></Pty></Dbtr>` +
        `<DbtrAcct><Id><IBAN>${PAYER_IBAN}</IBAN></Id></DbtrAcct></RltdPties>` +
        `<RmtInf><Ustrd>${text}</Ustrd></RmtInf>`;
      const line = { amount: decimal(amount), credit: true, reference: bank_reference, details };
      // In a statement of its own: the same line twice in one statement is two lines.
      await leave(statement([entry(line)], { id: `S${reports}` }));
    },
    listReturned: async () => {
      const paid = (await listFiles(folder)).flatMap(({ payments }) => payments);
      const back = paid.filter(({ payee }) => payee === PAYER_IBAN);
      return back.map(({ amount }) => BigInt(amount.replace(".", "")));
    },
    payInProcess: async (instructions, killed_at) => {
      await fixture.run(writeAt());
      await answer();
      state.now = new Date(state.now.getTime() + WEEK_MS);
      const files = {
        encryption_key: fixture.encryption_key.toString("hex"),
        operator_id: deps.operator_id,
        accounts: [...deps.accounts],
        inbox,
        pay_at: state.now.toISOString(),
        write_at: writeAt().toISOString(),
      };
      state.now = new Date(state.now.getTime() + WEEK_MS);
      return runBankProcess(fixture.database_url, files, instructions, killed_at);
    },
    calls_between_kills: process.env.LONG_TESTS ? 1 : 11,
    close: fixture.close,
  };
}

function expectNone(set_aside: readonly { problem: string }[]): void {
  if (set_aside.length > 0) throw new Error(`set aside: ${set_aside[0]!.problem}`);
}

/** What the bank finds in its directory. */
async function listFiles(folder: string): Promise<{ message_id: string; payments: Paid[] }[]> {
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.xml$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.map((text) => ({
    message_id: textOf(text, "MsgId"),
    payments: text.split("<CdtTrfTxInf>").slice(1).map(readPayment),
  }));
}

function readPayment(text: string): Paid {
  const [, currency, amount] = /<InstdAmt Ccy="([A-Z]{3})">([\d.]+)</.exec(text)!;
  const creditor = text.slice(text.indexOf("<Cdtr>"));
  return {
    ...{ id: textOf(text, "EndToEndId"), amount: amount!, currency: currency! },
    ...{ payee: textOf(creditor, "IBAN"), name: textOf(creditor, "Nm") },
  };
}

function textOf(text: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)<`).exec(text)?.[1] ?? "";
}

function isOf(paid: Paid, { end_to_end_id, amount, currency, beneficiary }: Instruction): boolean {
  return (
    paid.id === end_to_end_id &&
    paid.amount === decimal(amount) &&
    paid.currency.toLowerCase() === currency &&
    paid.payee === String(beneficiary.iban).replaceAll(" ", "") &&
    paid.name === beneficiary.account_name
  );
}

/** Amounts of the suite have two decimals. */
function decimal(amount: bigint): string {
  return `${amount / 100n}.${String(amount % 100n).padStart(2, "0")}`;
}
