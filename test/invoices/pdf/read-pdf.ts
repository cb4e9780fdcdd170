import { inflateSync } from "node:zlib";

/** A run of text on a page; y counts from the top, in points. */
export type Run = { text: string; x: number; y: number; size: number; font: string };

/**
 * Reads the text of a PDF as our own writer produces it: compressed streams, embedded fonts with
 * their character tables. Independent of the library that wrote it.
 */
export function readPdf(bytes: Buffer): Run[][] {
  const objects = readObjects(bytes);
  const pages = [...objects.values()].filter(({ head }) => /\/Type \/Page\b/.test(head));
  return pages.map(({ head }) => {
    const fonts = readFonts(objects, head);
    const content = objects.get(reference(head, "Contents")!)!;
    const height = Number(/\/MediaBox \[0 0 [\d.]+ ([\d.]+)\]/.exec(head)![1]);
    return readRuns(content.stream!.toString("latin1"), fonts, height);
  });
}

type PdfObject = { head: string; stream: Buffer | null };

function readObjects(bytes: Buffer): Map<string, PdfObject> {
  const text = bytes.toString("latin1");
  const objects = new Map<string, PdfObject>();
  for (const match of text.matchAll(/^(\d+) 0 obj\n([\s\S]*?)\nendobj/gm)) {
    const [, id, body] = match;
    const [head, ...rest] = body!.split("\nstream\n");
    const raw = rest.length > 0 ? Buffer.from(rest.join("\nstream\n"), "latin1") : null;
    const is_packed = head!.includes("/FlateDecode");
    objects.set(id!, { head: head!, stream: raw && is_packed ? inflateSync(raw) : raw });
  }
  return objects;
}

function reference(head: string, name: string): string | undefined {
  return new RegExp(`/${name} (\\d+) 0 R`).exec(head)?.[1];
}

type Font = { name: string; characters: Map<number, string> };

function readFonts(objects: Map<string, PdfObject>, page: string): Map<string, Font> {
  const resources = objects.get(reference(page, "Resources")!)!.head;
  const named = /\/Font <<([\s\S]*?)>>/.exec(resources)?.[1] ?? "";
  return new Map(
    [...named.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name, id]) => {
      const { head } = objects.get(id!)!;
      const table = objects.get(reference(head, "ToUnicode")!)!.stream!.toString("latin1");
      return [name!, { name: /\/BaseFont \/(\S+)/.exec(head)![1]!, characters: readTable(table) }];
    }),
  );
}

function readTable(table: string): Map<number, string> {
  const characters = new Map<number, string>();
  for (const [, first, , list] of table.matchAll(/<(\w+)> <(\w+)> \[([^\]]*)\]/g)) {
    [...list!.matchAll(/<([\w ]+)>/g)].forEach(([, hex], at) => {
      const units = hex!
        .replaceAll(" ", "")
        .match(/.{4}/g)!
        .map((unit) => Number.parseInt(unit, 16));
      characters.set(Number.parseInt(first!, 16) + at, String.fromCharCode(...units));
    });
  }
  return characters;
}

function readRuns(content: string, fonts: Map<string, Font>, height: number): Run[] {
  const runs: Run[] = [];
  for (const [, block] of content.matchAll(/BT\n([\s\S]*?)\nET/g)) {
    const [, x, y] = /1 0 0 1 ([-\d.]+) ([-\d.]+) Tm/.exec(block!)!;
    const [, name, size] = /\/(F\d+) ([\d.]+) Tf/.exec(block!)!;
    const font = fonts.get(name!)!;
    const text = [...block!.matchAll(/<([0-9a-f]+)>/g)]
      .flatMap(([, hex]) => hex!.match(/.{4}/g)!)
      .map((code) => font.characters.get(Number.parseInt(code, 16)) ?? "?")
      .join("");
    runs.push({ text, x: Number(x), y: height - Number(y), size: Number(size), font: font.name });
  }
  return runs;
}
