import { crc32 } from "node:zlib";
import type { FileType } from "./judge-file.ts";

/** Why a file cannot be looked at, or null when it is whole. */
export type FileFault = "truncated" | "malformed" | "too_small";

const SIDE_MIN_PIXELS = 100;
const SIDE_MAX_PIXELS = 30_000;
const PDF_TAIL_BYTES = 2048;
const SEGMENTS_MAX = 10_000;

/**
 * Whether a file is what its first bytes claim, to its end. It is read as a stream and nothing of
 * it is decoded: a picture that has dimensions, data and an end is one that a viewer opens.
 */
export async function inspectFile(
  type: FileType,
  content: AsyncIterable<Buffer>,
): Promise<FileFault | null> {
  const reader = createReader(content);
  try {
    const inspect = { jpg: inspectJpeg, png: inspectPng, pdf: inspectPdf }[type];
    return await inspect(reader);
  } catch (error) {
    if (error === ENDED) return "truncated";
    throw error;
  } finally {
    await reader.close();
  }
}

const JPEG_END = Buffer.from([0xff, 0xd9]);
const ENDED = Symbol("the file ended");

type Reader = {
  /** Exactly this many bytes; throws when there are fewer. */
  take(bytes: number): Promise<Buffer>;
  skip(bytes: number, look?: (part: Buffer) => void): Promise<void>;
  /** Whether these bytes stand somewhere in what is left. */
  finds(bytes: Buffer): Promise<boolean>;
  /** The last bytes of what is left. */
  tail(bytes: number): Promise<Buffer>;
  close(): Promise<void>;
};

async function inspectJpeg(reader: Reader): Promise<FileFault | null> {
  if (!(await reader.take(2)).equals(Buffer.from([0xff, 0xd8]))) return "malformed";
  const seen = new Set<string>();
  for (let segments = 0; segments < SEGMENTS_MAX; segments += 1) {
    const [mark] = await reader.take(1);
    let [kind] = await reader.take(1);
    // Any number of FF may stand before a marker.
    while (kind === 0xff) [kind] = await reader.take(1);
    if (mark !== 0xff || kind === undefined || kind === 0xd9) return "malformed";
    const length = (await reader.take(2)).readUInt16BE();
    if (length < 2) return "malformed";
    if (kind === 0xda) {
      if (!["size", "quantization", "coding"].every((part) => seen.has(part))) return "malformed";
      // Cameras write data of their own behind the end; within the picture it cannot stand.
      return (await reader.finds(JPEG_END)) ? null : "truncated";
    }
    // Frame headers hold the size; C4, C8 and CC are tables among them.
    if (kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind)) {
      const frame = await reader.take(length - 2);
      if (frame.length < 6) return "malformed";
      const fault = judgeSize(frame.readUInt16BE(3), frame.readUInt16BE(1));
      if (fault) return fault;
      seen.add("size");
      // The later frame types code by arithmetic and need no table for it.
      if (kind > 0xc8) seen.add("coding");
    } else await reader.skip(length - 2);
    if (kind === 0xdb) seen.add("quantization");
    if (kind === 0xc4) seen.add("coding");
  }
  return "malformed";
}

async function inspectPng(reader: Reader): Promise<FileFault | null> {
  await reader.skip(8);
  let has_data = false;
  for (let chunks = 0; chunks < SEGMENTS_MAX; chunks += 1) {
    const head = await reader.take(8);
    const length = head.readUInt32BE(0);
    const kind = head.toString("latin1", 4, 8);
    let sum = crc32(head.subarray(4));
    if (chunks === 0) {
      if (kind !== "IHDR" || length !== 13) return "malformed";
      const header = await reader.take(13);
      const fault = judgeSize(header.readUInt32BE(0), header.readUInt32BE(4));
      if (fault) return fault;
      sum = crc32(header, sum);
    } else {
      await reader.skip(length, (part) => {
        sum = crc32(part, sum);
      });
    }
    if ((await reader.take(4)).readUInt32BE() !== sum) return "malformed";
    has_data ||= kind === "IDAT";
    if (kind === "IEND") return has_data ? null : "malformed";
  }
  return "malformed";
}

async function inspectPdf(reader: Reader): Promise<FileFault | null> {
  if (!/^%PDF-[12]\./.test((await reader.take(8)).toString("latin1"))) return "malformed";
  const tail = (await reader.tail(PDF_TAIL_BYTES)).toString("latin1");
  return /startxref\s+\d+\s+%%EOF/.test(tail) ? null : "truncated";
}

function judgeSize(width: number, height: number): FileFault | null {
  if (Math.min(width, height) < SIDE_MIN_PIXELS) return "too_small";
  return Math.max(width, height) > SIDE_MAX_PIXELS ? "malformed" : null;
}

function createReader(content: AsyncIterable<Buffer>): Reader {
  const iterator = content[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  const pull = async () => {
    const next = await iterator.next();
    if (next.done) throw ENDED;
    return next.value;
  };
  return {
    take: async (bytes) => {
      while (held.length < bytes) held = Buffer.concat([held, await pull()]);
      const taken = held.subarray(0, bytes);
      held = held.subarray(bytes);
      return taken;
    },
    skip: async (bytes, look) => {
      let left = bytes;
      while (left > held.length) {
        look?.(held);
        left -= held.length;
        held = await pull();
      }
      look?.(held.subarray(0, left));
      held = held.subarray(left);
    },
    finds: async (bytes) => {
      for (;;) {
        if (held.includes(bytes)) return true;
        const next = await iterator.next();
        if (next.done) return false;
        const seam = held.length < bytes.length ? held : held.subarray(1 - bytes.length);
        held = Buffer.concat([seam, next.value]);
      }
    },
    tail: async (bytes) => {
      for (;;) {
        const next = await iterator.next();
        if (next.done) return held.subarray(-bytes);
        held = Buffer.concat([held.subarray(-bytes), next.value]);
      }
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}
