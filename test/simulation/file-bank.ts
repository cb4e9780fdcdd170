import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BankAnswer } from "../../src/partners/bank/port.ts";
import { banksFile, SEPA_ACCOUNT } from "../partners/bank/banks-file.ts";
import { entry, statement, status, statusReport } from "../partners/bank/report-texts.ts";
import type { Installation } from "./installation.ts";
import type { Outside } from "./partners.ts";
import { DETAIL } from "./people.ts";
import type { Random } from "./random.ts";
import { Fault } from "./world.ts";

/*
 * The bank behind the real adapter (`partners/bank/file-bank`): it takes payments from a directory
 * and says what became of them in files of another one. Each file is a minute's payments, so that a
 * few of them are written in every seed.
 */

export const WINDOW_MS = 60_000;
/** Files that are older than some seconds are read. */
const LONG_AGO = new Date("2026-01-01T00:00:00Z");
const MINUTES = Array.from({ length: 24 * 60 }, (_, at) =>
  [at / 60, at % 60].map((part) => String(Math.floor(part)).padStart(2, "0")).join(":"),
);

export type FileBank = {
  /** For `SLIPROAD_BANKS_FILE`. */
  settings_path: string;
  /** The bank takes the files that are there. */
  collect(outside: Outside): void;
  /** Leaves a report about each new answer; some of them twice, or broken before they are whole. */
  report(outside: Outside, random: Random, now: Date): void;
  clear(): void;
  close(): void;
};

export function openFileBank(): FileBank {
  const folder = mkdtempSync(join(tmpdir(), "sliproad-simulated-bank-"));
  const [inbox, outbox] = ["inbox", "outbox"].map((name) => join(folder, name)) as [string, string];
  const clear = () => {
    for (const path of [inbox, outbox]) {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(path);
    }
    message_of.clear();
    told = 0;
  };
  /** By end-to-end id: the file that it came in. */
  const message_of = new Map<string, string>();
  let told = 0;
  let reports = 0;
  clear();
  const sepa = { time_zone: "UTC", cut_offs: MINUTES };
  // Deposits come in at the bank in memory.
  const { deposits: _, ...account } = { ...SEPA_ACCOUNT, outbox, routes: { sepa } };
  const settings_path = join(folder, "banks.json");
  writeFileSync(settings_path, banksFile(inbox, { "main-eur": account }));

  const leave = (text: string) => {
    reports += 1;
    const path = join(inbox, `${String(reports).padStart(6, "0")}.xml`);
    writeFileSync(path, text);
    utimesSync(path, LONG_AGO, LONG_AGO);
  };
  const collect = (outside: Outside) => {
    for (const name of readdirSync(outbox).sort()) {
      if (name.startsWith(".")) continue;
      const text = readFileSync(join(outbox, name), "utf8");
      rmSync(join(outbox, name));
      const message_id = textOf(text, "MsgId");
      for (const payment of text.split("<CdtTrfTxInf>").slice(1)) {
        const { id, ...order } = readPayment(payment, outside);
        message_of.set(id, message_id);
        if (outside.orders.has(id)) outside.faults.push(`the bank got ${id} in two files`);
        const objection = outside.left.has(id) ? null : outside.objection({ key: id });
        if (objection) outside.faults.push(`the bank got ${id} in a file, but ${objection}`);
        outside.orders.set(id, order);
      }
    }
  };
  const report = ({ answers }: Outside, random: Random, now: Date) => {
    for (const answer of answers.slice(told)) {
      const said = { answer, message_id: message_of.get(answer.end_to_end_id) ?? "" };
      const text = reportOf(said, { id: `S${reports}` }, now);
      if (random.chance(0.1)) leave(text.slice(0, text.length / 2));
      leave(text);
      if (random.chance(0.2)) leave(text);
      // What only tells in advance does not count.
      if (random.chance(0.2)) leave(reportOf(said, { id: `N${reports}`, type: "54" }, now));
    }
    told = answers.length;
  };
  const close = () => rmSync(folder, { recursive: true, force: true });
  return { settings_path, collect, report, clear, close };
}

function reportOf(
  { answer, message_id }: { answer: BankAnswer; message_id: string },
  as: { id: string; type?: string },
  now: Date,
): string {
  const { end_to_end_id: id, kind, bank_reference: reference } = answer;
  if (kind === "rejected") return statusReport(message_id, status(id, "RJCT"));
  const amount = `${answer.amount / 100n}.${String(answer.amount % 100n).padStart(2, "0")}`;
  const day = now.toISOString().slice(0, 10);
  const credit = kind === "returned";
  const details = credit ? "<RtrInf><Rsn><Cd>AC06</Cd></Rsn></RtrInf>" : "";
  return statement([entry({ amount, id, credit, reference, day, details })], as);
}

function readPayment(text: string, { faults }: Outside) {
  const [, currency, amount] = /<InstdAmt Ccy="([A-Z]{3})">(\d+\.\d\d)</.exec(text)!;
  const creditor = text.slice(text.indexOf("<Cdtr>"));
  const [id, name] = [textOf(text, "EndToEndId"), textOf(creditor, "Nm")];
  if (textOf(creditor, "IBAN") !== DETAIL.iban || name !== DETAIL.account_name) {
    faults.push(`the bank got ${id} for somebody else: ${name}`);
  }
  const cents = BigInt(amount!.replace(".", ""));
  return { id, amount: cents, currency: currency!.toLowerCase() };
}

function textOf(text: string, name: string): string {
  return new RegExp(`<${name}>([^<]*)<`).exec(text)?.[1] ?? "";
}

/** The bank looks into its directory; what waits in a file that it has not got is known, too. */
export async function takeFiles({ files, outside, cores }: Installation): Promise<void> {
  if (!files) return;
  const rows = await cores[0]!.database.query<{ id: string }>(
    "select end_to_end_id as id from bank_payments",
  );
  outside.filed = new Set(rows.map(({ id }) => id));
  files.collect(outside);
}

/** Before a user is blocked: what cannot be held back any more. */
export async function noteLeft({ files, outside, cores }: Installation): Promise<void> {
  if (!files) return;
  const rows = await cores[0]!.database.query<{ id: string }>(
    `select end_to_end_id as id from bank_payments p join bank_files f on f.id = p.file_id
     where f.state in ('placing', 'written')`,
  );
  outside.left = new Set(rows.map(({ id }) => id));
}

/** Without trouble, every window that is over has brought its file to the bank. */
export async function checkFiles({ files, cores, clock, outside }: Installation): Promise<void> {
  if (!files) return;
  const { database } = cores[0]!;
  const [waiting] = await database.query<{ state: string; message_id: string }>(
    "select state, message_id from bank_files where state <> 'written' and closes_at <= $1",
    [clock.now()],
  );
  if (waiting) throw new Fault("files", `${waiting.message_id} is still ${waiting.state}`);
  const written = await database.query<{ id: string }>(
    `select end_to_end_id as id from bank_payments p join bank_files f on f.id = p.file_id
     where f.state = 'written'`,
  );
  const lost = written.find(({ id }) => !outside.orders.has(id));
  if (lost) throw new Fault("files", `${lost.id} was written, but the bank has not got it`);
}
