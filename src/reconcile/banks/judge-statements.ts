import type { StoredPage } from "../../partners/bank/file-bank/statements/statement-store.ts";

/** A statement of one account and currency, its pages together. */
type Whole = Pick<StoredPage, "statement_id" | "sequence" | "opened_on" | "opening"> & {
  /** Of the page that was read last. */
  number: bigint;
  closing: bigint;
  closed_on: string;
  entries: ReadonlyMap<string, bigint>;
};

/** A statement in its place. */
export type JudgedStatement = Whole & {
  /** Its lines that no earlier statement has. */
  fresh: ReadonlyMap<string, bigint>;
  /** What its closing balance is more than the previous one and its lines explain. */
  gap: bigint;
};

export type StatementNote = {
  kind: "incomplete" | "corrected" | "missing" | "does_not_add_up" | "overlaps" | "without_balance";
  closed_on: string | null;
  statement_id: string | null;
  /** What the balances differ by; zero where that is not what it is about. */
  amount: bigint;
};

type Judged = { statements: JudgedStatement[]; notes: StatementNote[] };

/**
 * Puts the statements of an account and currency into the order of their balances, whatever order
 * they were read in, and says what is wrong with them. A statement that was sent again with other
 * content replaces the earlier one.
 */
export function judgeStatements(pages: readonly StoredPage[]): Judged {
  const notes: StatementNote[] = [];
  const wholes = joinPages(pages, notes).flatMap((one) => withBalance(one, notes));
  const current = replaceCorrected(wholes, notes);
  const seen = new Set<string>();
  const statements: JudgedStatement[] = [];
  for (const one of inOrder(current)) {
    const before = statements.at(-1);
    const fresh = new Map([...one.entries].filter(([key]) => !seen.has(key)));
    for (const key of fresh.keys()) seen.add(key);
    const from = before?.closing ?? one.opening ?? one.closing - sumOf(one.entries);
    const gap = one.closing - from - sumOf(fresh);
    statements.push({ ...one, fresh, gap });
    notes.push(...faultsOf(one, { before, is_overlapping: fresh.size < one.entries.size }));
  }
  return { statements, notes };
}

function faultsOf(
  one: Whole,
  { before, is_overlapping }: { before: Whole | undefined; is_overlapping: boolean },
): StatementNote[] {
  const { closed_on, statement_id, opening, closing } = one;
  const about = { closed_on, statement_id };
  const notes: StatementNote[] = [];
  if (is_overlapping) notes.push({ ...about, kind: "overlaps", amount: 0n });
  else if (before && opening !== null && opening !== before.closing) {
    notes.push({ ...about, kind: "missing", amount: opening - before.closing });
  }
  const rest = opening === null ? 0n : closing - opening - sumOf(one.entries);
  if (rest !== 0n) notes.push({ ...about, kind: "does_not_add_up", amount: rest });
  return notes;
}

type Joined = Omit<Whole, "closing" | "closed_on"> & Pick<StoredPage, "closing" | "closed_on">;

/** Pages have the id of their statement; a page that was sent again replaces the earlier one. */
function joinPages(pages: readonly StoredPage[], notes: StatementNote[]): Joined[] {
  const groups = Map.groupBy(pages, ({ number, statement_id, page, sequence }) =>
    page === null || statement_id === null
      ? `row ${number}`
      : `id ${statement_id}\n${sequence ?? ""}`,
  );
  return [...groups.values()].map((group) => {
    const by_page = new Map(group.map((one) => [Number(one.page ?? 1), one]));
    const numbers = [...by_page.keys()].sort((a, b) => a - b);
    const sorted = numbers.map((number) => by_page.get(number)!);
    const first = sorted[0]!;
    const last = sorted.at(-1)!;
    const is_complete =
      numbers[0] === 1 && numbers.at(-1) === numbers.length && last.is_last_page !== false;
    const { statement_id, closed_on } = last;
    if (!is_complete) notes.push({ kind: "incomplete", closed_on, statement_id, amount: 0n });
    return {
      ...{ statement_id, sequence: first.sequence, opened_on: first.opened_on },
      number: group.at(-1)!.number,
      opening: first.opening,
      closing: last.closing,
      closed_on,
      entries: new Map(
        sorted.flatMap(({ entries }) => entries.map((one) => [one.entry_key, one.amount] as const)),
      ),
    };
  });
}

function withBalance(one: Joined, notes: StatementNote[]): Whole[] {
  const { closing, closed_on, statement_id } = one;
  if (closing !== null && closed_on !== null) return [{ ...one, closing, closed_on }];
  notes.push({ kind: "without_balance", closed_on, statement_id, amount: 0n });
  return [];
}

/** The same statement, sent again: a copy counts once, and of two that differ the last one. */
function replaceCorrected(wholes: readonly Whole[], notes: StatementNote[]): Whole[] {
  const current = new Map<string, Whole>();
  for (const one of wholes.toSorted((a, b) => Number(a.number - b.number))) {
    const { statement_id, closed_on, opened_on, sequence } = one;
    const name = [statement_id ?? opened_on, closed_on, sequence].join("\n");
    const before = current.get(name);
    if (before && !isSame(before, one)) {
      const amount = one.closing - before.closing;
      notes.push({ kind: "corrected", closed_on, statement_id, amount });
    }
    current.set(name, one);
  }
  return [...current.values()];
}

function isSame(a: Whole, b: Whole): boolean {
  return (
    a.opening === b.opening &&
    a.closing === b.closing &&
    a.entries.size === b.entries.size &&
    [...a.entries].every(([key, amount]) => b.entries.get(key) === amount)
  );
}

/** By day and number. Those of one day follow each other's balances, if the bank has no numbers. */
function inOrder(wholes: readonly Whole[]): Whole[] {
  const days = Map.groupBy(wholes, ({ closed_on }) => closed_on);
  const ordered: Whole[] = [];
  for (const day of [...days.keys()].sort()) {
    const left = days.get(day)!.toSorted((a, b) => sequenceOf(a) - sequenceOf(b));
    while (left.length > 0) {
      const closing = ordered.at(-1)?.closing;
      const next = left.findIndex(({ opening }) => opening === closing);
      ordered.push(...left.splice(Math.max(next, 0), 1));
    }
  }
  return ordered;
}

function sequenceOf({ sequence, number }: Whole): number {
  const given = Number(sequence ?? Number.NaN);
  return Number.isSafeInteger(given) ? given : Number(number);
}

function sumOf(entries: ReadonlyMap<string, bigint>): bigint {
  return [...entries.values()].reduce((sum, amount) => sum + amount, 0n);
}
