import type { Core } from "../../app/open-core.ts";
import { ledgerDigits } from "../../ledger/model.ts";
import { readBanks } from "../../partners/bank/file-bank/open.ts";
import { minorToText } from "../../platform/money.ts";
import { StartupError } from "../../platform/startup-error.ts";
import type { StatementNote } from "../../reconcile/banks/judge-statements.ts";
import {
  type BankCandidate,
  type ReconciledBank,
  reconcileBank,
} from "../../reconcile/banks/reconcile-bank.ts";

/** How many candidates are printed; all of them are in the document. */
const PRINTED_MAX = 50;

/** What was found in bank accounts: whether nothing differs, the document, and lines of text. */
export async function reconcileBanks(core: Core, bank_account: string | undefined) {
  const { banks_file } = core.config;
  if (banks_file === undefined) {
    throw new StartupError("SLIPROAD_BANKS_FILE is not set: there is no real bank.");
  }
  const names = readBanks(banks_file).accounts.map(({ name }) => name);
  const chosen = names.filter((name) => bank_account === undefined || name === bank_account);
  if (chosen.length === 0) throw new StartupError(`The file has no account ${bank_account}.`);
  const deps = { ...core, operator_id: core.first_start.operator.id };
  const results: ReconciledBank[] = [];
  const lines: string[] = [];
  for (const name of chosen) {
    const found = await reconcileBank(deps, name);
    results.push(...found);
    const is_without = found.every(({ days }) => days.length === 0);
    if (is_without) lines.push(`${name}: no statement with a closing balance was read yet`);
    lines.push(...found.flatMap(describe));
  }
  return { is_same: results.every(isSame), document: results.map(toDocument), lines };
}

function isSame({ days, tampered }: ReconciledBank): boolean {
  return tampered.length === 0 && (days.at(-1)?.difference ?? 0n) === 0n;
}

function toDocument({ bank_account, currency, days, candidates, ...found }: ReconciledBank) {
  const text = (amount: bigint) => minorToText(amount, ledgerDigits(currency));
  return {
    ...{ bank_account, currency, ledger: text(found.ledger_now) },
    days: days.map(({ closed_on, closing, ledger, difference }) => {
      const amounts = { closing: text(closing), ledger: text(ledger) };
      return { closed_on, ...amounts, difference: text(difference) };
    }),
    candidates: candidates.map(({ lines, amount, ...one }) => ({
      ...one,
      amount: text(amount),
      lines: lines.map(({ number, problem }) => ({ id: `line-${number}`, problem })),
    })),
    notes: found.notes.map((note) => ({ ...note, amount: text(note.amount) })),
    tampered: found.tampered,
  };
}

const KINDS: Readonly<Record<BankCandidate["kind"], string>> = {
  opening: "opening balance: sliproad treasury open books it",
  not_in_books: "on a statement, not in the books",
  not_on_statement: "in the books, on no statement",
  statements: "between statements: one is missing, or does not add up",
  ledger: "in the ledger without a record: run sliproad verify",
};

const EFFECTS: Readonly<Record<NonNullable<BankCandidate["effect"]>, string>> = {
  booked: "a payout that the bank reported as booked",
  returned: "a payout that the bank reported as returned",
  implied: "a payout that came back before the bank reported its booking",
  rejected: "a payout that was booked and then rejected",
  sent_back: "money that was returned to its sender",
  deposit: "a deposit",
  moving: "a deposit that is being matched",
  bank_opened: "an opening balance",
  bank_transfer: "an own transfer",
  bank_fee: "a fee",
};

function noteText({ kind, closed_on, statement_id }: StatementNote, amount: string): string {
  const name = `statement ${statement_id ?? ""} of ${closed_on ?? "no date"}`;
  switch (kind) {
    case "incomplete":
      return `${name}: a page is missing`;
    case "corrected":
      return `${name}: the bank sent it again; its closing balance changed by ${amount}`;
    case "missing":
      return `${name}: it opens ${amount} off the previous closing balance; one may be missing`;
    case "does_not_add_up":
      return `${name}: its lines and balances differ by ${amount}`;
    case "overlaps":
      return `${name}: it repeats lines of an earlier statement; they count once`;
    case "without_balance":
      return `${name}: it has no closing balance and cannot be compared`;
  }
}

function describe(result: ReconciledBank): string[] {
  const { bank_account, currency, days, candidates, notes, tampered } = result;
  const text = (amount: bigint) => minorToText(amount, ledgerDigits(currency));
  const shown = days.filter(
    ({ difference }, at) =>
      at === days.length - 1 || difference !== (days[at - 1]?.difference ?? 0n),
  );
  return [
    ...shown.map(({ closed_on, closing, ledger, difference }) => {
      const verdict = difference === 0n ? "nothing found" : `DIFFERENT by ${text(difference)}`;
      const amounts = `ledger ${text(ledger)}, statement ${text(closing)}`;
      return `${bank_account} ${closed_on}  ${currency}: ${amounts}: ${verdict}`;
    }),
    ...tampered.map(
      (name) => `  CHANGED in the database: the statement that was read from ${name}`,
    ),
    ...notes.map((note) => `  ${noteText(note, `${text(note.amount)} ${currency}`)}`),
    ...candidates.slice(0, PRINTED_MAX).map((one) => describeCandidate(one, text(one.amount))),
    ...(candidates.length > PRINTED_MAX
      ? [`  and ${candidates.length - PRINTED_MAX} more; --json lists them`]
      : []),
  ];
}

function describeCandidate(one: BankCandidate, amount: string): string {
  const { kind, day, reference, effect, lines } = one;
  const what = effect ? ` (${EFFECTS[effect]})` : "";
  const named = lines.map(({ number, problem }) => `\n    line-${number}: ${problem}`).join("");
  const where = lines.length > 0 || reference === null ? "" : `\n    ${reference}`;
  return `  ${amount}  ${day ?? ""}  ${KINDS[kind]}${what}${named}${where}`;
}
