import { randomBytes } from "node:crypto";
import { bankAt } from "../../ledger/model.ts";
import { fiatDepositReceived } from "../../ledger/onramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { BankCredit, BankPort } from "../../partners/bank/port.ts";
import { readOn } from "../../partners/read-on.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { KEY_BYTES } from "../../platform/encryption/cipher.ts";
import { createSubjectKeys } from "../../platform/encryption/keyring.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { findCodes } from "../store.ts";
import { MOVE_DEPOSIT_TASK } from "../task-kinds.ts";
import { findDepositCodes, meantCodes } from "./deposit-code.ts";
import { type BankLine, insertFiatDeposits, listEarlierLines, type NewDeposit } from "./store.ts";

export type CreditDeps = Pick<ModuleCore, "database" | "keyring"> & {
  bank: BankPort;
  /** The account whose ledger and list record incoming deposits. */
  operator_id: string;
};

const CREDITS_PER_READ_MAX = 200;
const CURSOR = "bank credits";

/** Reads the bank's new lines and records each one once. */
export async function recordCredits(deps: CreditDeps, clock: Pick<Clock, "now">): Promise<void> {
  const list = async (cursor: string | null) => {
    const { credits, ...read } = await deps.bank.listCredits(cursor, CREDITS_PER_READ_MAX);
    return { items: credits, ...read };
  };
  const take = (credits: BankCredit[], now: Date) => takeCredits(deps, credits, now);
  await readOn(deps.database, CURSOR, list, take, clock);
}

/** One transaction for all lines: they all belong to the operator's account. */
export function takeCredits(
  deps: CreditDeps,
  credits: readonly BankCredit[],
  now: Date,
): Promise<void> {
  return deps.database.transaction(async (tx) => {
    // In a fixed order, so that two readers of the same lines never deadlock.
    const sorted = credits
      .filter((credit) => credit.amount > 0n)
      .map(withoutNul)
      .sort((a, b) => Number(lineName(a) > lineName(b)) - Number(lineName(a) < lineName(b)));
    const deposits = await toDeposits(tx, deps.operator_id, sorted, now);
    const account_keys = await deps.keyring.openAccounts(tx, [{ account_id: deps.operator_id }]);
    const keyed = deposits.map((deposit) => ({ ...deposit, key: randomBytes(KEY_BYTES) }));
    // A line that another reader wrote concurrently is neither written nor posted again.
    const written = await insertFiatDeposits(tx, keyed, now);
    const recorded = keyed.filter((deposit) => written.has(deposit.id));
    if (recorded.length === 0) return;
    const subjects = recorded.map(({ account_id, id, key }) => ({
      account_id,
      subject_id: id,
      key,
    }));
    createSubjectKeys(tx, account_keys, subjects, now);
    postEntries(tx, recorded.filter((deposit) => deposit.is_posted).map(fiatDepositReceived), now);
    const matching = recorded.filter((deposit) => deposit.status === "matching");
    enqueueTasks(tx, MOVE_DEPOSIT_TASK, matching, now);
  });
}

async function toDeposits(
  tx: Transaction,
  account_id: string,
  credits: readonly BankCredit[],
  now: Date,
): Promise<NewDeposit[]> {
  const texts = credits.map(({ text }) => findDepositCodes(text));
  const [known_codes, lines] = await Promise.all([
    findCodes(
      tx,
      texts.flat().map(({ code }) => code),
    ),
    listEarlierLines(tx, account_id, credits),
  ]);
  const by_code = new Map(known_codes.map((row) => [row.code, row]));
  const by_reference = Map.groupBy(lines, lineName);
  const deposits: NewDeposit[] = [];
  for (const [at, credit] of credits.entries()) {
    const before = by_reference.get(lineName(credit)) ?? [];
    if (before.some((line) => isSameLine(line, credit))) continue;
    by_reference.set(lineName(credit), [...before, credit]);
    const meant = meantCodes(texts[at]!, (code) => by_code.has(code));
    const target = meant.length === 1 ? by_code.get(meant[0]!) : undefined;
    const is_conflict = before.length > 0;
    const reason = is_conflict ? "conflict" : reasonOf(meant.length, target !== undefined);
    const { text, payer_name, ...facts } = credit;
    deposits.push({
      account_id,
      id: newId(now),
      ...facts,
      part: 0,
      is_conflict,
      details: { text, payer_name },
      ledger_account: bankAt(credit.bank_account),
      status: reason === null ? "matching" : "unmatched",
      reason,
      // A conflict may not be real money: the operator has to review it first.
      is_posted: !is_conflict,
      matched_by: reason === null ? "code" : null,
      onramp_account_id: target?.account_id ?? null,
      onramp_id: target?.onramp_id ?? null,
    });
  }
  return deposits;
}

function lineName({ bank_account, bank_reference }: BankLine): string {
  return `${bank_account}\n${bank_reference}`;
}

/** The same reference with another amount, currency or date is not the same line. */
function isSameLine(line: BankLine, credit: BankLine): boolean {
  return (
    line.amount === credit.amount &&
    line.currency === credit.currency &&
    dayOf(line.booked_at) === dayOf(credit.booked_at)
  );
}

/** PostgreSQL cannot store NUL; one in a bank's text must not block the lines after it. */
function withoutNul(credit: BankCredit): BankCredit {
  const clean = (text: string) => text.replaceAll("\0", " ").toWellFormed();
  return {
    ...credit,
    bank_reference: clean(credit.bank_reference),
    text: clean(credit.text),
    payer_name: clean(credit.payer_name),
  };
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}

function reasonOf(codes: number, is_known: boolean) {
  if (codes > 1) return "two_codes";
  if (is_known) return null;
  return codes === 0 ? "no_code" : "unknown_code";
}
