import { type Field, findCountry, type KycState } from "./state.ts";
import { mustBeGiven } from "./step-list.ts";
import { fill, texts } from "./texts.ts";

/** Checked before sending, so that the user sees the problem at once; the server checks again. */
export function findProblem(
  state: KycState,
  field: Field,
  value: string,
  country_code: string,
): string | null {
  const { name, kind, max_length } = field;
  const is_required = field.required || mustBeGiven(state, name, country_code);
  const label = texts.fields[field.label_key]?.label ?? name;
  if (value === "") return is_required ? missing(kind, label) : null;
  if (kind === "date") return findDateProblem(value);
  if (max_length !== null && [...value].length > max_length) {
    return fill(texts.problems.too_long, { count: `${max_length}` });
  }
  if (kind === "phone" && !/^\+?[0-9][0-9 ().-]{5,}$/.test(value)) return texts.problems.phone;
  if (kind === "percent") return isShare(value) ? null : texts.problems.share;
  if (name === "postcode") return findPostcodeProblem(state, value, country_code);
  return null;
}

/** Whoever owns less is not asked for. */
const SHARE_MIN = 25;
const SHARE_MAX = 100;

function isShare(value: string): boolean {
  const share = Number(value.replace(",", "."));
  return /^\d+([.,]\d{1,2})?$/.test(value) && share >= SHARE_MIN && share <= SHARE_MAX;
}

function missing(kind: Field["kind"], label: string): string {
  if (kind === "date") return texts.problems.date_incomplete;
  const text =
    kind === "country" || kind === "select" ? texts.problems.choose : texts.problems.missing;
  return fill(text, { label: label.toLocaleLowerCase() });
}

/** An incomplete date is kept as typed: "1988--7". */
function findDateProblem(value: string): string | null {
  const [year = "", month = "", day = ""] = value.split("-");
  if (!year || !month || !day) return texts.problems.date_incomplete;
  const date = new Date(`${value}T00:00:00Z`);
  const is_real = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
  if (!is_real) return texts.problems.date_unreal;
  if (Number(year) < 1900 || date.getTime() > Date.now()) return texts.problems.date_unreal;
  return null;
}

function findPostcodeProblem(state: KycState, value: string, code: string): string | null {
  const country = findCountry(state, code);
  if (!country?.postcode_pattern) return null;
  if (new RegExp(country.postcode_pattern, "i").test(value)) return null;
  const example = country.postcode_example ?? "";
  return fill(texts.problems.postcode, { country: country.name, example });
}
