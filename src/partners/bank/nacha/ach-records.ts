import { UnreadableFile } from "../unreadable-file.ts";
import { RECORD_LENGTH } from "./record-text.ts";

/**
 * The records of a NACHA file. Lines may end with any line end, may have lost the spaces at their
 * ends, and may hold several records, up to all of them, one every 94 characters.
 */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  bytes_max: number,
): AsyncGenerator<string> {
  let rest = "";
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > bytes_max) throw new UnreadableFile("The file is too large.");
    rest += Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString("latin1");
    const lines = rest.split(/[\r\n]+/);
    rest = lines.pop()!;
    for (const line of lines) yield* recordsOf(line);
    // A file without line ends: what is longer than a record is one record at least.
    const whole_length = rest.length - (rest.length % RECORD_LENGTH) - RECORD_LENGTH;
    if (whole_length <= 0) continue;
    yield* recordsOf(rest.slice(0, whole_length));
    rest = rest.slice(whole_length);
  }
  yield* recordsOf(rest);
}

function recordsOf(line: string): string[] {
  if (line.trim() === "") return [];
  const text = line.trimEnd();
  if (text.length <= RECORD_LENGTH) return [text.padEnd(RECORD_LENGTH)];
  if (line.length % RECORD_LENGTH === 0) {
    const count = line.length / RECORD_LENGTH;
    return Array.from({ length: count }, (_, at) =>
      line.slice(at * RECORD_LENGTH, (at + 1) * RECORD_LENGTH),
    );
  }
  // Only ASCII is allowed, but names in UTF-8 occur: they have more bytes than characters.
  const utf8 = Buffer.from(text, "latin1").toString("utf8");
  if (utf8.length <= RECORD_LENGTH) return [utf8.padEnd(RECORD_LENGTH)];
  throw new UnreadableFile(`A line of the file has ${text.length} characters instead of 94.`);
}
