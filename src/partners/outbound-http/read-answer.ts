import { pipeline, Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { SendError } from "./send-error.ts";

// We request no compression, but some servers compress anyway: their answers are read, within the
// same limits.
const DECODERS: Record<string, () => NodeJS.ReadWriteStream> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
/** Compressed data may be slightly larger than its content, never much larger. */
const COMPRESSED_EXTRA_BYTES = 64 * 1024;

type Source = { resume(): void; abort(): void };

/** The bytes of an answer as received; a reader that stops early closes the connection. */
export class AnswerBody extends Readable {
  readonly headers: Readonly<Record<string, string>>;
  readonly #source: Source;
  /** All of it was received. */
  complete = false;

  constructor(headers: Readonly<Record<string, string>>, source: Source) {
    super();
    // The reader gets the error; without a reader, a broken connection would be unhandled.
    this.on("error", () => {});
    this.headers = headers;
    this.#source = source;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.complete) this.#source.abort();
    callback(error);
  }
}

/** Yields the start of an answer, decompressed, up to the limit; returns true if there is more. */
export async function readExpandedStart(
  incoming: AnswerBody,
  bytes_max: number,
  take: (chunk: Buffer) => void,
): Promise<boolean> {
  let left = bytes_max;
  for await (const chunk of expanded(incoming, bytes_max)) {
    take(chunk.subarray(0, left));
    left -= chunk.length;
    if (left < 0) break;
  }
  // The rest will not be read: the connection cannot be reused.
  if (left < 0) incoming.destroy();
  return left < 0;
}

/**
 * A whole answer, decompressed, as a stream that fails above the limit. A failure of the other side
 * is recorded separately: a reader that stops early makes the stream fail as well.
 */
export function readWhole(
  incoming: AnswerBody,
  bytes_max: number,
): { body: Readable; broken: Broken } {
  const announced = Number(incoming.headers["content-length"] ?? 0);
  if (announced > bytes_max + COMPRESSED_EXTRA_BYTES) throw tooLarge(bytes_max);
  const broken: Broken = {};
  const body = Readable.from(noting(capped(expanded(incoming, bytes_max), bytes_max), broken));
  return { body, broken };
}

type Broken = { reason?: unknown };

async function* noting(source: AsyncGenerator<Buffer>, broken: Broken): AsyncGenerator<Buffer> {
  const next = () =>
    source.next().catch((error) => {
      broken.reason = error;
      throw error;
    });
  try {
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield chunk.value;
  } finally {
    await source.return(undefined);
  }
}

async function* expanded(incoming: AnswerBody, bytes_max: number): AsyncGenerator<Buffer> {
  const encoding = (incoming.headers["content-encoding"] ?? "").trim().toLowerCase();
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]!() : null;
  // An unknown encoding is passed through: the reader gets bytes that it will not recognize.
  if (!decoder) return yield* incoming as AsyncIterable<Buffer>;
  const compressed = { bytes: 0 };
  pipeline(
    incoming,
    (source: AsyncIterable<Buffer>) =>
      capped(source, bytes_max + COMPRESSED_EXTRA_BYTES, compressed),
    decoder,
    // The decoder's reader gets the error too.
    () => {},
  );
  try {
    yield* decoder as unknown as AsyncIterable<Buffer>;
  } catch (error) {
    // Many servers announce an encoding for an empty body.
    if (compressed.bytes > 0 || !incoming.complete) throw error;
  }
}

async function* capped(
  source: AsyncIterable<Buffer>,
  bytes_max: number,
  taken = { bytes: 0 },
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    taken.bytes += chunk.length;
    if (taken.bytes > bytes_max) throw tooLarge(bytes_max);
    yield chunk;
  }
}

function tooLarge(bytes_max: number): SendError {
  return new SendError("too_large", `The response is larger than ${bytes_max} bytes.`);
}
