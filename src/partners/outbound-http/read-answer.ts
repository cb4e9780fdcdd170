import { pipeline, Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { SendError } from "./send-error.ts";

// We ask for no compression, but some servers compress regardless: their answers are read all the
// same, within the same bounds.
const DECODERS: Record<string, () => NodeJS.ReadWriteStream> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};
/** Compressed bytes may be a little more than what they expand to, never much more. */
const COMPRESSED_EXTRA_BYTES = 64 * 1024;

type Source = { resume(): void; abort(): void };

/** The bytes of an answer as they come; whoever gives up reading ends the connection. */
export class AnswerBody extends Readable {
  readonly headers: Readonly<Record<string, string>>;
  readonly #source: Source;
  /** All of it has come. */
  complete = false;

  constructor(headers: Readonly<Record<string, string>>, source: Source) {
    super();
    // Whoever reads it is told; nobody may have begun to when the connection breaks.
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

/** Hands out the start of an answer, expanded, up to the cap; true when there is more beyond. */
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
  // The rest will not be read: the connection cannot be used again.
  if (left < 0) incoming.destroy();
  return left < 0;
}

/**
 * The whole of an answer, expanded, as a stream that fails once the cap is passed. What failed on
 * the other side is noted apart: a reader that gives up makes the stream fail as well.
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
  // An encoding that we do not know is left as it is: the reader sees bytes that are not what it
  // hopes for, and nothing else happens.
  if (!decoder) return yield* incoming as AsyncIterable<Buffer>;
  const compressed = { bytes: 0 };
  pipeline(
    incoming,
    (source: AsyncIterable<Buffer>) =>
      capped(source, bytes_max + COMPRESSED_EXTRA_BYTES, compressed),
    decoder,
    // The reader of the decoder gets the error too.
    () => {},
  );
  try {
    yield* decoder as unknown as AsyncIterable<Buffer>;
  } catch (error) {
    // Many servers announce an encoding for a body that is empty.
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
