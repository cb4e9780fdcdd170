import { upperAscii } from "../../../catalogue/text.ts";
import { toBankText } from "../iso20022/bank-text.ts";

export const RECORD_LENGTH = 94;
/** Blocks of ten records; the last one is filled with records of nines. */
export const BLOCKING_FACTOR = 10;
export const FILLER = "9".repeat(RECORD_LENGTH);
const HASH_DIGITS = 10;

/** Upper-case text, cut or filled on the right: for what identifies nobody. */
export function words(text: string, width: number): string {
  return upperAscii(toBankText(text)).slice(0, width).padEnd(width);
}

/** An identifier as it is, filled on the right; one that is too long is never cut. */
export function exact(text: string, width: number): string {
  if (text.length > width || !/^[\x20-\x7e]*$/.test(text)) {
    throw new RangeError(`"${text}" does not fit into ${width} characters of a NACHA record`);
  }
  return text.padEnd(width);
}

/** A number with leading zeros; one that is too long is never cut. */
export function digits(number: bigint | number, width: number): string {
  const text = String(number);
  if (text.length > width || !/^\d+$/.test(text)) {
    throw new RangeError(`${text} does not fit into ${width} digits of a NACHA record`);
  }
  return text.padStart(width, "0");
}

/** YYMMDD of YYYY-MM-DD. */
export function shortDate(date: string): string {
  return date.slice(2).replaceAll("-", "");
}

export function record(...fields: readonly string[]): string {
  const line = fields.join("");
  if (line.length !== RECORD_LENGTH) {
    throw new RangeError(`a NACHA record has ${RECORD_LENGTH} characters, not ${line.length}`);
  }
  return line;
}

/** What batches and files count over their entries, to be compared by who reads them. */
export class AchTotals {
  /** Entries and addenda. */
  count = 0;
  debits = 0n;
  credits = 0n;
  #hash = 0n;

  addEntry(transaction_code: string, routing_number: string, amount: bigint): void {
    this.count += 1;
    this.#hash += BigInt(routing_number.slice(0, 8));
    if (isDebitCode(transaction_code)) this.debits += amount;
    else this.credits += amount;
  }

  add(other: AchTotals): void {
    this.count += other.count;
    this.debits += other.debits;
    this.credits += other.credits;
    this.#hash += other.#hash;
  }

  /** The sum of the banks' numbers, without what exceeds ten digits. */
  get hash(): string {
    return String(this.#hash).slice(-HASH_DIGITS).padStart(HASH_DIGITS, "0");
  }
}

/** The second digit of a transaction code: up to 4 is a credit, from 5 a debit. */
function isDebitCode(transaction_code: string): boolean {
  return transaction_code[1]! >= "5";
}
