import anyAscii from "any-ascii";
import { withoutLookAlikes } from "./look-alikes.ts";

/** Legal forms of companies, as they are written after transliteration. */
const COMPANY_FORMS = new Set(
  (
    "ltd limited llc llp lp inc incorporated corp corporation co company gmbh ag kg ohg ug se sa " +
    "sas sarl srl sl spa bv nv plc pjsc jsc ojsc cjsc ooo oao zao pao ao aktsionernoe " +
    "obshchestvo obschestvo tov too ab as asa aps oy oyj doo dd ad sp zoo kft bt pte pty bhd sdn " +
    "pvt private fze fzco fzc fz dmcc trading holding holdings group"
  ).split(" "),
);

/** Scripts without spaces between words: any-ascii writes each character with a capital. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hangul}]/u;
const WORDS_MAX = 12;
/** Characters that nobody sees, and that would divide or change a word. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * The words of a name in lower-case ASCII: transliterated, without marks and punctuation. A legal
 * form of a company is left out, unless hardly anything else distinguishes the name.
 */
export function wordsOfName(name: string, is_company: boolean): readonly string[] {
  const composed = withoutLookAlikes(name.normalize("NFKC").replace(INVISIBLE, ""));
  const ascii = UNSPACED.test(composed)
    ? anyAscii(composed).replace(/([a-z])([A-Z])/g, "$1 $2")
    : anyAscii(composed);
  const words = ascii
    .toLowerCase()
    .replace(/['`’]/g, "")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  const first = firstWords(withoutRepeated(words));
  return is_company ? withoutForms(first) : withoutTitles(wordsOfPerson(first));
}

/** A word that is written again says nothing new. Letters do: they may spell a name. */
function withoutRepeated(words: readonly string[]): string[] {
  return words.filter((word, at) => word.length === 1 || words.indexOf(word) === at);
}

/** Letters do not count: a name that is written letter by letter is compared as a whole. */
function firstWords(words: readonly string[]): string[] {
  let left = WORDS_MAX;
  return words.filter((word) => word.length === 1 || left-- > 0);
}

function withoutForms(words: readonly string[]): readonly string[] {
  const distinctive = words.filter((word) => !COMPANY_FORMS.has(word));
  return distinctive.some((word) => /[a-z]{2}/.test(word)) ? distinctive : words;
}

/** Shorter ones end other words by chance. */
const LONG_FORM_LENGTH_MIN = 4;
const LONG_FORMS = [...COMPANY_FORMS].filter((form) => form.length >= LONG_FORM_LENGTH_MIN);

/** The words of a name in one, without the legal form at its end. */
export function withoutForm(joined: string): string {
  const form = LONG_FORMS.filter((known) => joined.endsWith(known)).sort(byLength)[0];
  return form === undefined ? joined : joined.slice(0, -form.length);
}

function byLength(one: string, other: string): number {
  return other.length - one.length;
}

const DIGIT_LETTERS: Readonly<Record<string, string>> = { 0: "o", 1: "i", 3: "e", 4: "a", 5: "s" };

/** No name of a person has digits: they stand for the letters that they look like. */
function wordsOfPerson(words: readonly string[]): string[] {
  const spelled = words.map((word) =>
    /[a-z]/.test(word) ? word.replace(/[01345]/g, (digit) => DIGIT_LETTERS[digit]!) : word,
  );
  return joinArabic(spelled).map(foldArabic);
}

/** Before a person's name; not those that are also given names. */
const TITLES_BEFORE = new Set(
  (
    "mr mrs ms miss mx dr prof professor sir madam herr frau monsieur madame mme mlle senor " +
    "senora signor signora his her excellency honourable honorable"
  ).split(" "),
);
const TITLES_AFTER = new Set(
  "jr sr junior senior ii iii iv phd md msc bsc mba esq esquire".split(" "),
);
const NAME_WORDS_MIN = 2;

/** The words of a person's name without titles, as long as a name is left. */
function withoutTitles(words: readonly string[]): readonly string[] {
  const first = words.findIndex((word) => !TITLES_BEFORE.has(word));
  const last = words.findLastIndex((word) => !TITLES_AFTER.has(word));
  const named = words.slice(Math.max(first, 0), last + 1);
  return named.length >= NAME_WORDS_MIN ? named : words;
}

const ARTICLES = new Set(["al", "el", "ul"]);

/** `Abd al Rahman` and `Nur al Din` are one name each, and are often written as one word. */
function joinArabic(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1) ?? "";
    const opens = /^abd([aeu]l)?$/.test(before);
    if (opens || (/^d(i|ee)ne?$/.test(word) && ARTICLES.has(before))) {
      // With the article, the word before it belongs to the name as well.
      const article = opens ? "" : joined.pop()!;
      joined.push(`${joined.pop() ?? ""}${article}${word}`);
    } else {
      joined.push(word);
    }
  }
  return joined;
}

/** The article within such a name is spelled as it is heard: `abdurrahman`, `noureddine`. */
function foldArabic(word: string): string {
  return word
    .replace(/^abd[aeiou](?:l|(.{1,2})(?=\1))(?=.{3})/, "abd")
    .replace(/(?<=.{2})[aeiou](?:l|d)d(?:i|ee)ne?$/, "din");
}

/** Letters that tables of transliteration exchange, folded into one; the longer ones first. */
const SAME_SOUND: readonly (readonly [RegExp, string])[] = [
  [/shch|tsch|sch|tch|dzh|sh|ch|zh|cz|sz|ts|tz|z|c(?=[eiy])/g, "s"],
  [/kh/g, "h"],
  [/ph|v/g, "f"],
  [/ck/g, "k"],
  [/x/g, "ks"],
  [/th/g, "t"],
  [/dh/g, "d"],
  [/^i(?=[aou])/, "y"],
];

/**
 * The consonants of a word: Arabic script leaves vowels out, and `Mohammed`, `Muhamad` and `mhmd`
 * are one name. Some letters are spoken in one language and silent or another sound in the next (j,
 * w, dj, gh, c, h at the end, a first vowel): the word has a form for each.
 */
export function consonantsOf(word: string): readonly [string, string] {
  let sounds = word;
  for (const [letters, sound] of SAME_SOUND) sounds = sounds.replace(letters, sound);
  const spoken = sounds.replace(/dj|j/g, "s").replace(/w/g, "f").replace(/gh/g, "g");
  const silent = sounds
    .replace(/dj/g, "d")
    .replace(/j/g, "y")
    .replace(/gh/g, "k")
    .replace(/c/g, "s")
    .replace(/w|(?<=[^k])h$|^[aeiou]+/g, "");
  return [withoutVowels(spoken), withoutVowels(silent)];
}

function withoutVowels(sounds: string): string {
  return sounds
    .replace(/[cq]/g, "k")
    .replace(/(?<=.)[aeiouy]/g, "")
    .replace(/(.)\1+/g, "$1");
}
