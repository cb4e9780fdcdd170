import { english } from "./texts.en.ts";

export type Texts = typeof english;

/** A translation needs one more file and one entry here. */
const LANGUAGES: Record<string, Texts> = { en: english };

/** Some systems name languages that the browser itself does not support ("en-US@posix"). */
const wanted = navigator.languages.filter((tag) => {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
});
const language =
  wanted.map((tag) => tag.split("-")[0] ?? "").find((tag) => tag in LANGUAGES) ?? "en";

export const texts: Texts = LANGUAGES[language] ?? english;

/** The language of the page, with the user's regional date format. */
export const locale = wanted.find((tag) => tag.startsWith(language)) ?? language;

/** Puts values into a text: `fill("Step {number}", { number: "2" })`. */
export function fill(text: string, values: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

export function count(forms: { one: string; other: string }, number: number): string {
  const form = new Intl.PluralRules(locale).select(number) === "one" ? forms.one : forms.other;
  return fill(form, { count: `${number}` });
}

export function longDate(iso_date: string): string {
  const date = new Date(`${iso_date}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return iso_date;
  return date.toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });
}

export function dayAndTime(iso_time: string): string {
  return new Date(iso_time).toLocaleString(locale, {
    weekday: "long",
    day: "numeric",
    month: "long",
    hour: "2-digit",
    minute: "2-digit",
  });
}

export function monthNames(): string[] {
  const format = new Intl.DateTimeFormat(locale, { month: "long", timeZone: "UTC" });
  return Array.from({ length: 12 }, (_, at) => format.format(new Date(Date.UTC(2000, at, 1))));
}

export function fileSize(bytes: number): string {
  const megabytes = bytes / 1024 / 1024;
  const [amount, unit] = megabytes >= 1 ? [megabytes, "MB"] : [bytes / 1024, "kB"];
  const shown = amount.toLocaleString(locale, { maximumFractionDigits: amount < 10 ? 1 : 0 });
  return `${shown} ${unit}`;
}
