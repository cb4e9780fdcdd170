import { Refusal } from "../../errors.ts";
import { quoted } from "../../problems.ts";

// The data around the file: far more than any client sends.
const PREAMBLE_BYTES_MAX = 4 * 1024;
const HEADER_BYTES_MAX = 8 * 1024;
const EPILOGUE_BYTES_MAX = 4 * 1024;
const PADDING_BYTES_MAX = 100;

/** The maximum size of a body besides the content of its one part. */
export const FRAME_BYTES_MAX = PREAMBLE_BYTES_MAX + HEADER_BYTES_MAX + EPILOGUE_BYTES_MAX + 1024;

const CRLF = Buffer.from("\r\n");
const BLANK_LINE = Buffer.from("\r\n\r\n");
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

/**
 * The content of the only part of a multipart body (RFC 7578), as a stream. It ends only if the
 * body ended correctly, with no further part: a reader that reached the end has the whole file.
 * This guarantee is why we use no library here; a body with exactly one part needs little code.
 */
export async function* readOnePart(
  source: AsyncIterable<Buffer>,
  boundary: string,
  part: string,
): AsyncGenerator<Buffer> {
  const scanner = createScanner(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  let is_found = false;
  try {
    await collect(scanner.until(delimiter), PREAMBLE_BYTES_MAX);
    while (!(await isClosing(scanner))) {
      const name = partName(await collect(scanner.until(BLANK_LINE), HEADER_BYTES_MAX));
      if (name !== part || is_found) throw unknownPart(name, part);
      is_found = true;
      if (!(yield* scanner.until(delimiter))) throw malformed();
    }
    await discard(scanner.rest(), EPILOGUE_BYTES_MAX);
  } finally {
    await scanner.close();
  }
  if (!is_found) throw missingPart(part);
}

/** The boundary from the Content-Type header. */
export function readBoundary(content_type: string | undefined): string {
  const [, parameters] = /^multipart\/form-data\s*(;.*)?$/i.exec(content_type ?? "") ?? [null];
  if (parameters === null) {
    throw new Refusal("unsupported_media_type", "Send the file as multipart/form-data.");
  }
  const boundary = readParameters(parameters ?? "").get("boundary") ?? "";
  if (!BOUNDARY.test(boundary)) {
    throw new Refusal("bad_request", "The Content-Type has no valid boundary.");
  }
  return boundary;
}

export function missingPart(part: string): Refusal {
  const message = `Send a file that is not empty as the part ${part}.`;
  return Refusal.of([{ field: part, code: "parameter_missing", message }]);
}

function unknownPart(name: string, part: string): Refusal {
  const message = `Send exactly one part with the name ${part}.`;
  return Refusal.of([{ field: quoted(name), code: "parameter_unknown", message }]);
}

function malformed(): Refusal {
  return new Refusal("bad_request", "The body is not well-formed multipart/form-data.");
}

/** After a delimiter: two hyphens end the body, a line break (after padding) begins a part. */
async function isClosing(scanner: Scanner): Promise<boolean> {
  const next = await scanner.take(2);
  if (next.equals(Buffer.from("--"))) return true;
  if (next.equals(CRLF)) return false;
  const padding = Buffer.concat([next, await collect(scanner.until(CRLF), PADDING_BYTES_MAX)]);
  if (!/^[ \t]*\r?$/.test(padding.toString("latin1"))) throw malformed();
  return false;
}

function partName(header_bytes: Buffer): string {
  const lines = header_bytes.toString("utf8").split("\r\n");
  const line = lines.find((text) => /^content-disposition\s*:/i.test(text)) ?? "";
  const parameters = /^[^:]*:\s*form-data\s*(;.*)$/i.exec(line)?.[1] ?? "";
  const name = readParameters(parameters).get("name");
  if (name === undefined) throw malformed();
  return name;
}

/** `; name="file"; filename="a;b.pdf"`, one after the other: a file name may contain anything. */
function readParameters(text: string): Map<string, string> {
  const found = new Map<string, string>();
  const parameter = /\s*;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/y;
  for (let match = parameter.exec(text); match; match = parameter.exec(text)) {
    const [, name = "", quoted, plain = ""] = match;
    const value = quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain;
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value);
  }
  return found;
}

/** Everything before a delimiter, which must follow within this many bytes. */
async function collect(
  content: AsyncGenerator<Buffer, boolean>,
  bytes_max: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const next = await content.next();
    if (next.done) {
      if (!next.value) throw malformed();
      return Buffer.concat(chunks);
    }
    bytes += next.value.length;
    if (bytes > bytes_max) throw malformed();
    chunks.push(next.value);
  }
}

async function discard(content: AsyncIterable<Buffer>, bytes_max: number): Promise<void> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > bytes_max) throw malformed();
  }
}

type Scanner = {
  /** The data before the delimiter, which is consumed; returns false if there is none. */
  until(delimiter: Buffer): AsyncGenerator<Buffer, boolean>;
  /** The next bytes, fewer at the end of the body. */
  take(bytes: number): Promise<Buffer>;
  rest(): AsyncGenerator<Buffer>;
  close(): Promise<void>;
};

/** Reads more only when its buffer is used up: the client sends no faster than we store. */
function createScanner(source: AsyncIterable<Buffer>): Scanner {
  const iterator = source[Symbol.asyncIterator]();
  // A delimiter begins with a line break; the first one may omit it.
  let held: Buffer = CRLF;
  const drop = (bytes: number) => {
    const dropped = held.subarray(0, bytes);
    held = held.subarray(bytes);
    return dropped;
  };
  const pull = async () => {
    const next = await iterator.next();
    return next.done ? null : next.value;
  };
  return {
    async *until(delimiter) {
      for (;;) {
        const at = held.indexOf(delimiter);
        if (at >= 0) {
          const before = drop(at);
          drop(delimiter.length);
          if (before.length > 0) yield before;
          return true;
        }
        // The last bytes may be the beginning of the delimiter.
        const certain = held.length - delimiter.length + 1;
        if (certain > 0) yield drop(certain);
        const next = await pull();
        if (!next) return false;
        // If the two chunks together contain no delimiter, only their seam is copied: a copy of
        // each chunk would double the garbage that a large file creates.
        const seam = Buffer.concat([held, next.subarray(0, delimiter.length - 1)]);
        if (next.length < delimiter.length || seam.includes(delimiter)) {
          held = Buffer.concat([held, next]);
          continue;
        }
        const tail = held;
        held = next;
        if (tail.length > 0) yield tail;
      }
    },
    take: async (bytes) => {
      while (held.length < bytes) {
        const next = await pull();
        if (!next) break;
        held = Buffer.concat([held, next]);
      }
      return drop(bytes);
    },
    async *rest() {
      for (let chunk: Buffer | null = drop(held.length); chunk; chunk = await pull()) yield chunk;
    },
    close: async () => {
      await iterator.return?.();
    },
  };
}
