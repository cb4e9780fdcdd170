import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type PDFDocument from "pdfkit";
import { type Family, type FontFile, findFontFile, loadFont, type Weight } from "./script-fonts.ts";
import { shapesOf } from "./text-layout.ts";

export type Doc = InstanceType<typeof PDFDocument>;

/** A part of a line in one font; without a name, the current font. */
type FontRun = { text: string; font: string | undefined };

type DocumentFonts = {
  weight: Weight;
  hasGlyph(char: string): boolean;
  /** From left to right; undefined when the current font draws the whole line. */
  splitRuns(text: string): FontRun[] | undefined;
};

const FONTS = "dejavu-fonts-ttf/ttf";
/** These belong to the preceding letter and use its font. */
const FOLLOWS = /[\p{M}\u200c\u200d]/u;
const PLAIN = /^[\n -~]*$/;

const by_document = new WeakMap<Doc, DocumentFonts>();
let dejavu: Record<Weight, Buffer> | undefined;

export function fontsOf(doc: Doc): DocumentFonts {
  return by_document.get(doc)!;
}

/**
 * Registers DejaVu, and of the fonts by script those that the texts need. `han` draws Chinese
 * characters where the text does not indicate its language.
 */
export async function openFonts(doc: Doc, texts: readonly string[], han: Family): Promise<void> {
  dejavu ??= { regular: readFont("DejaVuSans.ttf"), bold: readFont("DejaVuSans-Bold.ttf") };
  doc.registerFont("regular", dejavu.regular);
  doc.registerFont("bold", dejavu.bold);
  openFont(doc, "bold");
  const base = openFont(doc, "regular");
  const hasBaseGlyph = (char: string) =>
    /\s/.test(char) || base.hasGlyphForCodePoint(char.codePointAt(0)!);
  const found = new Map<string, FontFile>();
  for (const text of texts) {
    if (PLAIN.test(text)) continue;
    for (const char of new Set(text)) {
      // The first text decides how a character is drawn in the whole document.
      if (found.has(char) || hasBaseGlyph(char)) continue;
      const file = findFontFile(char, text, han);
      if (file) found.set(char, file);
    }
  }
  const faces = await registerFiles(doc, [...found.values()]);
  for (const [char, file] of found) {
    // A package's list names a few characters that its fonts do not have.
    const face = faces.get(nameOf(file, "regular"))!;
    if (!face.hasGlyphForCodePoint(char.codePointAt(0)!)) found.delete(char);
  }
  const fonts: DocumentFonts = {
    weight: "regular",
    hasGlyph: (char) => found.has(char) || hasBaseGlyph(char),
    splitRuns: (text) => {
      if (found.size === 0 || PLAIN.test(text)) return undefined;
      const runs: FontRun[] = [];
      for (const char of text) {
        const file = found.get(char);
        const last = runs.at(-1);
        const font = file ? nameOf(file, fonts.weight) : undefined;
        if (last && (last.font === font || FOLLOWS.test(char))) last.text += char;
        else runs.push({ text: char, font });
      }
      return runs.some((run) => run.font !== undefined) ? runs : undefined;
    },
  };
  by_document.set(doc, fonts);
}

async function registerFiles(doc: Doc, files: readonly FontFile[]): Promise<Map<string, Face>> {
  const unique = new Map(files.map((file) => [nameOf(file, "regular"), file]));
  const faces = new Map<string, Face>();
  for (const file of unique.values()) {
    for (const weight of ["regular", "bold"] as const) {
      const name = nameOf(file, weight);
      doc.registerFont(name, await loadFont(file, weight));
      faces.set(name, openFont(doc, name));
    }
  }
  return faces;
}

type Face = EmbeddedFont["font"];

function nameOf({ family, file }: FontFile, weight: Weight): string {
  return `${family}-${file}-${weight}`;
}

function readFont(name: string): Buffer {
  return readFileSync(fileURLToPath(import.meta.resolve(`${FONTS}/${name}`)));
}

type Position = Record<"xAdvance" | "yAdvance" | "xOffset" | "yOffset" | "advanceWidth", number>;
type Shaped = { glyphs: { advanceWidth: number }[]; positions: Position[]; advanceWidth: number };
type Direction = "ltr" | "rtl";

/** The PDF library's font, as far as it is overridden here. */
type EmbeddedFont = {
  scale: number;
  font: {
    layout(text: string, features: undefined, ...more: [undefined, undefined, Direction]): Shaped;
    hasGlyphForCodePoint(code_point: number): boolean;
  };
  layout(text: string): Shaped;
};

const REMEMBERED_LENGTH_MAX = 40;

/**
 * Selects a font and shapes words one by one, each in its own direction and once per document. The
 * library shapes a word with the blank after it; in right-to-left text that blank would precede the
 * word, and words would touch.
 */
function openFont(doc: Doc, name: string): Face {
  const embedded = (doc.font(name) as unknown as { _font: EmbeddedFont })._font;
  const known = new Map<string, Shaped>();
  let [last_text, last_line]: [string, Shaped | undefined] = ["", undefined];
  const shape = (text: string, direction: Direction): Shaped => {
    const shaped = embedded.font.layout(text, undefined, undefined, undefined, direction);
    const { glyphs, positions } = shaped;
    positions.forEach((position, at) => {
      for (const key of ["xAdvance", "yAdvance", "xOffset", "yOffset"] as const) {
        position[key] *= embedded.scale;
      }
      position.advanceWidth = glyphs[at]!.advanceWidth * embedded.scale;
    });
    // The library's getter recomputes it on every access.
    return { glyphs, positions, advanceWidth: shaped.advanceWidth };
  };
  embedded.layout = (text) => {
    const found = text === last_text ? last_line : known.get(text);
    if (found) return found;
    const parts = shapesOf(text).map(({ text: part, direction }) => {
      const shaped = known.get(part) ?? shape(part, direction);
      known.set(part, shaped);
      return shaped;
    });
    const line = {
      glyphs: parts.flatMap((part) => part.glyphs),
      positions: parts.flatMap((part) => part.positions),
      advanceWidth: parts.reduce((width, part) => width + part.advanceWidth, 0),
    };
    // A line is requested several times in a row, and words repeat.
    if (text.length <= REMEMBERED_LENGTH_MAX) known.set(text, line);
    else [last_text, last_line] = [text, line];
    return line;
  };
  return embedded.font;
}
