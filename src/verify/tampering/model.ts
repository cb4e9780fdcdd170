/*
 * What `verify` notices if somebody changes the database by SQL. Every column of every table is
 * covered by a MAC (`VOUCHED_TABLES`), noticed by another check (noticed.ts), or listed with the
 * reason why not (unnoticed-access.ts, unnoticed-money.ts, whole-tables.ts). A test fails on a
 * column that is in none of them; test/verify/every-column.test.ts changes them all.
 */

/** Columns, or whole rows, that can be changed unnoticed. */
type Unnoticed = { changes: readonly string[]; reason: string };

/** By table. */
export type Coverage = Readonly<Record<string, readonly Unnoticed[]>>;

export const DELETED = "(a deleted row)";
export const PLANTED = "(a planted row)";
/** In place of columns: the whole table. */
export const EVERYTHING: readonly string[] = ["(everything)"];
