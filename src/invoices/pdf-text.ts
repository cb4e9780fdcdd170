import type PDFDocument from "pdfkit";
import { type Line, layoutText, shapesOf } from "./text-layout.ts";

export type Doc = InstanceType<typeof PDFDocument>;

export type TextOptions = {
  width: number;
  /** `start` is the side from which the text is read. */
  align?: "left" | "right" | "start";
  /** Between lines, in points. */
  gap?: number;
  /** Called before each line: may begin a new page. */
  makeRoom?: (height: number) => void;
};

/** Writes a text of anybody's in the font that is set, and leaves `doc.y` below it. */
export function writeText(doc: Doc, text: string, x: number, y: number, options: TextOptions) {
  writeLines(doc, linesOf(doc, text, options.width), x, y, options);
}

/** The lines that a text fills in the font that is set. */
export function linesOf(doc: Doc, text: string, width: number): Line[] {
  return layoutText(text, width, (part) => doc.widthOfString(part));
}

export function writeLines(
  doc: Doc,
  lines: readonly Line[],
  x: number,
  y: number,
  { width, align = "left", gap = 0, makeRoom }: TextOptions,
): void {
  const height = doc.currentLineHeight(true) + gap;
  doc.y = y;
  for (const line of lines) {
    makeRoom?.(height);
    const top = doc.y;
    const is_right = align === "right" || (align === "start" && line.is_rtl);
    const left = x + (is_right ? width - line.width : 0);
    if (line.text) doc.text(line.text, left, top, { lineBreak: false });
    doc.y = top + height;
  }
}

type Position = Record<"xAdvance" | "yAdvance" | "xOffset" | "yOffset" | "advanceWidth", number>;
type Shaped = { glyphs: { advanceWidth: number }[]; positions: Position[]; advanceWidth: number };
type Direction = "ltr" | "rtl";

/** What the PDF library does with a font, as far as it is done otherwise here. */
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
 * Chooses a font whose words are shaped one by one, each in its own direction and once per
 * document. The library takes a word with the blank after it, which right-to-left letters put
 * before it: words would touch each other.
 */
export function openFont(doc: Doc, name: string): EmbeddedFont["font"] {
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
    // The library adds it up anew each time it is asked.
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
    // A line is asked for several times in a row, a word again and again.
    if (text.length <= REMEMBERED_LENGTH_MAX) known.set(text, line);
    else [last_text, last_line] = [text, line];
    return line;
  };
  return embedded.font;
}
