import { bankAt } from "../../ledger/model.ts";
import { statementMac } from "../../partners/bank/file-bank/statements/model.ts";
import {
  listStatements,
  type StoredPage,
} from "../../partners/bank/file-bank/statements/statement-store.ts";
import type { Clock } from "../../platform/clock.ts";
import { type Database, READ_ALL, type Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { findWalletSums } from "../reconcile-store.ts";
import {
  type EffectKind,
  findBookedEntries,
  listOpenLines,
  listUnlistedEffects,
  type OpenLine,
  type UnlistedEffect,
  upsertBankReconciliation,
} from "./bank-store.ts";
import { type JudgedStatement, judgeStatements, type StatementNote } from "./judge-statements.ts";

/** A closing balance, and what the ledger has of the same day. */
type ComparedDay = {
  closed_on: string;
  closing: bigint;
  ledger: bigint;
  /** The bank has this much more than the books. */
  difference: bigint;
};

/**
 * A part of a difference. Together the candidates are exactly the difference.
 *
 * - `opening`: the opening balance of the first statement is not in the books, or another one is
 * - `not_in_books`: a line of a statement is not in the books, or only a part of it
 * - `not_on_statement`: the books have what no statement has
 * - `statements`: a statement is missing, or does not add up
 * - `ledger`: the ledger has what no record explains: see `sliproad verify`
 */
export type BankCandidate = {
  kind: "opening" | "not_in_books" | "not_on_statement" | "statements" | "ledger";
  amount: bigint;
  day: string | null;
  /** The bank's line, or the reference of what the books have. */
  reference: string | null;
  effect: EffectKind | null;
  /** Unmatched lines that it consists of. */
  lines: readonly OpenLine[];
};

export type ReconciledBank = {
  bank_account: string;
  currency: string;
  /** What the ledger has now. */
  ledger_now: bigint;
  days: ComparedDay[];
  /** Of the last day. */
  candidates: BankCandidate[];
  notes: StatementNote[];
  /** The files whose stored statements were changed in the database. */
  tampered: string[];
};

type Deps = { database: Database; keyring: Keyring; clock: Clock; operator_id: string };

/** Compares an account of ours with its statements, day by day, in each currency. */
export async function reconcileBank(deps: Deps, bank_account: string): Promise<ReconciledBank[]> {
  const { database, keyring, operator_id, clock } = deps;
  const compared = await database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    const key = await keyring.openAccount(tx, operator_id);
    return compareAll(tx, key, bank_account);
  }, READ_ALL);
  const at = realTime(clock);
  await database.transaction(async (tx) => {
    for (const { currency, days, tampered, ledger_now: balance } of compared) {
      const last = days.at(-1);
      if (!last) continue;
      const { closed_on, difference } = last;
      const is_tampered = tampered.length > 0;
      const place = { bank_account, currency, closed_on, at };
      upsertBankReconciliation(tx, { ...place, balance, difference, is_tampered });
    }
  });
  return compared;
}

async function compareAll(
  session: Session,
  key: Buffer,
  bank_account: string,
): Promise<ReconciledBank[]> {
  const pages = await listStatements(session, bank_account);
  const sums = await findWalletSums(session, bankAt(bank_account));
  const tampered = pages
    .filter((page) => !statementMac(key, page.report_digest, page).equals(page.mac))
    .map(({ file_name }) => file_name);
  const by_currency = Map.groupBy(pages, ({ currency }) => currency);
  const currencies = new Set([...by_currency.keys(), ...sums.keys()]);
  const compared: ReconciledBank[] = [];
  for (const currency of [...currencies].sort()) {
    const books: Books = {
      ledger_now: sums.get(currency) ?? 0n,
      booked: await findBookedEntries(session, bank_account, currency),
      unlisted: await listUnlistedEffects(session, bank_account, currency),
    };
    const own = by_currency.get(currency) ?? [];
    const result = compareOne(own, books);
    const keys = result.candidates.flatMap(({ kind, reference }) =>
      kind === "not_in_books" ? (reference ?? []) : [],
    );
    const lines = Map.groupBy(
      await listOpenLines(session, bank_account, keys),
      ({ entry_key }) => entry_key,
    );
    const candidates = result.candidates.map((one) => ({
      ...one,
      lines: lines.get(one.reference ?? "") ?? [],
    }));
    const { ledger_now } = books;
    compared.push({ bank_account, currency, ledger_now, ...result, candidates, tampered });
  }
  return compared;
}

type Books = {
  ledger_now: bigint;
  booked: ReadonlyMap<string, bigint>;
  unlisted: readonly UnlistedEffect[];
};

function compareOne(pages: readonly StoredPage[], books: Books) {
  const { statements, notes } = judgeStatements(pages);
  const last_of_day = statements.filter(
    ({ closed_on }, at) => statements[at + 1]?.closed_on !== closed_on,
  );
  const days = last_of_day.map(({ closed_on, closing }): ComparedDay => {
    const ledger = books.ledger_now - sumAfter(closed_on, statements, books);
    return { closed_on, closing, ledger, difference: closing - ledger };
  });
  const candidates = days.length === 0 ? [] : listCandidates(statements, books);
  return { days, notes, candidates };
}

/** What moved after a day: lines of later statements, and what the bank or we dated later. */
function sumAfter(
  day: string,
  statements: readonly JudgedStatement[],
  { booked, unlisted }: Books,
): bigint {
  const later = statements.filter(({ closed_on }) => closed_on > day);
  const listed = later.flatMap(({ fresh }) =>
    [...fresh.keys()].map((key) => booked.get(key) ?? 0n),
  );
  const others = unlisted.filter((one) => isMovement(one) && one.day > day);
  return [...listed, ...others.map(({ amount }) => amount)].reduce(
    (sum, amount) => sum + amount,
    0n,
  );
}

/** The opening balance was there before the first day. */
const isMovement = ({ kind }: UnlistedEffect) => kind !== "bank_opened";

type Found = Omit<BankCandidate, "lines">;

/** All that differs up to the last statement. */
function listCandidates(statements: readonly JudgedStatement[], books: Books): Found[] {
  const { booked, unlisted, ledger_now } = books;
  const last_day = statements.at(-1)!.closed_on;
  const found: Found[] = [];
  const add = (kind: Found["kind"], amount: bigint, more: Partial<Found> = {}) => {
    if (amount === 0n) return;
    found.push({ day: null, reference: null, effect: null, ...more, kind, amount });
  };
  const [first] = statements;
  const opening = first!.closing - first!.gap - sumOf([...first!.fresh.values()]);
  const opened = unlisted.filter((one) => !isMovement(one));
  add("opening", opening - sumOf(opened.map(({ amount }) => amount)), { day: first!.closed_on });
  const listed = new Set<string>();
  for (const { closed_on: day, fresh, gap } of statements) {
    add("statements", gap, { day });
    for (const [reference, amount] of fresh) {
      listed.add(reference);
      add("not_in_books", amount - (booked.get(reference) ?? 0n), { day, reference });
    }
  }
  for (const one of unlisted.filter(isMovement)) {
    const { kind: effect, reference, amount, day } = one;
    if (day <= last_day) add("not_on_statement", -amount, { day, reference, effect });
  }
  // Of a statement that a corrected one replaced.
  const withdrawn = [...booked].filter(([key]) => !listed.has(key));
  for (const [reference, amount] of withdrawn) add("not_on_statement", -amount, { reference });
  const explained = sumOf([...booked.values(), ...unlisted.map(({ amount }) => amount)]);
  add("ledger", explained - ledger_now);
  return found;
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n);
}
