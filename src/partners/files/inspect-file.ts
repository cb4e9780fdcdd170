import { Readable } from "node:stream";
import { crc32, createInflate } from "node:zlib";
import { createAccountTurns } from "../../platform/http/account-turns.ts";
import { Turns } from "../../platform/turns.ts";
import type { FileType } from "./judge-file.ts";

/** Why a file is unusable. */
export type FileFault = "truncated" | "malformed" | "too_small" | "locked";

const SIDE_MIN_PIXELS = 100;
const SIDE_MAX_PIXELS = 30_000;
const PDF_TAIL_BYTES = 2048;
/** Enough for a page scanned in colour at 600 dpi; 10 MB of a photo contain much less. */
const UNPACKED_MAX_BYTES = 128 * 1024 * 1024;
/** Each chunk costs the thread that answers requests about as much, whatever its size. */
const UNPACKED_CHUNK_BYTES = 1024 * 1024;
/** The shortest code of a block of 8 × 8 pixels is one bit. */
const JPEG_PIXELS_PER_BYTE_MAX = 512;
const SEGMENTS_MAX = 10_000;
/** Decompressing uses the few threads that files and passwords need too. */
const PICTURES_AT_ONCE = 2;
const PICTURE_WAIT_MAX_MS = 30_000;
const pictures = new Turns(PICTURES_AT_ONCE, PICTURE_WAIT_MAX_MS);
/** One at a time of each account: small files that expand to large ones would delay all others. */
const inTurn = createAccountTurns(1, PICTURE_WAIT_MAX_MS);

/**
 * Checks that a file is what its first bytes claim, to its end. It is read as a stream; the data of
 * a PNG is decompressed and counted, a JPEG must have enough data for its size, and a PDF must have
 * objects that can be read without a password.
 */
export async function inspectFile(
  type: FileType,
  content: AsyncIterable<Buffer>,
  account_id: string,
): Promise<FileFault | null> {
  const reader = createReader(content);
  try {
    if (type === "png") {
      return await inTurn(account_id, () => pictures.run(() => inspectPng(reader)));
    }
    return await (type === "jpg" ? inspectJpeg(reader) : inspectPdf(reader));
  } catch (error) {
    if (error === ENDED) return "truncated";
    throw error;
  } finally {
    await reader.close();
    // If it was refused before it was read, its iterator closes nothing: the file would stay open.
    if (content instanceof Readable) content.destroy();
  }
}

const JPEG_END = Buffer.from([0xff, 0xd9]);
const ENDED = Symbol("the file ended");

type Reader = {
  /** Exactly this many bytes; throws when there are fewer. */
  take(bytes: number): Promise<Buffer>;
  skip(bytes: number, look?: (part: Buffer) => void | Promise<void>): Promise<void>;
  /** Skips all consecutive occurrences of this byte, and returns how many there were. */
  skipRun(byte: number): Promise<number>;
  /** How many bytes precede these in the rest of the file; null if they do not occur. */
  find(bytes: Buffer): Promise<number | null>;
  /** The rest of the file, in parts that overlap by this many bytes. */
  parts(overlap: number): AsyncGenerator<Buffer>;
  close(): Promise<void>;
};

async function inspectJpeg(reader: Reader): Promise<FileFault | null> {
  if (!(await reader.take(2)).equals(Buffer.from([0xff, 0xd8]))) return "malformed";
  const seen = new Set<string>();
  let data_min = 0;
  for (let segments = 0; segments < SEGMENTS_MAX; segments += 1) {
    // One or more FF bytes precede the kind of a segment.
    if ((await reader.skipRun(0xff)) === 0) return "malformed";
    const [kind] = await reader.take(1);
    if (kind === undefined || kind === 0xd9) return "malformed";
    const length = (await reader.take(2)).readUInt16BE();
    if (length < 2) return "malformed";
    if (kind === 0xda) {
      if (!["size", "quantization", "coding"].every((part) => seen.has(part))) return "malformed";
      // Cameras append their own data after the end; it cannot occur within the picture.
      const data = await reader.find(JPEG_END);
      return data !== null && data >= data_min ? null : "truncated";
    }
    // Frame headers contain the size; C4, C8 and CC are tables in the same range.
    if (kind >= 0xc0 && kind <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(kind)) {
      const frame = await reader.take(length - 2);
      if (frame.length < 6) return "malformed";
      const [width, height] = [frame.readUInt16BE(3), frame.readUInt16BE(1)];
      const fault = judgeSize(width, height);
      if (fault) return fault;
      seen.add("size");
      // The later frame types use arithmetic coding, which needs no table.
      if (kind > 0xc8) seen.add("coding");
      else data_min = Math.floor((width * height) / JPEG_PIXELS_PER_BYTE_MAX);
    } else await reader.skip(length - 2);
    if (kind === 0xdb) seen.add("quantization");
    if (kind === 0xc4) seen.add("coding");
  }
  return "malformed";
}

async function inspectPng(reader: Reader): Promise<FileFault | null> {
  await reader.skip(8);
  let pixels: Unpacked | null = null;
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
      const unpacked_bytes = pngDataBytes(header);
      if (unpacked_bytes === null || unpacked_bytes > UNPACKED_MAX_BYTES) return "malformed";
      pixels = unpack(unpacked_bytes);
    } else {
      await reader.skip(length, (part) => {
        sum = crc32(part, sum);
        return kind === "IDAT" ? pixels?.add(part) : undefined;
      });
    }
    if ((await reader.take(4)).readUInt32BE() !== sum) return "malformed";
    if (kind === "IEND") return (await pixels?.isComplete()) ? null : "malformed";
  }
  return "malformed";
}

const PNG_CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** The seven passes of an interlaced picture: first column and row, and their steps. */
const PNG_PASSES = [
  ...[[0, 0, 8, 8] as const, [4, 0, 8, 8] as const, [0, 4, 4, 8] as const],
  ...[[2, 0, 4, 4] as const, [0, 2, 2, 4] as const, [1, 0, 2, 2] as const, [0, 1, 1, 2] as const],
];

/** The decompressed size of a PNG's data; null for an invalid header. */
function pngDataBytes(header: Buffer): number | null {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 0, colour = -1, , , interlace = 0] = header.subarray(8);
  const channels = PNG_CHANNELS[colour];
  if (!channels || ![1, 2, 4, 8, 16].includes(depth) || interlace > 1) return null;
  // Each line begins with its filter number.
  const bytesOf = (columns: number, rows: number) =>
    columns > 0 && rows > 0 ? rows * (1 + Math.ceil((columns * channels * depth) / 8)) : 0;
  if (interlace === 0) return bytesOf(width, height);
  return PNG_PASSES.reduce((sum, [x, y, across, down]) => {
    return sum + bytesOf(Math.ceil((width - x) / across), Math.ceil((height - y) / down));
  }, 0);
}

type Unpacked = {
  add(part: Buffer): Promise<void>;
  /** Whether all added data decompresses to the expected number of bytes. */
  isComplete(): Promise<boolean>;
};

/**
 * Decompresses and counts, and stops at the expected size: a small file may expand to a huge one.
 */
function unpack(expected: number): Unpacked {
  const inflate = createInflate({ chunkSize: UNPACKED_CHUNK_BYTES });
  let size = 0;
  const closed = new Promise<void>((done) => {
    inflate.on("close", done);
  });
  // An error shows as missing data.
  inflate.on("error", () => {});
  inflate.on("data", (part: Buffer) => {
    size += part.length;
    if (size >= expected) inflate.destroy();
  });
  return {
    add: async (part) => {
      if (inflate.destroyed || part.length === 0) return;
      await Promise.race([new Promise<void>((done) => inflate.write(part, () => done())), closed]);
    },
    isComplete: async () => {
      if (!inflate.destroyed) inflate.end();
      await closed;
      return size >= expected;
    },
  };
}

const PDF_OBJECT = /\d\s+\d+\s+obj\b/;
const PDF_LOCK = /\/Encrypt\s*(?:\d+\s+\d+\s+R|<<)/;

async function inspectPdf(reader: Reader): Promise<FileFault | null> {
  if (!/^%PDF-[12]\./.test((await reader.take(8)).toString("latin1"))) return "malformed";
  let has_object = false;
  let is_locked = false;
  let tail = "";
  for await (const part of reader.parts(PDF_TAIL_BYTES)) {
    const text = part.toString("latin1");
    has_object ||= PDF_OBJECT.test(text);
    is_locked ||= PDF_LOCK.test(text);
    tail = text.slice(-PDF_TAIL_BYTES);
  }
  if (!/startxref\s+\d+\s+%%EOF/.test(tail)) return "truncated";
  if (is_locked) return "locked";
  return has_object ? null : "malformed";
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
        await look?.(held);
        left -= held.length;
        held = await pull();
      }
      await look?.(held.subarray(0, left));
      held = held.subarray(left);
    },
    skipRun: async (byte) => {
      let length = 0;
      for (;;) {
        let at = 0;
        while (at < held.length && held[at] === byte) at += 1;
        length += at;
        held = held.subarray(at);
        if (held.length > 0) return length;
        held = await pull();
      }
    },
    find: async (bytes) => {
      let before = 0;
      for (;;) {
        const at = held.indexOf(bytes);
        if (at >= 0) return before + at;
        const next = await iterator.next();
        if (next.done) return null;
        const seam = held.length < bytes.length ? held : held.subarray(1 - bytes.length);
        before += held.length - seam.length;
        held = Buffer.concat([seam, next.value]);
      }
    },
    parts: async function* (overlap) {
      yield held;
      for (;;) {
        const next = await iterator.next();
        if (next.done) return;
        held = Buffer.concat([held.subarray(-overlap), next.value]);
        yield held;
      }
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}
