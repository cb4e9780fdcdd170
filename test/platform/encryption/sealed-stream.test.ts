import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DecryptionError, type Place } from "../../../src/platform/encryption/cipher.ts";
import {
  FRAME_BYTES,
  openStream,
  sealedSize,
  sealStream,
} from "../../../src/platform/encryption/sealed-stream.ts";

const HEAD_BYTES = 17;
const SEALED_FRAME_BYTES = FRAME_BYTES + 28;
const key = randomBytes(32);
const place: Place = { account_id: "a", table: "documents", column: "file", record_id: "r" };

const size = fc.oneof(
  fc.integer({ min: 0, max: 300_000 }),
  fc.constantFrom(0, 1, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 2 * FRAME_BYTES),
);
const cuts = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 6 });

test("any file, in any chunking, is decrypted unchanged and has the announced size", async () => {
  await fc.assert(
    fc.asyncProperty(size, cuts, cuts, async (bytes, cuts_in, cuts_out) => {
      const content = randomBytes(bytes);
      const sealed = await run(sealStream(key, place), cut(content, cuts_in));
      expect(sealed.length).toBe(sealedSize(bytes));
      const opened = await run(openStream(key, place), cut(sealed, cuts_out));
      expect(opened.equals(content)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("a file that arrives byte by byte is the same file", async () => {
  const content = randomBytes(1000);
  const sealed = await run(sealStream(key, place), cut(content, [1]));
  expect((await run(openStream(key, place), cut(sealed, [1]))).equals(content)).toBe(true);
});

test("any flipped bit is detected before its frame is released", async () => {
  const content = randomBytes(150_000);
  const sealed = await seal(content);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: sealed.length - 1 }),
      fc.integer({ min: 0, max: 7 }),
      cuts,
      async (at, bit, chunking) => {
        const altered = Buffer.from(sealed);
        altered[at]! ^= 1 << bit;
        const released = await expectRefusal(altered, chunking);
        const frame = Math.max(0, Math.floor((at - HEAD_BYTES) / SEALED_FRAME_BYTES));
        expect(released.equals(content.subarray(0, released.length))).toBe(true);
        expect(released.length).toBeLessThanOrEqual(frame * FRAME_BYTES);
      },
    ),
    { numRuns: 100 },
  );
});

test("a file that was truncated or extended anywhere is refused", async () => {
  const sealed = await seal(randomBytes(2 * FRAME_BYTES));
  const first_frame_end = HEAD_BYTES + SEALED_FRAME_BYTES;
  const ends = [0, 1, HEAD_BYTES, HEAD_BYTES + 28, first_frame_end, first_frame_end + 1];
  for (const end of [...ends, sealed.length - 1]) await expectRefusal(sealed.subarray(0, end));
  const last_frame = sealed.subarray(first_frame_end);
  await expectRefusal(Buffer.concat([sealed, last_frame]));
  await expectRefusal(Buffer.concat([sealed, Buffer.alloc(1)]));
});

test("frames that were reordered, dropped or from an earlier version are refused", async () => {
  const content = randomBytes(3 * FRAME_BYTES);
  const [head, first, second, third] = frames(await seal(content));
  await expectRefusal(Buffer.concat([head!, second!, first!, third!]));
  await expectRefusal(Buffer.concat([head!, first!, third!]));
  await expectRefusal(Buffer.concat([head!, first!, first!, third!]));
  const [earlier_head, ...earlier] = frames(await seal(content));
  await expectRefusal(Buffer.concat([head!, first!, earlier[1]!, third!]));
  await expectRefusal(Buffer.concat([earlier_head!, first!, second!, third!]));
});

test("a file that was moved or is opened with another key is refused", async () => {
  const sealed = await seal(Buffer.from("mine"));
  for (const field of ["account_id", "table", "column", "record_id"] as const) {
    await expectRefusal(sealed, [10], openStream(key, { ...place, [field]: "other" }));
  }
  await expectRefusal(sealed, [10], openStream(randomBytes(32), place));
  // Shifting characters between the fields of a place must not give the same place.
  const shifted = { ...place, account_id: 'a","documents', table: "file" };
  await expectRefusal(sealed, [10], openStream(key, shifted));
});

test("each encryption of a file differs, and a key of another size is refused", async () => {
  const content = Buffer.alloc(100);
  expect((await seal(content)).equals(await seal(content))).toBe(false);
  expect(() => sealStream(Buffer.alloc(16), place)).toThrow(/32 bytes/);
  expect(() => openStream(Buffer.alloc(16), place)).toThrow(/32 bytes/);
});

test("a slow reader slows down the writer", async () => {
  let produced = 0;
  const source = Readable.from(
    (function* () {
      for (; produced < 100; produced += 1) yield Buffer.alloc(FRAME_BYTES);
    })(),
  );
  const sealing = sealStream(key, place);
  const done = pipeline(source, sealing).catch(() => {});
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(produced).toBeLessThan(10);
  sealing.destroy();
  await done;
});

function seal(content: Buffer): Promise<Buffer> {
  return run(sealStream(key, place), [content]);
}

async function run(transform: NodeJS.ReadWriteStream, chunks: Buffer[]): Promise<Buffer> {
  const out: Buffer[] = [];
  await pipeline(Readable.from(chunks), transform, async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) out.push(chunk);
  });
  return Buffer.concat(out);
}

/** Expects decryption to fail and returns what was released until then. */
async function expectRefusal(
  sealed: Buffer,
  chunking: number[] = [50_000],
  opening = openStream(key, place),
): Promise<Buffer> {
  const out: Buffer[] = [];
  opening.on("data", (chunk) => out.push(chunk));
  const done = pipeline(Readable.from(cut(sealed, chunking)), opening);
  await expect(done).rejects.toThrow(DecryptionError);
  return Buffer.concat(out);
}

/** Splits into pieces of these sizes, repeatedly. */
function cut(content: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < content.length; turn += 1) {
    const end = at + sizes[turn % sizes.length]!;
    chunks.push(content.subarray(at, end));
    at = end;
  }
  return chunks;
}

function frames(sealed: Buffer): Buffer[] {
  const found = [sealed.subarray(0, HEAD_BYTES)];
  for (let at = HEAD_BYTES; at < sealed.length; at += SEALED_FRAME_BYTES) {
    found.push(sealed.subarray(at, at + SEALED_FRAME_BYTES));
  }
  return found;
}
