import { VOUCHED_TABLES } from "../verify-rows.ts";
import { type Coverage, DELETED, EVERYTHING, PLANTED } from "./model.ts";
import { NOTICED } from "./noticed.ts";
import { UNNOTICED_ACCESS } from "./unnoticed-access.ts";
import { UNNOTICED_MONEY } from "./unnoticed-money.ts";
import { WHOLE_TABLES } from "./whole-tables.ts";

/** By table: what nobody notices, and why. */
export const NOT_NOTICED: Coverage = {
  ...UNNOTICED_ACCESS,
  ...UNNOTICED_MONEY,
  ...WHOLE_TABLES,
};

/** Whether it is listed that nobody notices this change. */
export function isListed(table: string, change: string): boolean {
  return (NOT_NOTICED[table] ?? []).some(({ changes }) => changes.includes(change));
}

/** Whether the table is listed as a whole. */
export function isWholeListed(table: string): boolean {
  return (NOT_NOTICED[table] ?? []).some(({ changes }) => changes === EVERYTHING);
}

/** Every change of the table's rows on which somebody has decided. */
export function decidedChanges(table: string): string[] {
  const vouched = VOUCHED_TABLES.find((one) => one.table === table);
  return [
    ...(vouched ? [...vouched.key, ...vouched.columns, "mac", DELETED, PLANTED] : []),
    ...(NOTICED[table] ?? []),
    ...(NOT_NOTICED[table] ?? []).flatMap(({ changes }) => changes),
  ];
}
