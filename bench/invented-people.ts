import type { ListEntry, ScreenedPerson } from "../src/partners/screening/port.ts";

/** Names put together from syllables: nobody's, but as similar to each other as real ones. */
export type InventedPerson = {
  /** In Latin letters, given name first. */
  words: readonly string[];
  /** The same in the script of its language; null where that is Latin. */
  native: string | null;
  /** Spelled as another table of transliteration would. */
  respelled: readonly string[];
  birth_date: string;
  country: string;
};

export type Random = () => number;

/** mulberry32: the same seed, the same people. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() * values.length)]!;
}

/** A syllable in Latin letters, in its own script, and in Latin letters by another table. */
type Syllable = readonly [latin: string, native: string, respelled: string];
type Language = {
  countries: readonly string[];
  given: readonly Syllable[];
  family: readonly Syllable[];
  ends: readonly Syllable[];
  has_script: boolean;
};

const latin = (text: string): Syllable[] => text.split(" ").map((part) => [part, part, part]);
const both = (text: string): Syllable[] =>
  text.split(" ").map((part) => {
    const [a, native, b] = part.split("/");
    return [a!, native!, b ?? a!];
  });

const LANGUAGES: readonly Language[] = [
  {
    countries: ["PT", "ES", "BR", "MX", "AR", "CO"],
    given: latin("ma ri lu ca jo a na pe dro bel te sa fe li pi gon di e go ra quel ber to"),
    family: latin("sil var fer nan mor al ca ro dri gar men do cas tel ri vas qui bar pe"),
    ends: latin("es ez a eira o os ada ales inho osa"),
    has_script: false,
  },
  {
    countries: ["DE", "NL", "GB", "US", "PL", "SE"],
    given: latin("an to ma ri ka rin el len wil hel fri da jo han mar tin lau bru no gre ta"),
    family: latin("wal ber kra mer hol stein bach lin den fel gru ner mul wag har tig bor kow"),
    ends: latin("mann er son ski ing berg wald s feld en"),
    has_script: false,
  },
  {
    countries: ["RU", "UA", "BG", "KZ", "RS"],
    given: both(
      "mi/ми ro/ро slav/слав ya/я/ia ni/ни ka/ка lyu/лю/liu da/да ser/сер gey/гей/gei na/на " +
        "tal/тал zhe/же/je nya/ня/nia vik/вик tor/тор yu/ю/iu ri/ри",
    ),
    family: both(
      "shu/шу khar/хар/har tse/це/ce pov/пов zhu/жу/ju kov/ков cher/чер nya/ня/nia gri/гри " +
        "vol/вол kuz/куз mak/мак dob/доб ryu/рю/riu shch/щ/sch e/е bon/бон dar/дар lu/лу pe/пе",
    ),
    ends: both("ov/ов ova/ова enko/енко ev/ев/eff in/ин ina/ина skiy/ский/sky uk/ук ich/ич"),
    has_script: true,
  },
  {
    countries: ["SY", "EG", "JO", "AE", "IQ", "MA"],
    given: both(
      "mu/م/mo ham/حم/hamm mad/مد/med ah/اح kha/خ/kh lid/لد/led ka/ك rim/ريم/reem sa/س lim/ليم " +
        "fa/فا tim/طم ya/ي/ia sin/سين/seen ha/ح san/سن ta/ط riq/ارق/rek na/نا jib/جيب/jeeb",
    ),
    family: both(
      "ru/ر/ro ba/با sha/شا mi/مي dar/در ha/حا wi/وي/we zay/زي/zai tu/تو/too qa/قا/ka sim/سم/sem " +
        "ghan/غان/gan na/نا bar/بر ghu/غو/gu thi/ثي dab/داب mar/مر",
    ),
    ends: both("i/ي/y ani/اني/any awi/اوي/awy an/ان a/ة/ah ri/ري/ry oud/ود/ud"),
    has_script: true,
  },
  {
    countries: ["GR", "CY"],
    given: both("an/αν/- dre/δρε as/ας ma/μα ri/ρι a/α ni/νι ko/κο/co la/λα os/ος phi/φι/fi li/λι"),
    family: both("pa/πα ra/ρα ka/κα/ca ste/στε mi/μι lo/λο tho/θο/to do/δο ko/κο/co ve/βε sa/σα"),
    ends: both("poulos/πουλος/pulos idis/ιδης/ides akis/ακης/akes as/ας iou/ιου ellis/ελλης"),
    has_script: true,
  },
];

const GIVEN_NAMES = 250;
const FAMILY_NAMES = 4_000;
const MIDDLE_NAME_SHARE = 0.4;

type Name = readonly [latin: string, native: string, respelled: string];
type Pool = { language: Language; given: readonly Name[]; family: readonly Name[] };

/** Pools of names of each language; the names at the front are the frequent ones. */
export function createPools(random: Random): Pool[] {
  return LANGUAGES.map((language) => {
    const name = (parts: readonly Syllable[], length: number, ends: readonly Syllable[]): Name => {
      const chosen = Array.from({ length }, () => pick(random, parts));
      const all = [...chosen, ...(ends.length > 0 ? [pick(random, ends)] : [])];
      const write = (at: 0 | 1 | 2) => all.map((part) => (part[at] === "-" ? part[0] : part[at]));
      return [write(0).join(""), write(1).join(""), write(2).join("")];
    };
    const pool = (size: number, make: () => Name) => Array.from({ length: size }, make);
    return {
      language,
      given: pool(GIVEN_NAMES, () => name(language.given, 2 + Math.floor(random() * 2), [])),
      family: pool(FAMILY_NAMES, () =>
        name(language.family, 1 + Math.floor(random() * 3), language.ends),
      ),
    };
  });
}

/** Frequent names are much more frequent than rare ones, as everywhere. */
function pickFrequent<Value>(random: Random, values: readonly Value[]): Value {
  return values[Math.floor(random() ** 2 * values.length)]!;
}

export function inventPerson(random: Random, pools: readonly Pool[]): InventedPerson {
  const { language, given, family } = pick(random, pools);
  const names = [
    pickFrequent(random, given),
    ...(random() < MIDDLE_NAME_SHARE ? [pickFrequent(random, given)] : []),
    pickFrequent(random, family),
  ];
  const year = 1940 + Math.floor(random() * 65);
  const two = (value: number) => String(value).padStart(2, "0");
  const birth_date = `${year}-${two(1 + Math.floor(random() * 12))}-${two(1 + Math.floor(random() * 28))}`;
  return {
    words: names.map(([text]) => text),
    native: language.has_script ? names.map(([, text]) => text).join(" ") : null,
    respelled: names.map(([, , text]) => text),
    birth_date,
    country: pick(random, language.countries),
  };
}

const capital = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);

/** As a list writes it. */
export function listInvented(people: readonly InventedPerson[]): ListEntry[] {
  return people.map(({ words, birth_date, country }, at) => {
    const [family, ...given] = [words.at(-1)!, ...words.slice(0, -1)];
    const text = `${family.toUpperCase()}, ${given.map(capital).join(" ")}`;
    // One in four lists the year only, as many entries do.
    const year = birth_date.slice(0, 4);
    const is_year = at % 4 === 0;
    return {
      list: "invented",
      id: String(at),
      kind: "individual",
      names: [{ text, is_weak: false }],
      birth_dates: [
        is_year
          ? { from: `${year}-01-01`, to: `${year}-12-31` }
          : { from: birth_date, to: birth_date },
      ],
      countries: [country],
      wallets: [],
      programs: [],
      digest: String(at),
    };
  });
}

/** As somebody registers; three in ten payees have no birth date. */
export function registerInvented(
  random: Random,
  { birth_date, country }: InventedPerson,
  name: string,
): ScreenedPerson {
  return {
    kind: "individual",
    names: [name],
    birth_date: random() < 0.7 ? birth_date : null,
    countries: [country],
    wallets: [],
  };
}
