import { createRequire } from "node:module";
import type { Bidi, EmbeddingLevels } from "bidi-js";

/**
 * A line in visual order, from left to right; only within a right-to-left word are letters in
 * reading order, as the font library requires.
 */
export type TextLine = { text: string; width: number; is_rtl: boolean };

/** The width of a text in the font that draws it. */
type Measure = (text: string) => number;

type Span = { start: number; end: number };

// The package is CommonJS, and its types say otherwise.
const bidi: Bidi = createRequire(import.meta.url)("bidi-js")();

const RTL_SCRIPTS = ["Hebrew", "Arabic", "Syriac", "Thaana", "Nko"];
const RTL = `[[${RTL_SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]--\\p{N}]`;
/** A word of right-to-left letters with its marks and joiners. */
const RTL_WORD = `${RTL}(?:${RTL}|[\\p{M}\\u0640\\u200c\\u200d])*`;
const HAS_RTL = new RegExp(RTL, "v");
const RTL_WORDS_OR_SIGNS = new RegExp(`${RTL_WORD}|\\P{M}\\p{M}*|\\p{M}+`, "gv");
const SHAPED_ALONE = new RegExp(`(${RTL_WORD}|\\s)`, "v");
/** A word with the blanks after it; a hyphen between letters ends one as well. */
const WORDS = /[^\s-]*\p{L}-(?=\p{L})|\S+\s*|\s+/gu;
/** Scripts without blanks between words. */
const UNSPACED_SCRIPTS = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer"];
const UNSPACED = new RegExp(
  `[${UNSPACED_SCRIPTS.map((script) => `\\p{Script=${script}}`).join("")}]`,
  "u",
);
const UNSPACED_WORDS = new Intl.Segmenter("en", { granularity: "word" });
const OPENS = /^[\p{Ps}\p{Pi}]+$/u;
const CLUSTERS = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Breaks a text into lines of a width. */
export function layoutText(text: string, width: number, measure: Measure): TextLine[] {
  return text.split("\n").flatMap((paragraph) => layoutParagraph(paragraph, width, measure));
}

/** The parts of a line that are shaped together, from left to right, each with its direction. */
export function shapesOf(line: string): { text: string; direction: "ltr" | "rtl" }[] {
  if (/^[!-~]+$/.test(line)) return [{ text: line, direction: "ltr" }];
  return line
    .split(SHAPED_ALONE)
    .filter((text) => text !== "")
    .map((text) => ({ text, direction: HAS_RTL.test(text) ? "rtl" : "ltr" }));
}

function layoutParagraph(text: string, width: number, measure: Measure): TextLine[] {
  const embedding = HAS_RTL.test(text) ? bidi.getEmbeddingLevels(text) : null;
  const is_rtl = (embedding?.paragraphs[0]?.level ?? 0) % 2 === 1;
  return breakLines(text, width, measure).map(({ start, end }) => {
    const read = text.slice(start, end).trimEnd();
    const span = { start, end: start + read.length };
    const seen = embedding ? inVisualOrder(text, embedding, span) : read;
    return { text: seen, width: measure(seen), is_rtl };
  });
}

function breakLines(text: string, width: number, measure: Measure): Span[] {
  const lines: Span[] = [];
  let line: Span = { start: 0, end: 0 };
  let used = 0;
  for (const word of wordsOf(text, width, measure)) {
    if (used > 0 && used + measure(word.trimEnd()) > width) {
      lines.push(line);
      line = { start: line.end, end: line.end };
      used = 0;
    }
    line.end += word.length;
    used += measure(word);
  }
  return [...lines, line];
}

/** A word that is wider than the line is split into parts that fit. */
function wordsOf(text: string, width: number, measure: Measure): string[] {
  return (text.match(WORDS) ?? []).flatMap(splitUnspaced).flatMap((word) => {
    if (measure(word.trimEnd()) <= width) return [word];
    const parts = [""];
    let used = 0;
    for (const { segment } of CLUSTERS.segment(word)) {
      const needed = measure(segment);
      if (used > 0 && used + needed > width) {
        parts.push("");
        used = 0;
      }
      parts[parts.length - 1] += segment;
      used += needed;
    }
    return parts;
  });
}

/** Punctuation stays with the word that it closes or opens, blanks with the one before. */
function splitUnspaced(text: string): string[] {
  if (!UNSPACED.test(text)) return [text];
  const words: string[] = [];
  for (const { segment, isWordLike } of UNSPACED_WORDS.segment(text)) {
    const last = words.at(-1);
    const is_joined =
      last !== undefined && (OPENS.test(last) || (!isWordLike && !OPENS.test(segment)));
    if (is_joined) words[words.length - 1] += segment;
    else words.push(segment);
  }
  return words;
}

function inVisualOrder(text: string, embedding: EmbeddingLevels, { start, end }: Span): string {
  if (start === end) return "";
  const { levels } = embedding;
  const mirrored = bidi.getMirroredCharactersMap(text, levels, start, end - 1);
  const indices = bidi.getReorderedIndices(text, embedding, start, end - 1).slice(start, end);
  let seen = "";
  for (let at = 0; at < indices.length; ) {
    const level = levels[indices[at]!]!;
    const is_rtl = level % 2 === 1;
    const step = is_rtl ? -1 : 1;
    let next = at + 1;
    while (levels[indices[next]!] === level && indices[next] === indices[next - 1]! + step) {
      next += 1;
    }
    const run = indices.slice(at, next).sort((a, b) => a - b);
    const read = run.map((index) => mirrored.get(index) ?? text[index]).join("");
    seen += is_rtl ? (read.match(RTL_WORDS_OR_SIGNS) ?? []).reverse().join("") : read;
    at = next;
  }
  return seen;
}
