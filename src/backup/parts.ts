import type { PartHead, Sum, Totals } from "./model.ts";
import { openSum } from "./sums.ts";

/**
 * A backup's content is a sequence of records: 1 byte kind, 4 bytes length, the bytes. A part is
 * its head (JSON), its content (data) and its sum (JSON); the totals (JSON) follow the last part.
 */
const JSON_RECORD = 1;
const DATA_RECORD = 2;
const RECORD_HEAD_BYTES = 5;
const DATA_BYTES_MAX = 64 * 1024;
const RECORD_BYTES_MAX = 4 * 1024 * 1024;

export type Part = { head: PartHead; content: AsyncIterable<Buffer> };

/** The content does not say what it should: a fault of the file, not of the program. */
export class MalformedBackup extends Error {}

/** Writes parts one after the other; `missing_files` is asked at the end. */
export async function* encodeParts(
  parts: AsyncIterable<Part>,
  missing_files: () => number,
): AsyncGenerator<Buffer> {
  const totals = noTotals();
  for await (const { head, content } of parts) {
    yield jsonRecord(head);
    const sum = openSum(head);
    for await (const chunk of content) {
      sum.add(chunk);
      for (let at = 0; at < chunk.length; at += DATA_BYTES_MAX) {
        yield* record(DATA_RECORD, chunk.subarray(at, at + DATA_BYTES_MAX));
      }
    }
    const summed = sum.end();
    count(totals, head, summed);
    yield jsonRecord(summed);
  }
  yield jsonRecord({ ...totals, missing_files: missing_files() });
}

/**
 * Reads parts again. Whoever takes a part reads its content to the end, before the next one; its
 * sum is compared then. `onTotals` is called once all of it was read.
 */
export async function* decodeParts(
  bytes: AsyncIterable<Buffer>,
  onTotals: (totals: Totals) => void,
): AsyncGenerator<Part> {
  const records = readRecords(bytes);
  const totals = noTotals();
  for (;;) {
    const said = await nextJson(records);
    if (!("part" in said)) {
      assertEqual({ ...totals, missing_files: said.missing_files }, said, "totals");
      if (!(await records.next()).done) throw new MalformedBackup("it goes on after its end");
      onTotals(said);
      return;
    }
    const head = said;
    let is_read = false;
    const content = async function* () {
      const sum = openSum(head);
      for (;;) {
        const { kind, bytes: content } = await nextRecord(records);
        if (kind === DATA_RECORD) {
          sum.add(content);
          yield content;
          continue;
        }
        const summed = sum.end();
        assertEqual(summed, parse(content), head.part);
        count(totals, head, summed);
        is_read = true;
        return;
      }
    };
    yield { head, content: content() };
    if (!is_read) throw new Error(`a ${head.part} of the backup was not read to its end`);
  }
}

function noTotals(): Totals {
  return { files: 0, tables: 0, rows: 0, bytes: 0, missing_files: 0 };
}

function count(totals: Totals, { part }: PartHead, { bytes, rows }: Sum): void {
  if (part === "file") totals.files += 1;
  if (part === "table") totals.tables += 1;
  totals.rows += rows;
  totals.bytes += bytes;
}

type ReadRecord = { kind: number; bytes: Buffer };

function jsonRecord(value: object): Buffer {
  return Buffer.concat([...record(JSON_RECORD, Buffer.from(JSON.stringify(value)))]);
}

function* record(kind: number, bytes: Buffer): Generator<Buffer> {
  const head = Buffer.alloc(RECORD_HEAD_BYTES);
  head.writeUInt8(kind, 0);
  head.writeUInt32BE(bytes.length, 1);
  yield head;
  yield bytes;
}

async function* readRecords(bytes: AsyncIterable<Buffer>): AsyncGenerator<ReadRecord> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length >= RECORD_HEAD_BYTES) {
      const length = held.readUInt32BE(1);
      if (length > RECORD_BYTES_MAX) throw new MalformedBackup("a record of it is too long");
      const end = RECORD_HEAD_BYTES + length;
      if (held.length < end) break;
      yield { kind: held.readUInt8(0), bytes: held.subarray(RECORD_HEAD_BYTES, end) };
      held = held.subarray(end);
    }
  }
  if (held.length > 0) throw new MalformedBackup("it ends within a record");
}

async function nextRecord(records: AsyncGenerator<ReadRecord>): Promise<ReadRecord> {
  const { done, value } = await records.next();
  if (done) throw new MalformedBackup("it ends early");
  return value;
}

async function nextJson(records: AsyncGenerator<ReadRecord>): Promise<PartHead | Totals> {
  const { kind, bytes } = await nextRecord(records);
  if (kind !== JSON_RECORD) throw new MalformedBackup("a part of it has no head");
  return parse(bytes) as PartHead | Totals;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new MalformedBackup("a record of it is no JSON");
  }
}

function assertEqual(found: object, said: unknown, what: string): void {
  if (JSON.stringify(found) === JSON.stringify(said)) return;
  throw new MalformedBackup(`the sum of a part (${what}) is another one`);
}
