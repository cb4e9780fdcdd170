/** Which sign stands before the decimals: one decision for a column. */
export type NumberFormat = "point" | "comma";

const SPACES = /[\s\u00a0\u202f'’]/g;
const CURRENCY = /^(?:[A-Za-z]{3}|[€$£¥])|(?:[A-Za-z]{3}|[€$£¥])$/g;
const PLAIN = { point: /^\d+(?:\.\d+)?$/, comma: /^\d+(?:,\d+)?$/ } as const;
const GROUPED = {
  point: /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/,
  comma: /^\d{1,3}(?:\.\d{3})+(?:,\d+)?$/,
} as const;

/** The format that fits all amounts of a column; null where a person has to say it. */
export function findFormat(values: readonly string[]): NumberFormat | null {
  const cleaned = values.map(clean).filter((text) => text !== "");
  const fitting = (["point", "comma"] as const).filter((format) =>
    cleaned.every((text) => fits(text, format) || !isNumberLike(text)),
  );
  if (fitting.length === 1) return fitting[0]!;
  // Amounts without any sign are the same in both; 1.234 is not.
  const isSame = cleaned.every((text) => !/[.,]/.test(text));
  if (fitting.length === 2 && isSame) return "point";
  return null;
}

/** Digits with a decimal point; what does not fit stays as it is, for the check to mark. */
export function toPlainAmount(value: string, format: NumberFormat): string {
  const text = clean(value);
  if (!fits(text, format)) return value.trim();
  return format === "point" ? text.replaceAll(",", "") : text.replaceAll(".", "").replace(",", ".");
}

function fits(text: string, format: NumberFormat): boolean {
  return PLAIN[format].test(text) || GROUPED[format].test(text);
}

function isNumberLike(text: string): boolean {
  return /^[\d.,]+$/.test(text);
}

function clean(value: string): string {
  return value.trim().replace(CURRENCY, "").replace(SPACES, "");
}

export type DateOrder = "day_first" | "month_first";

const SHORT_DATE = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})$/;

/** Null where no date of the column tells. */
export function findDateOrder(values: readonly string[]): DateOrder | null {
  const dates = values.flatMap((text) => {
    const match = SHORT_DATE.exec(text.trim());
    return match ? [[Number(match[1]), Number(match[2])] as const] : [];
  });
  if (dates.some(([first]) => first > 12)) return "day_first";
  if (dates.some(([, second]) => second > 12)) return "month_first";
  return dates.length === 0 ? "day_first" : null;
}

/** As the API takes it: DD/MM/YYYY; other forms stay as they are. */
export function toPlainDate(value: string, order: DateOrder): string {
  const match = SHORT_DATE.exec(value.trim());
  if (!match) return value.trim();
  const [, first = "", second = "", year] = match;
  const [day, month] = order === "day_first" ? [first, second] : [second, first];
  return `${day.padStart(2, "0")}/${month.padStart(2, "0")}/${year}`;
}
