import { type Doc, fontsOf } from "./document-fonts.ts";
import type { Weight } from "./script-fonts.ts";
import { layoutText, type TextLine } from "./text-layout.ts";

type TextOptions = {
  width: number;
  /** `start` is the side on which the text's reading direction begins. */
  align?: "left" | "right" | "start";
  /** Between lines, in points. */
  gap?: number;
  /** Called before each line; may begin a new page. */
  beforeLine?: (height: number) => void;
};

/** Writes untrusted text in the current font, and leaves `doc.y` below it. */
export function writeText(doc: Doc, text: string, x: number, y: number, options: TextOptions) {
  writeLines(doc, linesOf(doc, text, options.width), x, y, options);
}

/** The lines of a text in the current font. */
export function linesOf(doc: Doc, text: string, width: number): TextLine[] {
  return layoutText(text, width, (part) => widthOf(doc, part));
}

export function writeLines(
  doc: Doc,
  lines: readonly TextLine[],
  x: number,
  y: number,
  { width, align = "left", gap = 0, beforeLine }: TextOptions,
): void {
  const height = doc.currentLineHeight(true) + gap;
  doc.y = y;
  for (const line of lines) {
    beforeLine?.(height);
    const top = doc.y;
    const is_right = align === "right" || (align === "start" && line.is_rtl);
    const left = x + (is_right ? width - line.width : 0);
    if (line.text) writeLine(doc, line.text, left, top);
    doc.y = top + height;
  }
}

/** Selects the font for what follows; a character that it lacks is drawn by another. */
export function setFont(doc: Doc, weight: Weight, size: number): Doc {
  fontsOf(doc).weight = weight;
  return doc.font(weight).fontSize(size);
}

function widthOf(doc: Doc, text: string): number {
  const { weight, splitRuns } = fontsOf(doc);
  const runs = splitRuns(text);
  if (!runs) return doc.widthOfString(text);
  const widths = runs.map((run) => doc.font(run.font ?? weight).widthOfString(run.text));
  doc.font(weight);
  return widths.reduce((sum, width) => sum + width, 0);
}

/** One font after the other on one baseline, from left to right. */
function writeLine(doc: Doc, text: string, left: number, top: number): void {
  const { weight, splitRuns } = fontsOf(doc);
  const runs = splitRuns(text);
  if (!runs) {
    doc.text(text, left, top, { lineBreak: false });
    return;
  }
  const { _font: font, _fontSize: size } = doc as unknown as {
    _font: { ascender: number };
    _fontSize: number;
  };
  const baseline = top + (font.ascender / 1000) * size;
  let x = left;
  for (const run of runs) {
    doc.font(run.font ?? weight);
    doc.text(run.text, x, baseline, { lineBreak: false, baseline: "alphabetic" });
    x += doc.widthOfString(run.text);
  }
  doc.font(weight);
}
