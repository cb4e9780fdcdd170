import { toCsv } from "./csv.ts";

type Flat = Map<string, string>;
type Named = {
  users?: Record<string, { name: string } | undefined>;
  payment_details?: Record<string, { holder: string; bank: string; account: string } | undefined>;
};

/**
 * A list of records as a file: one column for each field that any of them has, named as in the API,
 * and the names behind ids. Amounts and their currencies are fields of their own, times are ISO.
 */
export function recordsFile(rows: readonly object[]): string {
  const flat = rows.map(flatten);
  const columns = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  return toCsv([columns, ...flat.map((row) => columns.map((name) => row.get(name)))]);
}

function flatten(row: object): Flat {
  const { names, ...record } = row as { names?: Named } & Record<string, unknown>;
  const flat: Flat = new Map();
  addFields(flat, "", record);
  const user = names?.users?.[flat.get("user_id") ?? ""];
  if (user) flat.set("user_name", user.name);
  const detail = names?.payment_details?.[flat.get("payment_detail_id") ?? ""];
  if (detail) {
    flat.set("payee", detail.holder);
    flat.set("payee_bank", detail.bank);
    flat.set("payee_account", `··${detail.account}`);
  }
  return flat;
}

function addFields(flat: Flat, before: string, value: object): void {
  for (const [name, field] of Object.entries(value)) {
    const path = before + name;
    if (Array.isArray(field)) flat.set(path, JSON.stringify(field));
    else if (typeof field === "object" && field !== null) addFields(flat, `${path}.`, field);
    else flat.set(path, typeof field === "number" ? plainNumber(field) : String(field ?? ""));
  }
}

/** Without an exponent: spreadsheets round what has one. */
function plainNumber(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  return value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });
}
