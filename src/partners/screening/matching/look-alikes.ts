/** Letters of other scripts that look like Latin ones, and the Latin ones in the same order. */
const LOOK_ALIKES = [
  ["абвекмнорстухгіјѕѵԁԛԝһӏ", "abbekmhopctyxrijsvdqwhl"],
  ["αβεζηικμνορτυχ", "abezhikmvoptux"],
] as const;

const LATIN_OF: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.flatMap(([others, latin]) =>
    [...others].map((letter, at) => [letter, latin[at]!] as const),
  ),
);

/**
 * A word that mixes Latin letters with Cyrillic or Greek ones looks like a Latin word and is meant
 * to: transliterated, `Реtrov` with a Cyrillic Р would be `Retrov`. Words of one script stay.
 */
export function withoutLookAlikes(name: string): string {
  return name.replace(/[\p{L}\p{M}]+/gu, (word) => {
    if (!/\p{Script=Latin}/u.test(word) || !/[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(word)) {
      return word;
    }
    return [...word.toLowerCase()].map((letter) => LATIN_OF.get(letter) ?? letter).join("");
  });
}
