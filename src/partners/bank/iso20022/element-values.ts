import { parseDate } from "../../../catalogue/dates.ts";
import type { XmlElement } from "../../xml-element.ts";
import type { BankReason } from "../report.ts";
import { UnreadableFile } from "../unreadable-file.ts";
import { parseAmount } from "./amount-text.ts";

/** What banks write where a payment has no id. */
const NO_ID = /^(not ?provided|nonref|none|n\/?a|unknown)$/i;

const DAY_LENGTH = 10;

export type Money = { amount: bigint; currency: string };

/** An id, or null if the bank says that there is none. */
export function readId(element: XmlElement | undefined, ...names: readonly string[]) {
  const text = element?.read(...names) ?? null;
  return text === null || NO_ID.test(text) ? null : text;
}

/** The amount in an element such as `<Amt Ccy="EUR">1.50</Amt>`; a wrong one refuses the file. */
export function requireMoney(amount: XmlElement | undefined, place: string): Money {
  const money = readMoney(amount);
  if (!money) {
    const text = amount ? `"${amount.text.trim().slice(0, 40)}"` : "missing";
    throw new UnreadableFile(`The amount of ${place} is ${text}.`);
  }
  return money;
}

/** An amount that does not move money by itself: an unusual one counts as absent. */
export function readMoney(amount: XmlElement | undefined): Money | null {
  const code = amount?.attributes.Ccy;
  if (!amount || !code || !/^[A-Z]{3}$/.test(code)) return null;
  const currency = code.toLowerCase();
  const value = parseAmount(amount.text.trim(), currency);
  return value === undefined ? null : { amount: value, currency };
}

/** Whether an amount is a debit; the direction of money is never guessed. */
export function requireIsDebit(text: string | null, place: string): boolean {
  if (text === "DBIT" || text === "CRDT") return text === "DBIT";
  throw new UnreadableFile(`${place} is neither a credit nor a debit: "${text ?? ""}".`);
}

/** The day of a date or of a date with a time, as the bank wrote it; null if there is none. */
export function readDay(date: XmlElement | undefined): string | null {
  const text = date?.read("Dt") ?? date?.read("DtTm") ?? (date?.text.trim() || null);
  if (text === null) return null;
  const day = parseDate(text.slice(0, DAY_LENGTH));
  if (day === null || !text.startsWith(day)) {
    throw new UnreadableFile(`A date of the file is "${text.slice(0, 40)}".`);
  }
  return day;
}

/** A code of ISO's or of the bank's own list. */
export function readCode(choice: XmlElement | undefined): string | null {
  if (!choice) return null;
  const proprietary = choice.find("Prtry");
  return (
    choice.read("Cd") ??
    proprietary?.read("Cd") ??
    proprietary?.read("Id") ??
    (proprietary?.text.trim() || choice.text.trim() || null)
  );
}

/** The reasons of a status or return: `Rsn` with `AddtlInf` lines, repeated. */
export function readReasons(elements: readonly XmlElement[]): BankReason[] {
  return elements.flatMap((element) => {
    const code = readCode(element.find("Rsn"));
    const text = element.texts("AddtlInf").join(" ") || null;
    return code === null && text === null ? [] : [{ code, text }];
  });
}

/** An account by its IBAN, else by its number. */
export function readAccount(account: XmlElement | undefined): string | null {
  const id = account?.find("Id");
  const iban = id?.read("IBAN")?.replaceAll(" ", "").toUpperCase();
  return iban ?? readId(id, "Othr", "Id") ?? readId(id, "PrtryAcct", "Id");
}
