import anyAscii from "any-ascii";

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

/**
 * The words of a name in lower-case ASCII: transliterated, without marks and punctuation. A legal
 * form of a company is left out, unless hardly anything else distinguishes the name.
 */
export function wordsOfName(name: string, is_company: boolean): string[] {
  const composed = name.normalize("NFKC");
  const ascii = UNSPACED.test(composed)
    ? anyAscii(composed).replace(/([a-z])([A-Z])/g, "$1 $2")
    : anyAscii(composed);
  const words = ascii
    .toLowerCase()
    .replace(/['`’]/g, "")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .slice(0, WORDS_MAX);
  if (!is_company) return words;
  const distinctive = words.filter((word) => !COMPANY_FORMS.has(word));
  return distinctive.some((word) => /[a-z]{2}/.test(word)) ? distinctive : words;
}

/** Letters that tables of transliteration exchange, folded into one; the longer ones first. */
const SAME_SOUND: readonly (readonly [RegExp, string])[] = [
  [/shch|tsch|sch|tch|dzh|sh|ch|zh|cz|sz|ts|tz|z|c(?=[eiy])/g, "s"],
  [/gh/g, "g"],
  [/kh/g, "h"],
  [/ph|v/g, "f"],
  [/ck|c|q/g, "k"],
  [/x/g, "ks"],
  [/th/g, "t"],
  [/dh/g, "d"],
];

/**
 * The consonants of a word: Arabic script leaves vowels out, and `Mohammed`, `Muhamad` and `mhmd`
 * are one name. J, w, and h at the end are spoken in some languages and silent in others, and a
 * first vowel may be left out too: the word has a form for each.
 */
export function consonantsOf(word: string): readonly [string, string] {
  let sounds = word;
  for (const [letters, sound] of SAME_SOUND) sounds = sounds.replace(letters, sound);
  const spoken = sounds.replace(/j/g, "s").replace(/w/g, "f");
  const silent = sounds.replace(/j/g, "y").replace(/w|(?<=[^k])h$|^[aeiou]+/g, "");
  return [withoutVowels(spoken), withoutVowels(silent)];
}

function withoutVowels(sounds: string): string {
  return sounds.replace(/(?<=.)[aeiouy]/g, "").replace(/(.)\1+/g, "$1");
}
