import { readReport } from "../iso20022/read-report.ts";
import { readAch } from "../nacha/read-ach.ts";
import type { BankItem } from "./apply-report.ts";

/** The first record of a NACHA file: the type, a priority, and where the file goes. */
const ACH_START = /^\s*1\d{2}[ \d]\d{9}/;
const START_BYTES = 200;

/** Reads a file of a bank, whose first bytes tell its format. The file is closed at the end. */
export async function* readBankFile(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<BankItem> {
  const source = bytes[Symbol.asyncIterator]();
  try {
    const read: Uint8Array[] = [];
    let start = Buffer.alloc(0);
    while (start.length < START_BYTES) {
      const { value, done } = await source.next();
      if (done) break;
      read.push(value);
      start = Buffer.concat(read);
    }
    const whole = joined(read, source);
    if (!ACH_START.test(start.subarray(0, START_BYTES).toString("latin1"))) {
      yield* readReport(whole);
      return;
    }
    for await (const item of readAch(whole)) yield { kind: "ach", item };
  } finally {
    // A reader that gives up within the first bytes has not reached the source.
    await source.return?.();
  }
}

async function* joined(
  read: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* read;
  yield* { [Symbol.asyncIterator]: () => rest };
}
