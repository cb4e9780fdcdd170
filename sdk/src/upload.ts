import type { RequestBody } from "./attempt.ts";
import { toHex } from "./hex.ts";

/**
 * A file to send. A stream is read while it is sent and never completely in memory, but it can be
 * read only once, so a failed upload of a stream is not repeated; the other sources are.
 */
export type FileSource =
  | Blob
  | Uint8Array
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  /** A file on disk: Node, Deno and Bun. */
  | { path: string };

export function canBeReadAgain(source: FileSource): boolean {
  if (typeof source !== "object" || source === null) throw noFile();
  if (source instanceof Blob || source instanceof Uint8Array) return true;
  // A Node stream that reads a file also has a path, but can be read only once.
  return !(source instanceof ReadableStream) && !(Symbol.asyncIterator in source);
}

/** The multipart body with one part, `file`. */
export function toMultipart(source: FileSource, file_name?: string): RequestBody {
  if (source instanceof Uint8Array) {
    return toForm(new Blob([source as Uint8Array<ArrayBuffer>]), file_name);
  }
  if (source instanceof Blob) return toForm(source, file_name);
  // Not every browser can iterate over a ReadableStream.
  if (source instanceof ReadableStream) return toStream(readStream(source), file_name);
  if (Symbol.asyncIterator in source) return toStream(source, file_name);
  if (typeof source.path === "string") {
    return toStream(readPath(source.path), file_name ?? source.path.split(/[\\/]/).at(-1));
  }
  throw noFile();
}

function noFile(): TypeError {
  return new TypeError("A file is a Blob, a Uint8Array, a stream of bytes or { path }.");
}

function toForm(blob: Blob, file_name: string | undefined): RequestBody {
  const form = new FormData();
  const own_name = "name" in blob ? String(blob.name) : undefined;
  form.append("file", blob, file_name ?? own_name ?? DEFAULT_NAME);
  return { content: form };
}

const DEFAULT_NAME = "document";

/** Writes the multipart headers itself, because FormData would hold the whole file in memory. */
function toStream(source: AsyncIterable<Uint8Array>, file_name = DEFAULT_NAME): RequestBody {
  const boundary = `sliproad-${toHex(crypto.getRandomValues(new Uint8Array(16)))}`;
  const encoder = new TextEncoder();
  const name = file_name.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));
  const head =
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n` +
    "content-type: application/octet-stream\r\n\r\n";
  let failure: unknown;
  async function* makeChunks() {
    yield encoder.encode(head);
    try {
      for await (const chunk of source) yield checkChunk(chunk);
    } catch (error) {
      failure = error;
      throw error;
    }
    yield encoder.encode(`\r\n--${boundary}--\r\n`);
  }
  const chunks = makeChunks();
  return {
    content: streamOf(chunks),
    type: `multipart/form-data; boundary=${boundary}`,
    failure: () => failure,
    close: () => void chunks.return(undefined).catch(() => {}),
  };
}

/** Reads the next chunk only when the connection has taken the previous one. */
function streamOf(chunks: AsyncGenerator<Uint8Array>) {
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array<ArrayBuffer>);
    },
  });
}

function checkChunk(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError("A stream to upload must give bytes (Uint8Array), not text.");
}

async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

// A name that browser bundlers do not resolve, since the module does not exist there.
const NODE_FILES = "node:fs";

async function* readPath(path: string): AsyncGenerator<Uint8Array> {
  const files: { createReadStream(path: string): AsyncIterable<Uint8Array> } = await import(
    /* @vite-ignore */ /* webpackIgnore: true */ NODE_FILES
  );
  yield* files.createReadStream(path);
}
