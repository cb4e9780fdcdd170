import type { Transaction } from "../../../platform/db/database.ts";
import type { AchItem } from "../nacha/read-ach.ts";
import type { BankAnswer } from "../port.ts";
import type { AccountEntry, PaymentStatus, ReportItem } from "../report.ts";
import { applyAchItems } from "./ach/apply-ach-items.ts";
import { sealLine } from "./line-details.ts";
import { isDirectDebit, lineName, type Matched, matchEntry, matchStatus } from "./match-entry.ts";
import { accountOf, type BookedLine, type FileBankAccount } from "./model.ts";
import { openFinder, openLineFinder } from "./open-finder.ts";
import { namedIds } from "./recover/recover-payments.ts";
import {
  findKnownLines,
  insertLines,
  insertReport,
  insertUnmatchedStatuses,
  type LineRow,
  lockLines,
} from "./report-store.ts";
import { recordAnswers } from "./returns/record-answers.ts";
import { isReturnId } from "./returns/return-id.ts";
import { StatementRecorder } from "./statements/record-statements.ts";
import type { FileBankDeps } from "./submit-payments.ts";
import { isTaken, openReferences, SAME_REFERENCE, TAKEN_BACK } from "./uncertain-credits.ts";
import { updateTakenBack } from "./uncertain-store.ts";

export type ReportDeps = FileBankDeps;

const ITEMS_AT_ONCE = 500;

/** What a file of a bank consists of: of ISO 20022, or of NACHA. */
export type BankItem = ReportItem | { kind: "ach"; item: AchItem };

type Report = { digest: Buffer; name: string; items: AsyncIterable<BankItem> };

/**
 * Records a report of a bank: its answers, its lines, or nothing at all if it cannot be read to its
 * end. Lines that are known, from this report or another, are passed over: the same money counts
 * once. Returns false if these bytes were recorded before.
 */
export async function applyReport(deps: ReportDeps, report: Report, now: Date): Promise<boolean> {
  return deps.database.transaction(async (tx) => {
    if (!(await insertReport(tx, report, now))) return false;
    await lockLines(tx);
    const key = await deps.keyring.openAccount(tx, deps.operator_id);
    const recording = { deps, key, digest: report.digest, begun: new Map() };
    const statements = new StatementRecorder({ ...recording, accounts: deps.accounts });
    for await (const items of inBatches(report.items)) {
      await applyStatuses(tx, recording, items.filter(isStatus));
      const ach = items.flatMap((one) => (one.kind === "ach" ? [one.item] : []));
      await applyAchItems(tx, deps, { digest: report.digest, items: ach }, now);
      const entries = items.filter(isEntry).flatMap((entry) => bookedOf(deps.accounts, entry));
      await applyEntries(tx, recording, entries);
      for (const item of items) if (item.kind !== "ach") await statements.take(tx, item);
    }
    return true;
  });
}

function isStatus(item: BankItem): item is PaymentStatus {
  return item.kind === "status";
}

function isEntry(item: BankItem): item is AccountEntry {
  return "entry_key" in item;
}

/** Only booked lines of the reports that count for an account move money. */
function bookedOf(accounts: readonly FileBankAccount[], entry: AccountEntry): BookedLine[] {
  const account = accountOf(accounts, entry.account);
  if (entry.report !== account.booked_by) return [];
  const is_ours = entry.state === "booked" || entry.state === "unknown";
  return is_ours ? [{ ...entry, bank_account: account.name }] : [];
}

async function applyStatuses(
  tx: Transaction,
  { deps, digest }: Pick<Recording, "deps" | "digest">,
  statuses: readonly PaymentStatus[],
): Promise<void> {
  if (statuses.length === 0) return;
  const find = await openFinder(tx, statuses);
  const answers: BankAnswer[] = [];
  const unmatched: (PaymentStatus & { problem: string })[] = [];
  for (const status of statuses) {
    const matched = matchStatus(status, find);
    if (matched?.state === "answer") answers.push(...matched.answers);
    if (matched?.state === "unmatched") unmatched.push({ ...status, problem: matched.problem });
  }
  await recordAnswers(tx, deps.index_key, answers);
  await insertUnmatchedStatuses(tx, digest, unmatched);
}

/** A line of this report, whose parts may be in two batches, or which may be repeated. */
type BegunLine = { parts: number; next: number; is_named_twice: boolean };
type Recording = {
  deps: ReportDeps;
  key: Buffer;
  digest: Buffer;
  begun: Map<string, BegunLine>;
};

const NAMED_TWICE = { state: "unmatched", problem: SAME_REFERENCE } as const;

async function applyEntries(
  tx: Transaction,
  { deps, key, digest, begun }: Recording,
  entries: readonly BookedLine[],
): Promise<void> {
  const lines: LineRow[] = [];
  const answers: BankAnswer[] = [];
  const find = await openLineFinder(tx, deps.accounts, entries);
  const isNamedTwice = await openReferences(tx, deps.accounts, entries);
  for (const [bank_account, of_account] of Map.groupBy(entries, (one) => one.bank_account)) {
    const nameOf = ({ entry_key }: BookedLine) => `${bank_account}\n${entry_key}`;
    // A line can have hundreds of thousands of parts: it is looked for once.
    const new_here = of_account.filter((entry) => !begun.has(nameOf(entry)));
    const keys = [...new Set(new_here.map(({ entry_key }) => entry_key))];
    const known = await findKnownLines(tx, bank_account, keys);
    for (const entry of of_account) {
      const name = nameOf(entry);
      // A line that was known before this report stays as it was divided then.
      if (known.has(entry.entry_key) && !begun.has(name)) continue;
      const line = begun.get(name) ?? { parts: entry.parts, next: 0, is_named_twice: false };
      begun.set(name, line);
      if (entry.parts !== line.parts || entry.part !== line.next) continue;
      line.next += 1;
      line.is_named_twice ||= isNamedTwice(entry);
      const matched = line.is_named_twice ? NAMED_TWICE : matchEntry(entry, find);
      if (matched.state === "answer") answers.push(...matched.answers);
      lines.push(lineOf(deps.operator_id, key, entry, matched));
    }
  }
  if (lines.length === 0) return;
  await insertLines(tx, digest, lines);
  const taken = entries.filter(isTaken);
  if (taken.length > 0) await updateTakenBack(tx, digest, taken, TAKEN_BACK);
  await recordAnswers(tx, deps.index_key, answers);
}

function lineOf(operator_id: string, key: Buffer, entry: BookedLine, matched: Matched): LineRow {
  const { bank_account, entry_key, part, parts, kind, amount, currency, booked_on } = entry;
  const named_ids = isRecoverable(entry, matched) ? namedIds(entry) : [];
  return {
    ...{ bank_account, entry_key, part, parts, kind, amount, currency, booked_on },
    line_reference: entry.line_reference,
    state: matched.state,
    problem: matched.state === "unmatched" ? matched.problem : null,
    answer_references: referencesOf(entry, matched),
    named_ids,
    // Payments have their payees: what the bank repeats of them is not kept.
    details:
      matched.state === "answer" ? null : sealLine(operator_id, key, { ...entry, named_ids }),
  };
}

/** Whether a line can be about a payment that is submitted later: the database was restored. */
function isRecoverable(entry: BookedLine, matched: Matched): boolean {
  const is_doubted = (problem: string) => problem === SAME_REFERENCE || problem === TAKEN_BACK;
  return matched.state === "unmatched" && !isDirectDebit(entry) && !is_doubted(matched.problem);
}

/** What a line became in the books, by which it is found again. */
function referencesOf(entry: BookedLine, matched: Matched): string[] {
  if (matched.state === "credit") return [lineName(entry)];
  if (matched.state !== "answer") return [];
  // A deposit that was sent back is known by its payment.
  return matched.answers.map(({ bank_reference, end_to_end_id }) =>
    isReturnId(end_to_end_id) ? end_to_end_id : bank_reference,
  );
}

async function* inBatches(items: AsyncIterable<BankItem>): AsyncGenerator<BankItem[]> {
  let batch: BankItem[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < ITEMS_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}
