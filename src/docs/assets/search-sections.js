// Finds the sections of the documentation that match a question. Server and page use this file.

const RESULTS_MAX = 20;
const EXCERPT_CHARACTERS = 150;
const WORDS_MAX = 10;
/** The score of a word in the heading, and of all words together. */
const IN_HEADING = 10;
const ALL_IN_HEADING = 50;
const WHOLE_HEADING = 100;

/** Best match first; every word of the question must occur, at least as a prefix. */
export function searchSections(sections, question) {
  const words = wordsOf(question).slice(0, WORDS_MAX);
  if (words.length === 0) return [];
  return sections
    .map((section, place) => ({ section, place, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || one.place - other.place)
    .slice(0, RESULTS_MAX)
    .map(({ section }) => ({
      url: section.url,
      page: section.page,
      heading: section.heading,
      excerpt: excerptOf(section.text, words),
    }));
}

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function scoreOf(section, words) {
  const heading = section.heading.toLowerCase();
  const page = section.page.toLowerCase();
  const text = section.text.toLowerCase();
  let score = 0;
  let words_in_heading = 0;
  for (const word of words) {
    const found = scoreOfWord(word, heading, page, text);
    if (found === 0) return 0;
    score += found;
    if (found === IN_HEADING) words_in_heading += 1;
  }
  if (wordsOf(section.heading).join(" ") === words.join(" ")) return score + WHOLE_HEADING;
  return words_in_heading === words.length ? score + ALL_IN_HEADING : score;
}

function scoreOfWord(word, heading, page, text) {
  if (startsAWord(heading, word)) return IN_HEADING;
  if (startsAWord(page, word)) return 5;
  if (startsAWord(text, word)) return 2;
  return heading.includes(word) || text.includes(word) ? 1 : 0;
}

function startsAWord(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return true;
  }
  return false;
}

function excerptOf(text, words) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const hit = places.length > 0 ? Math.min(...places) : 0;
  const from = Math.max(0, hit - EXCERPT_CHARACTERS / 3);
  // Begin and end between words.
  const start = from === 0 ? 0 : text.indexOf(" ", from) + 1;
  const rest = text.slice(start);
  if (rest.length <= EXCERPT_CHARACTERS) return (start > 0 ? "… " : "") + rest;
  const end = rest.lastIndexOf(" ", EXCERPT_CHARACTERS);
  const shown = rest.slice(0, end > 0 ? end : EXCERPT_CHARACTERS);
  return `${start > 0 ? "… " : ""}${shown} …`;
}
