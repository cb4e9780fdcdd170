import {
  type AchBatch,
  type AchCredit,
  type AchFile,
  CREDIT_CODES,
  checkCredit,
  DEBIT_CODES,
  ENTRY_AMOUNT_MAX,
} from "./ach-file.ts";
import {
  AchTotals,
  BLOCKING_FACTOR,
  digits,
  exact,
  FILLER,
  record,
  shortDate,
  words,
} from "./record-text.ts";

const LINE_END = "\n";
const MIXED_CLASS = "200";
const CREDITS_CLASS = "220";

type Credits = AsyncIterable<AchCredit> | Iterable<AchCredit>;

/** A batch with its credits, which are read when their turn comes. */
export type AchBatchWithCredits = AchBatch & { credits: Credits };

/**
 * A NACHA file in pieces, one record at a time. If a piece throws, the file must be thrown away: a
 * file without its last records is refused by every reader.
 */
export async function* writeAch(
  file: AchFile,
  batches: readonly AchBatchWithCredits[],
): AsyncGenerator<string> {
  const totals = new AchTotals();
  const traces = { last: 0 };
  let records = 1;
  yield fileHeader(file) + LINE_END;
  for (const batch of batches) {
    const of_batch = new AchTotals();
    for await (const line of writeBatch(batch, of_batch, traces)) {
      records += 1;
      yield line + LINE_END;
    }
    totals.add(of_batch);
  }
  records += 1;
  const blocks = Math.ceil(records / BLOCKING_FACTOR);
  yield fileControl(batches.length, blocks, totals) + LINE_END;
  yield `${FILLER}${LINE_END}`.repeat(blocks * BLOCKING_FACTOR - records);
}

async function* writeBatch(
  batch: AchBatchWithCredits,
  totals: AchTotals,
  traces: { last: number },
): AsyncGenerator<string> {
  yield batchHeader(batch);
  for await (const credit of batch.credits) {
    const [problem] = checkCredit(credit);
    if (problem) throw new Error(`${credit.id}: ${problem.message}`);
    takeTrace(traces, credit.trace_sequence);
    totals.addEntry(CREDIT_CODES[credit.account_type], credit.routing_number, credit.amount);
    yield creditEntry(batch, credit);
    if (credit.text !== null && credit.text.trim() !== "") {
      totals.count += 1;
      yield addendum(credit.text, credit.trace_sequence);
    }
  }
  if (totals.count === 0) throw new Error("a NACHA batch has at least one entry");
  if (batch.offset) yield offsetEntry(batch, batch.offset, totals, traces);
  yield batchControl(batch, totals);
}

/** Traces ascend; a repeated one would make two payments one in a return. */
function takeTrace(traces: { last: number }, sequence: number): void {
  if (sequence <= traces.last) throw new Error(`trace ${sequence} follows ${traces.last}`);
  traces.last = sequence;
}

function fileHeader(file: AchFile): string {
  if (!/^[A-Z0-9]$/.test(file.modifier)) throw new Error("a file's modifier is A to Z or 0 to 9");
  return record(
    "101",
    ` ${exact(file.destination, 9)}`,
    exact(file.origin, 10),
    shortDate(file.created_on),
    file.created_at.replace(":", ""),
    file.modifier,
    "094101",
    words(file.destination_name, 23),
    words(file.origin_name, 23),
    words("", 8),
  );
}

function batchHeader(batch: AchBatch): string {
  return record(
    "5",
    classOf(batch),
    words(batch.company_name, 16),
    words("", 20),
    exact(batch.company_id, 10),
    batch.entry_class,
    words(batch.description, 10),
    shortDate(batch.effective_date),
    shortDate(batch.effective_date),
    "   ",
    "1",
    digits(BigInt(batch.originating_bank), 8),
    digits(batch.number, 7),
  );
}

function creditEntry(batch: AchBatch, credit: AchCredit): string {
  const has_addendum = credit.text !== null && credit.text.trim() !== "";
  return record(
    "6",
    CREDIT_CODES[credit.account_type],
    exact(credit.routing_number, 9),
    exact(credit.account_number, 17),
    digits(credit.amount, 10),
    exact(credit.id, 15),
    words(credit.name, 22),
    "  ",
    has_addendum ? "1" : "0",
    traceNumberOf(batch.originating_bank, credit.trace_sequence),
  );
}

function addendum(text: string, trace_sequence: number): string {
  return record("705", words(text, 80), "0001", digits(trace_sequence, 7));
}

/** The debit of our own account that makes debits and credits of the batch equal. */
function offsetEntry(
  batch: AchBatch,
  offset: NonNullable<AchBatch["offset"]>,
  totals: AchTotals,
  traces: { last: number },
): string {
  const amount = totals.credits;
  if (amount > ENTRY_AMOUNT_MAX)
    throw new Error("an offset is at most 99999999.99: split the batch");
  takeTrace(traces, offset.trace_sequence);
  totals.addEntry(DEBIT_CODES[offset.account_type], offset.routing_number, amount);
  return record(
    "6",
    DEBIT_CODES[offset.account_type],
    exact(offset.routing_number, 9),
    exact(offset.account_number, 17),
    digits(amount, 10),
    words("OFFSET", 15),
    words(offset.name, 22),
    "  ",
    "0",
    traceNumberOf(batch.originating_bank, offset.trace_sequence),
  );
}

function batchControl(batch: AchBatch, totals: AchTotals): string {
  return record(
    "8",
    classOf(batch),
    digits(totals.count, 6),
    totals.hash,
    digits(totals.debits, 12),
    digits(totals.credits, 12),
    exact(batch.company_id, 10),
    words("", 25),
    digits(BigInt(batch.originating_bank), 8),
    digits(batch.number, 7),
  );
}

function fileControl(batches: number, blocks: number, totals: AchTotals): string {
  return record(
    "9",
    digits(batches, 6),
    digits(blocks, 6),
    digits(totals.count, 8),
    totals.hash,
    digits(totals.debits, 12),
    digits(totals.credits, 12),
    words("", 39),
  );
}

/** The number that follows a payment through ACH: the bank's eight digits and our sequence. */
export function traceNumberOf(originating_bank: string, sequence: number): string {
  return exact(originating_bank, 8).trimEnd().padStart(8, "0") + digits(sequence, 7);
}

function classOf(batch: AchBatch): string {
  return batch.offset ? MIXED_CLASS : CREDITS_CLASS;
}
