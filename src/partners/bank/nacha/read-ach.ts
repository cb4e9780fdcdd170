import { UnreadableFile } from "../unreadable-file.ts";
import { readRecords } from "./ach-records.ts";
import { type CorrectedData, readCorrection } from "./corrections.ts";
import { AchTotals, FILLER } from "./record-text.ts";

/** An entry that came back from ACH, with what its addendum says. */
type AchEntry = {
  /** Cents of the entry; a notification of change has none. */
  amount: bigint;
  /** Of the payee, as we sent it. */
  account_number: string;
  /** Our id of the payment. */
  id: string;
  name: string;
  /** The number of this record, not of our payment. */
  trace_number: string;
  company_id: string;
  /** Whether our entry was a debit; our payouts are credits. */
  is_of_debit: boolean;
};

/** The payee's bank sent a payment back. */
type AchReturn = AchEntry & {
  kind: "returned";
  /** R01 to R85; empty if the addendum is missing. */
  code: string;
  original_trace_number: string;
  text: string;
};

/** The payment stood, but the payee's bank asks for other data next time. */
type AchCorrection = AchEntry & {
  kind: "correction";
  /** C01 to C14. */
  code: string;
  original_trace_number: string;
  corrected: CorrectedData | null;
  /** The 29 characters as they were sent. */
  text: string;
};

/** The ACH operator refused an entry before it reached the payee's bank. */
type AchReject = AchEntry & { kind: "rejected"; code: string };

/** An entry that is neither, for a person. */
type AchOther = AchEntry & { kind: "other"; text: string };

export type AchItem = AchReturn | AchCorrection | AchReject | AchOther;

const BYTES_MAX = 256 * 1024 * 1024;
/** Codes of returns and notifications of change that concern debits: 26, 36 and others in 6. */
const OF_DEBIT = /^[2-5]6$/;
/** And of those that concern credits: 21, 31 and others in 1. */
const OF_CREDIT = /^[2-5]1$/;

/**
 * Reads the returns and notifications of change of a NACHA file. Amounts and hashes must agree with
 * the totals of batches and file, and the last record must be there; counts of records may differ,
 * since banks renumber. Items count only if the whole file was read.
 */
export async function* readAch(
  bytes: AsyncIterable<Uint8Array>,
  bytes_max = BYTES_MAX,
): AsyncGenerator<AchItem> {
  const reader = new AchReader();
  let lines = 0;
  for await (const line of readRecords(bytes, bytes_max)) {
    lines += 1;
    yield* reader.read(line, lines);
  }
  reader.requireEnd();
}

type Batch = { entry_class: string; company_id: string; totals: AchTotals };
type Entry = { line: string; addenda: string[] };

/**
 * States: before a file (no totals), in a file, in a batch, after an entry. Records 1, 5, 6, 8 and
 * 9 lead from one to the next and back; any other order is refused.
 */
class AchReader {
  #file: AchTotals | null = null;
  #batch: Batch | null = null;
  #entry: Entry | null = null;
  #files = 0;

  read(line: string, number: number): AchItem[] {
    switch (line[0]) {
      case "1":
        return this.#beginFile(number);
      case "5":
        return this.#beginBatch(line, number);
      case "6":
        return this.#beginEntry(line, number);
      case "7":
        if (!this.#entry) throw misplaced(number);
        this.#entry.addenda.push(line);
        return [];
      case "8":
        return this.#endBatch(line, number);
      case "9":
        return this.#endFile(line, number);
      default:
        throw new UnreadableFile(`Line ${number} begins with "${line[0]}", which is no record.`);
    }
  }

  requireEnd(): void {
    if (this.#file || this.#files === 0) throw new UnreadableFile("The file is cut off.");
  }

  #beginFile(number: number): AchItem[] {
    if (this.#file) throw misplaced(number);
    this.#file = new AchTotals();
    return [];
  }

  #beginBatch(line: string, number: number): AchItem[] {
    if (!this.#file || this.#batch) throw misplaced(number);
    const entry_class = line.slice(50, 53);
    this.#batch = { entry_class, company_id: line.slice(40, 50).trim(), totals: new AchTotals() };
    return [];
  }

  #beginEntry(line: string, number: number): AchItem[] {
    if (!this.#batch) throw misplaced(number);
    const item = this.#finishEntry();
    const [code, routing] = [line.slice(1, 3), line.slice(3, 12)];
    if (!/^\d{2}$/.test(code) || !/^\d{8}/.test(routing) || !/^\d{10}$/.test(line.slice(29, 39))) {
      throw new UnreadableFile(`The code, bank or amount in line ${number} is not a number.`);
    }
    this.#batch.totals.addEntry(code, routing, BigInt(line.slice(29, 39)));
    this.#entry = { line, addenda: [] };
    return item;
  }

  #endBatch(line: string, number: number): AchItem[] {
    if (!this.#file || !this.#batch) throw misplaced(number);
    const items = this.#finishEntry();
    requireTotals(this.#batch.totals, line, 10, `the batch that ends in line ${number}`);
    this.#file.add(this.#batch.totals);
    this.#batch = null;
    return items;
  }

  #endFile(line: string, number: number): AchItem[] {
    if (!this.#file && line === FILLER && this.#files > 0) return [];
    if (!this.#file || this.#batch) throw misplaced(number);
    requireTotals(this.#file, line, 21, "the file");
    this.#file = null;
    this.#files += 1;
    return [];
  }

  #finishEntry(): AchItem[] {
    const entry = this.#entry;
    this.#entry = null;
    return entry && this.#batch ? [itemOf(entry, this.#batch)] : [];
  }
}

function itemOf({ line, addenda }: Entry, batch: Batch): AchItem {
  // An international entry has its payee's account where others have id and name.
  const is_international = batch.entry_class === "IAT";
  const entry = {
    amount: BigInt(line.slice(29, 39)),
    account_number: (is_international ? line.slice(39, 74) : line.slice(12, 29)).trim(),
    id: is_international ? "" : line.slice(39, 54).trim(),
    name: is_international ? "" : line.slice(54, 76).trim(),
    trace_number: line.slice(79, 94).trim(),
    company_id: batch.company_id,
    is_of_debit: OF_DEBIT.test(line.slice(1, 3)),
  };
  const told = addenda.find((addendum) => /^7(98|99)/.test(addendum));
  if (!told) {
    const { trace_number } = entry;
    if (trace_number.startsWith("REJ")) {
      return { kind: "rejected", ...entry, code: trace_number.slice(0, 8) };
    }
    const text = addenda.map((one) => one.slice(3, 83).trim()).join(" ");
    if (!entry.is_of_debit && !OF_CREDIT.test(line.slice(1, 3))) {
      return { kind: "other", ...entry, text };
    }
    return { kind: "returned", ...entry, code: "", original_trace_number: "", text };
  }
  const code = told.slice(3, 6);
  const original_trace_number = told.slice(6, 21).trim();
  if (told.startsWith("799")) {
    // That of an international entry begins with the amount.
    const text = told.slice(is_international ? 45 : 35, 79).trim();
    return { kind: "returned", ...entry, code, original_trace_number, text };
  }
  const data = told.slice(35, 64);
  const corrected = readCorrection(code, data);
  return {
    kind: "correction",
    ...entry,
    code,
    original_trace_number,
    corrected,
    text: data.trim(),
  };
}

/** Hash, debits and credits of a control record, from the column of its hash. */
function requireTotals(totals: AchTotals, line: string, from: number, place: string): void {
  const stated = line.slice(from, from + 34);
  const counted =
    totals.hash +
    String(totals.debits).padStart(12, "0") +
    String(totals.credits).padStart(12, "0");
  if (stated !== counted) {
    throw new UnreadableFile(`The hash or the sums of ${place} are not those of its entries.`);
  }
}

function misplaced(number: number): UnreadableFile {
  return new UnreadableFile(`Line ${number} is a record that cannot stand there.`);
}
