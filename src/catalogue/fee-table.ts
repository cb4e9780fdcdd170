import { type Decimal, formatDecimal, parseDecimal } from "../platform/money.ts";
import { operatorFile } from "./operator-file.ts";
import { RAILS } from "./rails.ts";

const { parse, asObject, wrong } = operatorFile("The fee schedule");

/** A percentage of the amount, and a flat part in usd, converted at the current rates. */
export type Fee = { readonly basis_points: number; readonly flat_usd: Decimal };

/** What has a fee: the rails of offramps, and onramps. */
const FEE_KINDS = [...RAILS, "onramp"] as const;
type FeeKind = (typeof FEE_KINDS)[number];

export type FeeSchedule = Readonly<Record<FeeKind, Fee>>;

/** The schedule as written in files and in price versions. */
export type FeeTable = Record<FeeKind, { basis_points: number; flat_usd: string }>;

const DEFAULT_FEES: FeeTable = {
  local: { basis_points: 40, flat_usd: "0" },
  swift: { basis_points: 40, flat_usd: "49" },
  wire: { basis_points: 40, flat_usd: "20" },
  onramp: { basis_points: 40, flat_usd: "0" },
};

/** Half of the amount: a higher fee is a typo. */
const BASIS_POINTS_MAX = 5_000;
const FLAT_USD = /^\d{1,6}(\.\d{1,2})?$/;

/**
 * The shipped schedule, overridden by the operator's file (JSON text), one kind at a time. Throws
 * one sentence about the first error, so that the process stops instead of charging by half a
 * table.
 */
export function loadFees(override_json_text = "{}"): FeeSchedule {
  return toFeeSchedule({ ...DEFAULT_FEES, ...parseOverride(override_json_text) });
}

export function toFeeSchedule(table: FeeTable): FeeSchedule {
  const entries = FEE_KINDS.map((kind): [FeeKind, Fee] => {
    const { basis_points, flat_usd } = table[kind];
    return [kind, Object.freeze({ basis_points, flat_usd: parseDecimal(flat_usd)! })];
  });
  return Object.freeze(Object.fromEntries(entries) as Record<FeeKind, Fee>);
}

export function toFeeTable(fees: FeeSchedule): FeeTable {
  const entries = FEE_KINDS.map((kind) => {
    const { basis_points, flat_usd } = fees[kind];
    return [kind, { basis_points, flat_usd: formatDecimal(flat_usd) }];
  });
  return Object.fromEntries(entries);
}

function parseOverride(json_text: string): Partial<FeeTable> {
  const rows = Object.entries(parse(json_text, FEE_KINDS)).map(([kind, value]) => {
    const row = asObject(value, kind, ["basis_points", "flat_usd"]);
    return [kind, { basis_points: asBasisPoints(row, kind), flat_usd: asFlat(row, kind) }];
  });
  const override: Partial<FeeTable> = Object.fromEntries(rows);
  // An onramp's fee is a percentage of its amount only.
  if (override.onramp && parseDecimal(override.onramp.flat_usd)!.units > 0n) {
    throw wrong("onramp.flat_usd", "must be 0 or omitted: onramps have no flat fee");
  }
  return override;
}

function asBasisPoints({ basis_points }: Record<string, unknown>, kind: string): number {
  const number = basis_points as number;
  if (Number.isInteger(number) && number >= 0 && number <= BASIS_POINTS_MAX) return number;
  throw wrong(`${kind}.basis_points`, `must be a whole number from 0 to ${BASIS_POINTS_MAX}`);
}

/** Text, because a JSON number may differ from what the file says. */
function asFlat({ flat_usd = "0" }: Record<string, unknown>, kind: string): string {
  if (typeof flat_usd === "string" && FLAT_USD.test(flat_usd)) return flat_usd;
  throw wrong(`${kind}.flat_usd`, 'must be a decimal string below a million, such as "49.50"');
}
