import type { Transaction } from "../../../platform/db/database.ts";
import type { BookedLine, FileBankAccount } from "./model.ts";
import {
  listAchPayments,
  listCreditsNamed,
  listTakenBack,
  type Money,
  type NamedCredit,
} from "./uncertain-store.ts";

export const TAKEN_BACK =
  "The bank took this amount back: find out whether it is this credit. If it is not, settle it " +
  "with --deposit or --payment.";

export const SAME_REFERENCE =
  "Another credit has this reference of the bank: ask whether both came in. If they did, settle " +
  "it with --deposit or --payment.";

/** Zeros are no reference. */
const REFERENCE = /[1-9A-Z]/i;

export function isTaken({ kind }: Pick<BookedLine, "kind">): boolean {
  return kind === "taken_back";
}

function isCredit({ kind }: BookedLine): boolean {
  return kind === "incoming" || kind === "returned";
}

function isNamed(line: BookedLine): line is BookedLine & NamedCredit {
  return isCredit(line) && line.line_reference !== null && REFERENCE.test(line.line_reference);
}

/** A credit cannot be taken back before it came; one that comes later is another one. */
export async function openTakenBack(
  tx: Transaction,
  lines: readonly BookedLine[],
): Promise<(line: BookedLine) => boolean> {
  const credits = lines.filter(isCredit);
  const earlier = credits.length === 0 ? [] : await listTakenBack(tx, credits);
  const by_money = Map.groupBy<string, Money>([...earlier, ...lines.filter(isTaken)], moneyOf);
  return (line) =>
    isCredit(line) &&
    (by_money.get(moneyOf(line)) ?? []).some(
      ({ booked_on }) =>
        booked_on === null || line.booked_on === null || line.booked_on <= booked_on,
    );
}

function moneyOf({ bank_account, amount, currency }: Money): string {
  return `${bank_account}\n${amount} ${currency}`;
}

/** Whether an earlier line has the reference of a credit; the first one keeps it. */
export async function openReferences(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  lines: readonly BookedLine[],
): Promise<(line: BookedLine) => boolean> {
  const credits = lines.filter(isNamed);
  const nameOf = ({ bank_account, line_reference }: NamedCredit) =>
    `${bank_account}\n${line_reference}`;
  const known = credits.length === 0 ? [] : await listCreditsNamed(tx, credits);
  const by_name = Map.groupBy<string, NamedCredit>([...known, ...credits], nameOf);
  const days = new Map(accounts.map(({ name, reference_days }) => [name, reference_days]));
  return (line) => {
    if (!isNamed(line)) return false;
    const others = by_name.get(nameOf(line)) ?? [];
    const at = others.findIndex(({ entry_key }) => entry_key === line.entry_key);
    return others
      .slice(0, at)
      .some((other) => daysBetween(other, line) <= days.get(line.bank_account)!);
  };
}

function daysBetween(one: NamedCredit, other: NamedCredit): number {
  if (one.booked_on === null || other.booked_on === null) return 0;
  const [from, to] = [one.booked_on, other.booked_on].sort();
  return Temporal.PlainDate.from(from!).until(to!).days;
}

/** How banks in the United States call what came back. */
const RETURN_WORDS = /\b(?:RETURN(?:ED|S)?|RTN|RTRN|RTND)\b/i;

/** Credits of BAI's list that are returns, reversals and corrections. */
const RETURN_CODES: ReadonlySet<string> = new Set(
  "168 252 254 255 256 257 258 261 266 268".split(" "),
);
/** ISO's families of payments that we ordered: a credit is one that came back. */
const ORDERED = /^PMNT\/I(?:CDT|RCT)\b/;

/** Money that others sent, by ISO's families, or by BAI's codes of ACH, wires and transfers. */
const RECEIVED = /^PMNT\/R(?:CDT|RCT)\b|^(?:142|164|165|195|206|208)$/;

/** Banks send an ACH payment back within some days, or later with the consent of both. */
const RETURNED_DAYS = 60;

/**
 * Whether a credit without an id can be a return of an ACH payment, which a NACHA file tells as
 * well. Its line may have the payee's name, into which a caller can write the code of an onramp: it
 * would be paid out twice. ACH returns whole payments, so only one of the same amount is meant.
 */
export async function openAchReturns(
  tx: Transaction,
  accounts: readonly FileBankAccount[],
  lines: readonly BookedLine[],
): Promise<(line: BookedLine) => boolean> {
  const pays_by_ach = accounts.some(({ routes }) => routes.some(({ scheme }) => scheme === "ach"));
  // Banks may credit returns to another account than the one that paid.
  const isConcerned = ({ kind, currency }: BookedLine) =>
    pays_by_ach && kind === "incoming" && currency === "usd";
  const unclear = lines.filter((line) => isConcerned(line) && !isReceived(line));
  const days = unclear.flatMap(({ booked_on }) => booked_on ?? []).sort();
  const payments =
    days.length === 0
      ? []
      : await listAchPayments(
          tx,
          unclear.map(({ amount }) => amount),
          { from: addDays(days[0]!, -RETURNED_DAYS), to: addDays(days.at(-1)!, 1) },
        );
  const by_amount = Map.groupBy(payments, ({ amount }) => amount);
  const isOfPayment = ({ amount, booked_on }: BookedLine) =>
    (by_amount.get(amount) ?? []).some(
      ({ execution_date }) =>
        booked_on !== null &&
        booked_on >= addDays(execution_date, -1) &&
        booked_on <= addDays(execution_date, RETURNED_DAYS),
    );
  return (line) =>
    isConcerned(line) && (isCalledReturn(line) || (!isReceived(line) && isOfPayment(line)));
}

function isCalledReturn({ codes, text }: BookedLine): boolean {
  return (
    RETURN_WORDS.test(text) || codes.some((code) => RETURN_CODES.has(code) || ORDERED.test(code))
  );
}

function isReceived({ codes }: BookedLine): boolean {
  return codes.some((code) => RECEIVED.test(code));
}

function addDays(day: string, days: number): string {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}
