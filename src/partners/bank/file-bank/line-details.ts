import { DecryptionError } from "../../../platform/encryption/cipher.ts";
import { sealedJson } from "../../../platform/encryption/sealed-column.ts";
import type { AccountEntry } from "../report.ts";
import { lineName } from "./match-entry.ts";
import type { BookedLine } from "./model.ts";

/** What is kept of a line for the person who has to match it. */
export type LineDetails = Pick<
  AccountEntry,
  "debtor" | "creditor" | "text" | "reasons" | "bank_code" | "bank_reference" | "end_to_end_id"
>;

type LineFacts = Pick<BookedLine, "bank_account" | "amount" | "currency" | "booked_on">;
type LineKey = Pick<BookedLine, "entry_key" | "part">;

/**
 * Whoever can write to the database cannot change what is credited: the line's facts are encrypted
 * with its texts. Lines of earlier versions do not have them.
 */
type SealedLine = LineDetails & {
  facts?: readonly (string | null)[];
  /** What a payment that is submitted later is recognised by. */
  named?: readonly string[];
};

const LINE = sealedJson<SealedLine>("bank_lines", "details");

/** Encrypted with the operator's key. */
export function sealLine(
  operator_id: string,
  key: Buffer,
  line: BookedLine & { named_ids: readonly string[] },
): Buffer {
  const { debtor, creditor, text, reasons, bank_code, bank_reference, end_to_end_id } = line;
  const details = { debtor, creditor, text, reasons, bank_code, bank_reference, end_to_end_id };
  const record = { account_id: operator_id, id: lineName(line) };
  return LINE.seal(key, record, { ...details, facts: factsOf(line), named: namedOf(line) });
}

export function openLine(
  operator_id: string,
  key: Buffer,
  line: LineKey & { details: Buffer },
): LineDetails {
  const { facts: _, named: __, ...details } = open(operator_id, key, line);
  return details;
}

/**
 * The same of a credit; null if it is not as it was written. One whose details were deleted after
 * the legal period has neither code nor payer: it credits nothing by itself.
 */
export function openProvenLine(
  operator_id: string,
  key: Buffer,
  line: LineKey & LineFacts & { kind: string; details: Buffer | null },
): Pick<LineDetails, "text" | "debtor"> | null {
  if (line.details === null) return { text: "", debtor: { name: null, account: null } };
  try {
    const opened = open(operator_id, key, { ...line, details: line.details });
    const { facts = factsOf(line), named: [kind] = [line.kind], ...details } = opened;
    const is_credit = kind === line.kind && (kind === "incoming" || kind === "returned");
    return is_credit && JSON.stringify(facts) === JSON.stringify(factsOf(line)) ? details : null;
  } catch (error) {
    if (error instanceof DecryptionError) return null;
    throw error;
  }
}

/** Whether a line that names a payment is as it was written. */
export function isProvenNaming(
  operator_id: string,
  key: Buffer,
  line: LineKey & LineFacts & LineNaming & { details: Buffer | null },
): boolean {
  if (line.details === null) return false;
  try {
    const { facts, named } = open(operator_id, key, { ...line, details: line.details });
    const wanted = [factsOf(line), namedOf(line)];
    return JSON.stringify([facts, named]) === JSON.stringify(wanted);
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    throw error;
  }
}

type LineNaming = { kind: string; named_ids: readonly string[] };

function namedOf({ kind, named_ids }: LineNaming): string[] {
  return [kind, ...named_ids];
}

function open(operator_id: string, key: Buffer, line: LineKey & { details: Buffer }): SealedLine {
  return LINE.open(key, { account_id: operator_id, id: lineName(line) }, line.details);
}

function factsOf({ bank_account, amount, currency, booked_on }: LineFacts) {
  return [bank_account, String(amount), currency, booked_on];
}
