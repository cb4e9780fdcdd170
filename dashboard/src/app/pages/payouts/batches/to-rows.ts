import {
  type DateOrder,
  type NumberFormat,
  toPlainAmount,
  toPlainDate,
} from "../../../parts/written-values.ts";
import type { CellName, Mapping } from "./columns.ts";
import type { PayoutFile } from "./read-file.ts";

/** How a file is to be read. */
export type Choices = {
  mapping: Mapping;
  /** Null: a person has to say it. */
  format: NumberFormat | null;
  dates: DateOrder | null;
  /** For all rows, where the file has no column for it. */
  currency: string;
  beneficiary_type: string;
};

/** What has to be chosen before the rows can be checked; null when nothing is. */
export function missingChoice({ mapping, format, dates, currency }: Choices): string | null {
  if (!mapping.includes("amount")) return "Choose the column with the amounts.";
  if (format === null) return "Say how amounts are written.";
  if (!mapping.includes("currency") && !currency) return "Choose the currency.";
  if (mapping.includes("date_of_birth") && dates === null) return "Say how dates are written.";
  return null;
}

type Row = { n: number; cells: Partial<Record<CellName, string>> };

/** The rows as they are checked: amounts with a decimal point, dates with the day first. */
export function toRows({ rows }: Pick<PayoutFile, "rows">, choices: Choices): Row[] {
  const { mapping, currency, beneficiary_type } = choices;
  const same = Object.entries({ currency, beneficiary_type }).filter(
    ([name, value]) => value && !mapping.includes(name as CellName),
  );
  return rows.map(({ n, cells }) => {
    const named = mapping.flatMap((name, at) => {
      const value = cells[at];
      return name && value ? [[name, plain(name, value, choices)] as const] : [];
    });
    return { n, cells: Object.fromEntries([...same, ...named]) };
  });
}

function plain(name: CellName, value: string, { format, dates }: Choices): string {
  if (name === "amount") return toPlainAmount(value, format ?? "point");
  if (name === "date_of_birth") return toPlainDate(value, dates ?? "day_first");
  if (name === "currency" || name === "rails") return value.trim().toLowerCase();
  if (name === "beneficiary_type") return typeOf(value);
  return value.trim();
}

function typeOf(value: string): string {
  const word = value.trim().toLowerCase();
  if (["person", "private", "natural"].includes(word)) return "individual";
  if (["company", "corporate", "organisation", "organization"].includes(word)) return "business";
  return word;
}
