import { UnreadableFile } from "../unreadable-file.ts";

/** Encodings that banks declare, and the decoder of each. */
const DECODERS: Readonly<Record<string, string>> = {
  "utf-8": "utf-8",
  utf8: "utf-8",
  "us-ascii": "utf-8",
  ascii: "utf-8",
  "utf-16": "utf-16le",
  "iso-8859-1": "windows-1252",
  latin1: "windows-1252",
  "iso-8859-15": "iso-8859-15",
  "windows-1252": "windows-1252",
};

const DECLARATION = /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']/;
const DECLARATION_BYTES = 300;

/**
 * The text of an XML file by its byte order mark, else by the encoding it declares, else UTF-8. A
 * file whose bytes are not what it declares is refused: names and ids would be wrong.
 */
export async function* decodeXml(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let start: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (decoder) {
      yield decode(decoder, chunk);
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < DECLARATION_BYTES) continue;
    decoder = decoderOf(start);
    yield decode(decoder, start).trimStart();
  }
  if (decoder) {
    yield decode(decoder, undefined);
    return;
  }
  decoder = decoderOf(start);
  yield decode(decoder, start).trimStart() + decode(decoder, undefined);
}

function decoderOf(start: Buffer): TextDecoder {
  const label = markedEncoding(start) ?? declaredEncoding(start);
  return new TextDecoder(label, { fatal: true });
}

function markedEncoding(start: Buffer): string | null {
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return "utf-8";
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  return null;
}

function declaredEncoding(start: Buffer): string {
  const head = start.subarray(0, DECLARATION_BYTES).toString("latin1");
  const declared = DECLARATION.exec(head)?.[1]?.toLowerCase() ?? "utf-8";
  const known = Object.hasOwn(DECODERS, declared) ? DECODERS[declared] : undefined;
  if (!known) throw new UnreadableFile(`The file declares the encoding ${declared}.`);
  return known;
}

function decode(decoder: TextDecoder, chunk: Uint8Array | undefined): string {
  try {
    return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
  } catch {
    throw new UnreadableFile(`The file has bytes that are not ${decoder.encoding}.`);
  }
}
