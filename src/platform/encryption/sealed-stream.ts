import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { Transform } from "node:stream";
import { DecryptionError, KEY_BYTES, type Place } from "./cipher.ts";

/**
 * Files are encrypted in frames, so that neither writing nor reading one needs more memory than a
 * frame, and no data is released before it is authenticated.
 *
 * Layout: 1 byte format, 16 bytes id of this stream, then frames of 12 bytes nonce, ciphertext, 16
 * bytes tag. Every frame but the last contains exactly FRAME_BYTES of the file; the last contains
 * the rest, possibly nothing. The associated data of a frame names the place, the stream, the
 * frame's number and whether it is the last: a file that was truncated, extended, reordered, moved
 * to another record or mixed with an earlier version of itself cannot be decrypted.
 */
const FORMAT = 2;
const STREAM_ID_BYTES = 16;
const HEAD_BYTES = 1 + STREAM_ID_BYTES;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FRAME_OVERHEAD_BYTES = NONCE_BYTES + TAG_BYTES;
const QUEUED_BYTES = 1024;
const FRAMES_MAX = 2 ** 32 - 1;

export const FRAME_BYTES = 64 * 1024;

/** The encrypted size of a file with this many bytes. */
export function sealedSize(bytes: number): number {
  const frames = Math.max(1, Math.ceil(bytes / FRAME_BYTES));
  return HEAD_BYTES + bytes + frames * FRAME_OVERHEAD_BYTES;
}

/** Encrypts what is written to it. */
export function sealStream(key: Buffer, place: Place): Transform {
  checkKey(key);
  const stream_id = randomBytes(STREAM_ID_BYTES);
  const bind = createBinding(place, stream_id);
  const stream: Transform = framed(FRAME_BYTES, (content, is_last) => {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", key, nonce);
    cipher.setAAD(bind(is_last));
    const ciphertext = cipher.update(content);
    cipher.final();
    // One write to the file for each frame.
    stream.push(Buffer.concat([nonce, ciphertext, cipher.getAuthTag()]));
  });
  stream.push(Buffer.concat([Buffer.from([FORMAT]), stream_id]));
  return stream;
}

/**
 * Decrypts the output of `sealStream`; fails with DecryptionError before releasing invalid data.
 */
export function openStream(key: Buffer, place: Place): Transform {
  checkKey(key);
  let bind: ((is_last: boolean) => Buffer) | undefined;
  const readHead = (head: Buffer) => {
    if (head[0] !== FORMAT) throw new DecryptionError("not a sealed file");
    bind = createBinding(place, head.subarray(1));
  };
  const stream: Transform = framed(
    FRAME_OVERHEAD_BYTES + FRAME_BYTES,
    (frame, is_last) => {
      if (!bind || frame.length < FRAME_OVERHEAD_BYTES) {
        throw new DecryptionError("a sealed file was cut");
      }
      const plaintext = openFrame(key, frame, bind(is_last));
      if (plaintext.length > 0) stream.push(plaintext);
    },
    { bytes: HEAD_BYTES, read: readHead },
  );
  return stream;
}

function openFrame(key: Buffer, frame: Buffer, associated_data: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, frame.subarray(0, NONCE_BYTES));
  decipher.setAAD(associated_data);
  decipher.setAuthTag(frame.subarray(-TAG_BYTES));
  try {
    const plaintext = decipher.update(frame.subarray(NONCE_BYTES, -TAG_BYTES));
    decipher.final();
    return plaintext;
  } catch (error) {
    throw new DecryptionError("a sealed file was altered, moved or sealed with another key", {
      cause: error,
    });
  }
}

/** The associated data of each frame in turn. */
function createBinding(place: Place, stream_id: Buffer): (is_last: boolean) => Buffer {
  const { account_id, table, column, record_id } = place;
  const where = Buffer.from(JSON.stringify([account_id, table, column, record_id]));
  const id = Buffer.from(stream_id);
  let number = 0;
  return (is_last) => {
    if (number >= FRAMES_MAX) throw new Error("a sealed file has too many frames");
    const tail = Buffer.alloc(5);
    tail.writeUInt32BE(number, 0);
    tail.writeUInt8(is_last ? 1 : 0, 4);
    number += 1;
    return Buffer.concat([where, id, tail]);
  };
}

type Head = { bytes: number; read: (head: Buffer) => void };

/**
 * Splits its input into a head and frames of the given size. Emits a full frame only when more data
 * follows, since whether it is the last is part of its associated data.
 */
function framed(
  frame_bytes: number,
  take: (frame: Buffer, is_last: boolean) => void,
  head?: Head,
): Transform {
  const frame = Buffer.allocUnsafe(frame_bytes);
  let expected_head = head;
  let filled = 0;
  const takeChunk = (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; ) {
      const wanted = expected_head?.bytes ?? frame_bytes;
      if (filled === wanted) {
        take(frame, false);
        filled = 0;
      }
      const copied = chunk.copy(frame, filled, at, at + wanted - filled);
      filled += copied;
      at += copied;
      if (expected_head && filled === expected_head.bytes) {
        expected_head.read(frame.subarray(0, filled));
        expected_head = undefined;
        filled = 0;
      }
    }
  };
  return new Transform({
    // Smaller than a chunk: one is processed, and no more are queued on either side.
    highWaterMark: QUEUED_BYTES,
    transform: (chunk, _encoding, done) => attempt(done, () => takeChunk(chunk)),
    flush: (done) => attempt(done, () => take(frame.subarray(0, filled), true)),
  });
}

function attempt(done: (error?: Error) => void, work: () => void): void {
  let failure: Error | undefined;
  try {
    work();
  } catch (error) {
    failure = error as Error;
  }
  done(failure);
}

function checkKey(key: Buffer): void {
  if (key.length !== KEY_BYTES) throw new Error(`a key has ${KEY_BYTES} bytes`);
}
