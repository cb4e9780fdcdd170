import { randomUUID } from "node:crypto";
import type { Database, Transaction } from "../../../platform/db/database.ts";
import type { Keyring } from "../../../platform/encryption/keyring.ts";
import { sealedJson } from "../../../platform/encryption/sealed-column.ts";
import { newId } from "../../../platform/ids.ts";
import type { Leaving } from "../../leaving.ts";
import { nextWindow } from "../calendar/next-window.ts";
import { checkTransfer } from "../iso20022/check-transfer.ts";
import { assertSamePayment, isSamePayee } from "../known-payment.ts";
import type { BankAnswer, Instruction } from "../port.ts";
import { entryClassOf, findAchProblem, shortId } from "./ach/credit-of.ts";
import { type FileBankAccount, type FileRoute, routeOf } from "./model.ts";
import { paidFromDay, recoverPayments } from "./recover/recover-payments.ts";
import {
  insertAnswers,
  insertPayments,
  listKnownPayments,
  type PaymentKey,
  type PaymentRow,
  upsertFile,
} from "./store.ts";
import { transferOf } from "./transfer-of.ts";

export type FileBankDeps = {
  database: Database;
  keyring: Keyring;
  /** Of the MACs of answers. */
  index_key: Buffer;
  /** The account whose key encrypts what banks say about people. */
  operator_id: string;
  accounts: readonly FileBankAccount[];
  /** Those of the payments that must not leave now; by default all may. */
  findStopped?: FindStopped;
  /** Whether files may leave; by default they may. */
  leaving?: Leaving;
};

/** Reads in the transaction in which a file is closed, with the locks that it needs. */
export type FindStopped = (
  tx: Transaction,
  payments: readonly PaymentKey[],
) => Promise<ReadonlySet<string>>;

/**
 * Whoever can write to the database cannot change what is paid: amount and currency are encrypted
 * with the payee. Payments of earlier versions do not have them.
 */
type PaymentDetails = Pick<Instruction, "beneficiary" | "reference"> & {
  amount?: string;
  currency?: string;
};

export const DETAILS = sealedJson<PaymentDetails>("bank_payments", "details");

/** How many windows can be closed already when a payment looks for one. */
const WINDOWS_TRIED_MAX = 5;

/** What is wrong with a payment, in the words of ISO 20022. */
const CODES: Readonly<Record<string, string>> = {
  iban: "AC01",
  account_number: "AC01",
  account_name: "BE22",
  city: "BE04",
  country: "BE04",
  swift_bic: "RC01",
  bank_code: "RC01",
  routing_number: "RC01",
  amount: "AM02",
  currency: "AM03",
};
const NOT_POSSIBLE = "FF03";

type Routed = { instruction: Instruction; account: FileBankAccount; route: FileRoute };

/**
 * Puts instructions into the files of their windows, all or none. One that the bank has, or will
 * get, is not touched: it stays in its file. One that no file can carry is answered at once.
 */
export async function submitPayments(
  deps: FileBankDeps,
  instructions: readonly Instruction[],
  now: Date,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    const ids = instructions.map(({ end_to_end_id }) => end_to_end_id);
    const stored = await listKnownPayments(tx, ids);
    await checkKnown(tx, deps, instructions, stored);
    const known = new Set(stored.map(({ end_to_end_id }) => end_to_end_id));
    const not_here = instructions.filter(({ end_to_end_id }) => !known.has(end_to_end_id));
    const paid = await recoverPayments(tx, deps, not_here, now);
    const unknown = not_here.filter(({ end_to_end_id }) => !paid.has(end_to_end_id));
    const { routed, refused } = divide(deps.accounts, unknown);
    await insertAnswers(tx, deps.index_key, refused);
    if (routed.length > 0) await insertRouted(tx, deps, routed, now);
  });
}

/** Once a file is written, its payees are deleted: then amount and currency are compared. */
async function checkKnown(
  tx: Transaction,
  { keyring }: FileBankDeps,
  instructions: readonly Instruction[],
  known: Awaited<ReturnType<typeof listKnownPayments>>,
): Promise<void> {
  const keys = await keyring.openAccounts(tx, known);
  const by_id = new Map(instructions.map((one) => [one.end_to_end_id, one]));
  for (const { account_id, end_to_end_id: id, details, ...content } of known) {
    const instruction = by_id.get(id)!;
    const opened = details && DETAILS.open(keys.get(account_id)!, { account_id, id }, details);
    const is_same = !opened || isSamePayee(opened.beneficiary, instruction.beneficiary);
    assertSamePayment(instruction, content, is_same);
  }
}

/** An account of ours, and its way to send deposits back. */
type ReturnRoute = Pick<Routed, "account" | "route">;

/** How the account that received a deposit sends it back: by SEPA, or not at all. */
export function findReturnRoute(
  accounts: readonly FileBankAccount[],
  bank_account: string,
  currency: string,
): ReturnRoute | undefined {
  const account = accounts.find(({ name }) => name === bank_account);
  const route = account?.routes.find(
    ({ scheme, currencies }) => scheme === "sepa" && currencies.includes(currency),
  );
  return account && route && { account, route };
}

/** Puts the return of a deposit into a file. False if no file can carry it. */
export async function submitReturn(
  tx: Transaction,
  deps: FileBankDeps,
  instruction: Instruction,
  by: ReturnRoute,
  now: Date,
): Promise<boolean> {
  if (findProblem(by.route, instruction) !== null) return false;
  await insertRouted(tx, deps, [{ instruction, ...by }], now);
  return true;
}

function divide(accounts: readonly FileBankAccount[], instructions: readonly Instruction[]) {
  const routed: Routed[] = [];
  const refused: BankAnswer[] = [];
  for (const instruction of instructions) {
    const found = routeOf(accounts, instruction);
    const code = found ? findProblem(found.route, instruction) : NOT_POSSIBLE;
    if (found && code === null) routed.push({ instruction, ...found });
    else refused.push(refusal(instruction, code ?? NOT_POSSIBLE));
  }
  return { routed, refused };
}

function findProblem(route: FileRoute, instruction: Instruction): string | null {
  const field = findField(route, instruction);
  return field === null ? null : (CODES[field] ?? NOT_POSSIBLE);
}

function findField(route: FileRoute, instruction: Instruction): string | null {
  if (route.scheme === "ach") return findAchProblem(route, instruction);
  const transfer = transferOf(route, instruction, randomUUID());
  return checkTransfer(route.scheme, transfer)[0]?.field ?? null;
}

/** The bank never got it, so its rejection is final. */
function refusal(instruction: Instruction, code: string): BankAnswer {
  const { account_id, end_to_end_id, amount, currency } = instruction;
  return {
    ...{ account_id, end_to_end_id, amount, currency },
    bank_reference: `refused-${end_to_end_id}`,
    bank_account: null,
    paid_from: null,
    kind: "rejected",
    trace_number: null,
    uetr: null,
    reasons: [{ code, text: null }],
  };
}

async function insertRouted(
  tx: Transaction,
  { keyring }: FileBankDeps,
  routed: readonly Routed[],
  now: Date,
): Promise<void> {
  const keys = await keyring.openAccounts(
    tx,
    routed.map(({ instruction }) => instruction),
  );
  const files = Map.groupBy(routed, ({ account, route }) => `${account.name}\n${route.scheme}`);
  const rows: PaymentRow[] = [];
  // In a fixed order, so that two callers never wait for each other's files.
  for (const name of [...files.keys()].sort()) {
    const inside = files.get(name)!;
    const file_id = await lockOpenFile(tx, inside[0]!, now);
    for (const { instruction, route } of inside) {
      const { account_id, end_to_end_id, amount, currency, beneficiary, reference } = instruction;
      const record = { account_id, id: end_to_end_id };
      const paid = { beneficiary, reference, amount: String(amount), currency };
      const details = DETAILS.seal(keys.get(account_id)!, record, paid);
      const uetr = randomUUID();
      const is_ach = route.scheme === "ach";
      rows.push({
        ...{ account_id, end_to_end_id, file_id, amount, currency, uetr, details },
        entry_class: is_ach ? entryClassOf(instruction) : null,
        short_id: is_ach ? shortId(end_to_end_id) : null,
        paid_from_day: paidFromDay(instruction),
      });
    }
  }
  await insertPayments(tx, rows);
}

/** The file of the first window that is open, by the bank's clock and by its state here. */
export async function lockOpenFile(
  tx: Transaction,
  { account, route }: Pick<Routed, "account" | "route">,
  now: Date,
): Promise<string> {
  let from = now;
  for (let tried = 0; tried < WINDOWS_TRIED_MAX; tried += 1) {
    const window = nextWindow(route.schedule, from);
    const id = newId(now);
    const file = await upsertFile(
      tx,
      {
        id,
        bank_account: account.name,
        scheme: route.scheme,
        window_day: window.day,
        window_number: window.number,
        closes_at: window.closes_at,
        execution_date: window.execution_date,
        message_id: id.replaceAll("-", ""),
      },
      now,
    );
    if (file.state === "open") return file.id;
    from = window.closes_at;
  }
  throw new Error(`no window of ${account.name} for ${route.scheme} is open`);
}
