import { pipeline, Readable } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { SendError } from "./send-error.ts";
import { enterWide, leaveWide } from "./wide-decoders.ts";

// We request no compression, but some servers compress anyway: their answers are read, within the
// same limits.
const DECODERS: Record<string, () => NodeJS.ReadWriteStream> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  // RFC 9659: a window of 8 MiB is the largest that a client has to have.
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } }),
};
/** A few bytes make these decoders fill a window of up to 16 MiB. */
const WIDE_ENCODINGS: ReadonlySet<string> = new Set(["br", "zstd"]);
/** Compressed data may be slightly larger than its content, never much larger. */
const COMPRESSED_EXTRA_BYTES = 64 * 1024;

type Source = { resume(): void; abort(): void };

/** The bytes of an answer as received; a reader that stops early closes the connection. */
export class AnswerBody extends Readable {
  readonly headers: Readonly<Record<string, string>>;
  readonly account_id: string;
  readonly #source: Source;
  /** All of it was received. */
  complete = false;

  constructor(headers: Readonly<Record<string, string>>, account_id: string, source: Source) {
    super();
    // The reader gets the error; without a reader, a broken connection would be unhandled.
    this.on("error", () => {});
    this.headers = headers;
    this.account_id = account_id;
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
  for await (const chunk of expanded(incoming, bytes_max, { may_wait: false })) {
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
  const body = Readable.from(
    noting(capped(expanded(incoming, bytes_max, { may_wait: true }), bytes_max), broken),
  );
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

/** What is only shown to people is shown as received rather than waiting for a decoder. */
async function* expanded(
  incoming: AnswerBody,
  bytes_max: number,
  { may_wait }: { may_wait: boolean },
): AsyncGenerator<Buffer> {
  const encoding = (incoming.headers["content-encoding"] ?? "").trim().toLowerCase();
  const openDecoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]! : null;
  const is_wide = WIDE_ENCODINGS.has(encoding);
  // An unknown encoding is passed through: the reader gets bytes that it will not recognize.
  if (!openDecoder || (is_wide && !(await enterWide(incoming.account_id, may_wait)))) {
    return yield* incoming as AsyncIterable<Buffer>;
  }
  try {
    yield* decompressed(incoming, bytes_max, openDecoder());
  } finally {
    if (is_wide) leaveWide(incoming.account_id);
  }
}

async function* decompressed(
  incoming: AnswerBody,
  bytes_max: number,
  decoder: NodeJS.ReadWriteStream,
): AsyncGenerator<Buffer> {
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
