import { SaxesParser, type SaxesTagNS } from "saxes";
import { XmlElement } from "../../xml-element.ts";
import { UnreadableFile } from "../unreadable-file.ts";
import { decodeXml } from "./decode-xml.ts";

/** The message of a file, such as `camt.053`, by the element that holds it. */
const MESSAGES = {
  CstmrPmtStsRpt: "pain.002",
  BkToCstmrAcctRpt: "camt.052",
  BkToCstmrStmt: "camt.053",
  BkToCstmrDbtCdtNtfctn: "camt.054",
} as const;

type MessageName = (typeof MESSAGES)[keyof typeof MESSAGES];

/** Takes the parts of a message as they end. A part that was taken is forgotten. */
export type PartReader<Item> = {
  parts: ReadonlySet<string>;
  take(part: XmlElement, parents: readonly XmlElement[]): readonly Item[];
  /** Whether the message had what makes it one: an empty file is no news, but a mistake. */
  isComplete(): boolean;
};

export type ReadLimits = { bytes_max: number; depth_max: number; elements_max: number };

/** Larger than what banks send in a day; `elements_max` is what one part may consist of. */
const LIMITS: ReadLimits = { bytes_max: 512 * 1024 * 1024, depth_max: 40, elements_max: 50_000 };
const TEXT_LENGTH_MAX = 20_000;
/** Between two items: the details of a line are kept until its end. */
const ITEM_LENGTH_MAX = 128 * 1024 * 1024;
/** Of one tag, comment or text; the parser keeps it until its end. */
const PIECE_LENGTH_MAX = 1024 * 1024;

/**
 * Reads a message part by part. Elements are known by their local names, whatever the prefix; those
 * of another namespace than the message's are passed over. A document that is not well-formed, is
 * cut off, has a document type or exceeds a limit throws, which may be after items were returned:
 * they count only when the end is reached.
 */
export async function* readDocument<Item>(
  bytes: AsyncIterable<Uint8Array>,
  openReader: (message: MessageName) => PartReader<Item>,
  limits: Partial<ReadLimits> = {},
): AsyncGenerator<Item> {
  const all = { ...LIMITS, ...limits };
  const builder = new PartBuilder(openReader, all);
  const parser = new SaxesParser({ xmlns: true });
  parser.on("error", (error) => {
    throw new UnreadableFile(`The file is not well-formed XML: ${error.message}`);
  });
  parser.on("doctype", () => {
    throw new UnreadableFile("The file has a document type, which bank files do not have.");
  });
  let piece = 0;
  let since_item = 0;
  parser.on("opentag", (tag) => {
    piece = 0;
    builder.open(tag);
  });
  parser.on("text", (text) => builder.addText(text));
  parser.on("cdata", (text) => builder.addText(text));
  parser.on("closetag", () => {
    piece = 0;
    builder.close();
  });
  for await (const text of decodeXml(limited(bytes, all.bytes_max))) {
    piece += text.length;
    if (piece > PIECE_LENGTH_MAX) {
      throw new UnreadableFile("A tag, comment or text of the file is too long.");
    }
    parser.write(text);
    const items = builder.drain();
    since_item = items.length > 0 ? 0 : since_item + text.length;
    if (since_item > ITEM_LENGTH_MAX) throw new UnreadableFile("An entry of the file is too long.");
    yield* items;
  }
  parser.close();
  builder.requireMessage();
  yield* builder.drain();
}

class PartBuilder<Item> {
  readonly #openReader: (message: MessageName) => PartReader<Item>;
  readonly #limits: ReadLimits;
  readonly #open: XmlElement[] = [];
  /** How many elements were kept when each open one began. */
  readonly #marks: number[] = [];
  #kept = 0;
  #depth = 0;
  /** Depth of the element that is passed over with all it contains. */
  #passed_over: number | null = null;
  #namespace: string | null = null;
  #reader: PartReader<Item> | null = null;
  #items: Item[] = [];

  constructor(openReader: (message: MessageName) => PartReader<Item>, limits: ReadLimits) {
    this.#openReader = openReader;
    this.#limits = limits;
  }

  open({ local, uri, attributes }: SaxesTagNS): void {
    this.#depth += 1;
    if (this.#depth > this.#limits.depth_max) {
      throw new UnreadableFile("The elements of the file are nested too deeply.");
    }
    if (this.#passed_over !== null) return;
    if (this.#namespace === null) {
      // An envelope may surround the message; its header is of no interest.
      if (local === "Document") this.#namespace = uri;
      return;
    }
    if (uri !== this.#namespace || local === "SplmtryData") {
      this.#passed_over = this.#depth;
      return;
    }
    this.#reader ??= this.#openReader(messageOf(local));
    this.#kept += 1;
    if (this.#kept > this.#limits.elements_max) {
      throw new UnreadableFile("An entry of the file consists of too many elements.");
    }
    const values = Object.entries(attributes).map(([name, { value }]) => [name, value]);
    const element = new XmlElement(local, Object.fromEntries(values));
    this.#open.at(-1)?.children.push(element);
    this.#open.push(element);
    this.#marks.push(this.#kept - 1);
  }

  addText(text: string): void {
    const element = this.#passed_over === null ? this.#open.at(-1) : undefined;
    // White space between elements is not text.
    if (!element || text.trim() === "") return;
    if (element.text.length + text.length > TEXT_LENGTH_MAX) {
      throw new UnreadableFile(`The text of ${element.name} is too long.`);
    }
    element.text += text;
  }

  close(): void {
    this.#depth -= 1;
    if (this.#passed_over !== null) {
      if (this.#depth < this.#passed_over) this.#passed_over = null;
      return;
    }
    const element = this.#open.pop();
    const mark = this.#marks.pop();
    if (!element || !this.#reader?.parts.has(element.name)) return;
    for (const item of this.#reader.take(element, this.#open)) this.#items.push(item);
    this.#open.at(-1)?.children.pop();
    this.#kept = mark!;
  }

  drain(): Item[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }

  requireMessage(): void {
    if (!this.#reader?.isComplete()) {
      throw new UnreadableFile("The file holds no ISO 20022 message, or an empty one.");
    }
  }
}

function messageOf(name: string): MessageName {
  // The first versions have their number in the name.
  const plain = name.replace(/V\d\d$/, "");
  if (!Object.hasOwn(MESSAGES, plain)) {
    throw new UnreadableFile(`The message ${name} is none that banks answer with.`);
  }
  return MESSAGES[plain as keyof typeof MESSAGES];
}

async function* limited(
  bytes: AsyncIterable<Uint8Array>,
  bytes_max: number,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > bytes_max) throw new UnreadableFile("The file is too large.");
    yield chunk;
  }
}
