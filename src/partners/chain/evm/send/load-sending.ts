import type { operatorFile } from "../../../../catalogue/operator-file.ts";
import type { SendingSettings } from "../model.ts";

const KEYS = [
  ...["max_fee_gwei", "priority_fee_min_gwei", "gas_floor"],
  ...["bump_after_seconds", "in_flight_max"],
];
const GWEI_DIGITS = 9;
const COIN_DIGITS = 18;
/** Nodes keep at least 16 transactions of an address that are not mined yet. */
const IN_FLIGHT_MAX = 16;

/** How a chain is sent on. */
export function readSending(
  file: ReturnType<typeof operatorFile>,
  value: unknown,
  path: string,
): SendingSettings {
  const given = file.asObject(value, path, KEYS);
  const wei = (key: string, digits: number, otherwise: string) =>
    readDecimal(given[key] ?? otherwise, digits) ??
    fail(`${path}.${key}`, `must be an amount in quotes such as "${otherwise}"`);
  const number = (key: string, min: number, max: number, otherwise: number) => {
    const found = given[key] ?? otherwise;
    const is_valid = Number.isInteger(found) && Number(found) >= min && Number(found) <= max;
    return is_valid
      ? Number(found)
      : fail(`${path}.${key}`, `must be a whole number from ${min} to ${max}`);
  };
  const fail = (at: string, problem: string): never => {
    throw file.wrong(at, problem);
  };
  const max_fee = wei("max_fee_gwei", GWEI_DIGITS, "500");
  if (max_fee === 0n) fail(`${path}.max_fee_gwei`, "must be more than 0");
  return {
    max_fee,
    priority_fee_min: wei("priority_fee_min_gwei", GWEI_DIGITS, "0"),
    gas_floor: wei("gas_floor", COIN_DIGITS, "0.01"),
    bump_after_seconds: number("bump_after_seconds", 5, 86_400, 180),
    in_flight_max: number("in_flight_max", 1, IN_FLIGHT_MAX, 8),
  };
}

/** In the smallest unit; null where it is not an amount. */
export function readDecimal(value: unknown, digits: number): bigint | null {
  const [, whole, part = ""] = /^(\d{1,9})(?:\.(\d{1,18}))?$/.exec(String(value)) ?? [];
  if (typeof value !== "string" || whole === undefined || part.length > digits) return null;
  return BigInt(whole + part.padEnd(digits, "0"));
}
