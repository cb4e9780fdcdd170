import { type InventedPerson, pick, type Random } from "./invented-people.ts";

/** How a person's name may differ from the list's; undefined: this person's cannot. */
type Misspell = (random: Random, person: InventedPerson) => string | undefined;

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const MARKS: Readonly<Record<string, string>> = {
  ...{ a: "á", e: "è", i: "ï", o: "ö", u: "ü", c: "ç", n: "ñ", s: "š", z: "ž", l: "ł" },
};

/** The classes in which recall is measured. */
export const MISSPELLINGS: Readonly<Record<string, Misspell>> = {
  "as listed": (_random, { words }) => words.join(" "),
  "one letter": (random, { words }) => editWord(random, words, longWords(words)).join(" "),
  "two letters": (random, { words }) => {
    const [first, second] = longWords(words);
    if (first === undefined || second === undefined) return undefined;
    return editWord(random, editWord(random, words, [first]), [second]).join(" ");
  },
  "other order": (_random, { words }) => [words.at(-1), ...words.slice(0, -1)].join(" "),
  marks: (_random, { words }) =>
    words.map((word) => word.replace(/[aeioucnszl]/, (letter) => MARKS[letter]!)).join(" "),
  "own script": (_random, { native }) => native ?? undefined,
  "other spelling": (_random, { native, respelled }) =>
    native === null ? undefined : respelled.join(" "),
  "middle name left out": (_random, { words }) =>
    words.length > 2 ? `${words[0]} ${words.at(-1)}` : undefined,
  "middle name added": (_random, { words }) =>
    words.length === 2 ? `${words[0]} Quentin ${words[1]}` : undefined,
  "joined words": (_random, { words }) =>
    words.length > 2 ? `${words[0]}${words[1]} ${words.at(-1)}` : `${words[1]}${words[0]}`,
  "order and letter": (random, { words }) => {
    const edited = editWord(random, words, longWords(words));
    return `${edited.at(-1)!.toUpperCase()}, ${edited.slice(0, -1).join("-")}`;
  },
};

/** Places of the words in which one letter is little. */
function longWords(words: readonly string[]): number[] {
  return words.flatMap((word, at) => (word.length >= 4 ? [at] : []));
}

function editWord(random: Random, words: readonly string[], places: readonly number[]): string[] {
  const place = places.length === 0 ? 0 : pick(random, places);
  return words.map((word, at) => (at === place ? editOnce(random, word) : word));
}

function editOnce(random: Random, word: string): string {
  const at = Math.floor(random() * word.length);
  const letter = pick(random, [...LETTERS]);
  const edits = [
    word.slice(0, at) + letter + word.slice(at + 1),
    word.slice(0, at) + letter + word.slice(at),
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + (word[at + 1] ?? "") + word[at]! + word.slice(at + 2),
  ];
  return pick(random, edits);
}
