import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "csv-parse";
import type { XmlElement } from "../../xml-element.ts";
import type { ListEntry } from "../port.ts";
import { readEuXml } from "./eu-xml.ts";
import { OFAC_COLUMNS, readOfacCsv } from "./ofac-csv.ts";
import { readOfacXml } from "./ofac-xml.ts";
import { OPENSANCTIONS_COLUMNS, readOpenSanctionsRow } from "./opensanctions-csv.ts";
import { readUnXml } from "./un-xml.ts";
import { createXmlReader } from "./xml-entries.ts";

export type ListFile = { path: string; list: string; entries: ListEntry[]; digest: string };

const FIRST_BYTES = 4096;

/** The XML formats, by the name of the root element. */
const XML_FORMATS: Readonly<
  Record<string, { entries: readonly string[]; read: (entry: XmlElement) => ListEntry }>
> = {
  sdnList: { entries: ["sdnEntry"], read: readOfacXml },
  export: { entries: ["sanctionEntity"], read: readEuXml },
  CONSOLIDATED_LIST: { entries: ["INDIVIDUAL", "ENTITY"], read: readUnXml },
};

/**
 * Reads one list; the format is recognised by what the file begins with. Throws, with a sentence
 * for the operator, if it is in none of the formats, ends too early, or has no entry.
 */
export async function readListFile(path: string): Promise<ListFile> {
  const hash = createHash("sha256");
  const entries = await readEntries(path, await readBeginning(path), hash);
  const named = entries.filter(({ id, names }) => id !== "" && names.length > 0);
  if (named.length === 0) throw new Error(`${path}: it has no entry.`);
  return { path, list: named[0]!.list, entries: named, digest: hash.digest("base64url") };
}

async function readEntries(path: string, beginning: string, hash: Hash): Promise<ListEntry[]> {
  if (beginning.startsWith("<")) return readXml(path, hash);
  const columns = beginning.split(/\r?\n/, 1)[0]!.toLowerCase().replaceAll('"', "").split(",");
  if (OPENSANCTIONS_COLUMNS.every((name) => columns.includes(name))) {
    return readOpenSanctions(path, hash);
  }
  if (/^\d+,/.test(beginning)) return readOfac(path, hash);
  throw new Error(
    `${path}: this is none of the formats: OFAC's sdn.csv or sdn.xml, the consolidated XML of ` +
      "the EU or the UN, OpenSanctions' targets.simple.csv.",
  );
}

async function readBeginning(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    return buffer
      .toString("utf8", 0, bytesRead)
      .replace(/^\uFEFF/, "")
      .trimStart();
  } finally {
    await file.close();
  }
}

async function readXml(path: string, hash: Hash): Promise<ListEntry[]> {
  const entries: ListEntry[] = [];
  let read: (entry: XmlElement) => ListEntry;
  const reader = createXmlReader(
    (root) => {
      const format = XML_FORMATS[root];
      if (!format) {
        const known = Object.keys(XML_FORMATS).join(", ");
        throw new Error(`its root element is ${root}; the formats known have ${known}.`);
      }
      read = format.read;
      return new Set(format.entries);
    },
    (entry) => entries.push(read(entry)),
  );
  const decoder = new TextDecoder("utf-8");
  try {
    for await (const chunk of createReadStream(path)) {
      hash.update(chunk);
      reader.write(decoder.decode(chunk, { stream: true }));
    }
    reader.end();
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`);
  }
  return entries;
}

async function readOpenSanctions(path: string, hash: Hash): Promise<ListEntry[]> {
  const entries: ListEntry[] = [];
  for await (const row of readCsv(path, hash, { columns: true })) {
    entries.push(readOpenSanctionsRow(row as Record<string, string>));
  }
  return entries;
}

/** `sdn.csv` with `alt.csv`, `add.csv` and `sdn_comments.csv` beside it; or `cons_prim.csv` … */
async function readOfac(path: string, hash: Hash): Promise<ListEntry[]> {
  const is_consolidated = basename(path).toLowerCase().startsWith("cons_");
  const beside = (name: string) => join(dirname(path), is_consolidated ? `cons_${name}` : name);
  const comments = is_consolidated ? beside("comments.csv") : beside("sdn_comments.csv");
  return readOfacCsv({
    entries: await readOfacRows(path, hash, OFAC_COLUMNS.entries),
    aliases: await readOfacRows(beside("alt.csv"), hash, OFAC_COLUMNS.aliases),
    addresses: await readOfacRows(beside("add.csv"), hash, OFAC_COLUMNS.addresses),
    comments: (await exists(comments))
      ? await readOfacRows(comments, hash, OFAC_COLUMNS.comments)
      : [],
  });
}

async function readOfacRows(path: string, hash: Hash, columns: number): Promise<string[][]> {
  const rows: string[][] = [];
  const options = { relax_quotes: true, relax_column_count: true } as const;
  for await (const row of readCsv(path, hash, options) as AsyncIterable<string[]>) {
    // OFAC's files end with the character 26.
    if (row.length === 1 && row[0]!.trim() <= "\u001a") continue;
    if (row.length < columns || !/^\d+$/.test(row[0]!.trim())) {
      throw new Error(
        `${path}: row ${rows.length + 1} has ${row.length} columns, expected ${columns}, the ` +
          "first one a number.",
      );
    }
    rows.push(row);
  }
  return rows;
}

async function* readCsv(
  path: string,
  hash: Hash,
  options: { columns?: true; relax_quotes?: true; relax_column_count?: true },
): AsyncGenerator<unknown> {
  const parser = parse({ bom: true, skip_empty_lines: true, ...options });
  const source = createReadStream(path);
  source.on("data", (chunk) => hash.update(chunk));
  source.on("error", (error) => parser.destroy(error));
  source.pipe(parser);
  try {
    yield* parser;
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`);
  } finally {
    source.destroy();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
