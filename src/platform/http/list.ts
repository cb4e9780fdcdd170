import Type, { type TProperties, type TSchema } from "typebox";
import { type Problem, Refusal } from "../errors.ts";
import { FIRST_ID, firstIdAt, isId, LAST_ID } from "../ids.ts";
import { closedObject } from "../schema-parts.ts";

/** The query parameters of every list. */
export const LIST_PARAMETERS = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 25, description: "Records per page." }),
  ),
  starting_after: Type.Optional(
    Type.String({ description: "Id of the last record of the previous page." }),
  ),
  created_after: Type.Optional(
    Type.String({ description: "ISO 8601: only records created after this time." }),
  ),
  created_before: Type.Optional(
    Type.String({ description: "ISO 8601: only records created before this time." }),
  ),
};

export function listQuery<Extra extends TProperties>(extra: Extra) {
  return closedObject({ ...LIST_PARAMETERS, ...extra });
}

/** For a list of records that have a status. */
export function byStatus<Statuses extends string[]>(
  statuses: readonly [...Statuses],
  description?: string,
) {
  const options = description === undefined ? {} : { description };
  return { status: Type.Optional(Type.Enum<Statuses>(statuses, options)) };
}

export function listAnswer<Key extends string, Item extends TSchema>(key: Key, item: Item) {
  return Type.Object({
    [key]: Type.Array(item),
    has_more: Type.Boolean({
      description:
        "Whether there are records after the last one. A page of very large records ends before " +
        "`limit`.",
    }),
  } as Record<Key, ReturnType<typeof Type.Array<Item>>> & {
    has_more: ReturnType<typeof Type.Boolean>;
  });
}

/**
 * A page as a range of ids: ids contain their time, so time filters and the cursor become one range
 * on the primary key, and every page costs the same.
 */
export type Page = { limit: number; below_id: string; from_id: string };

export type ListQuery = {
  limit?: number;
  starting_after?: string;
  created_after?: string;
  created_before?: string;
};

const LIMIT_DEFAULT = 25;
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** The page, and the problems of the query after those found before. */
export function readPage(
  query: ListQuery,
  already: readonly Problem[] = [],
): { page: Page; problems: Problem[] } {
  const problems = [...already];
  const time = (field: "created_after" | "created_before"): Date | undefined => {
    const text = query[field];
    if (text === undefined) return undefined;
    const date = readTime(text);
    if (date) return date;
    problems.push({ field, code: "record_invalid", message: TIME_MESSAGE });
    return undefined;
  };
  const after = time("created_after");
  const before = time("created_before");
  const cursor = query.starting_after;
  if (cursor !== undefined && !isId(cursor)) {
    const message = "Send the id of the last record of the previous page.";
    problems.push({ field: "starting_after", code: "record_invalid", message });
  }
  // A millisecond later: "after" excludes records created in that millisecond.
  const from_id = after ? firstIdAt(new Date(after.getTime() + 1)) : FIRST_ID;
  const upper = [before && firstIdAt(before), cursor?.toLowerCase()].filter(
    (id) => id !== undefined,
  );
  const below_id = upper.sort()[0] ?? LAST_ID;
  const limit = query.limit ?? LIMIT_DEFAULT;
  return { page: { limit, below_id, from_id }, problems };
}

/** The same, or a refusal: for routes that have nothing else to check. */
export function requirePage(query: ListQuery, already: readonly Problem[]): Page {
  const { page, problems } = readPage(query, already);
  if (problems.length > 0) throw Refusal.of(problems);
  return page;
}

/** The problem of a filter that must be the id of a record, if it is none. */
export function checkId(field: string, id: string | undefined): Problem[] {
  if (id === undefined || isId(id)) return [];
  return [{ field, code: "record_invalid", message: "Send the id of a record." }];
}

export const TIME_MESSAGE = "Send an ISO 8601 time such as 2026-11-15T09:30:00Z.";

/**
 * An ISO 8601 day or time; undefined if the text is neither. In UTC too its year has four digits:
 * others cannot be shown in an answer. The database knows no year 0.
 */
export function readTime(text: string): Date | undefined {
  const date = new Date(text);
  const is_time = TIME.test(text) && !Number.isNaN(date.getTime()) && isRealDay(text);
  return is_time && /^(?!0000)\d{4}-/.test(date.toISOString()) ? date : undefined;
}

/** JavaScript parses February 30 as a day in March. */
function isRealDay(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

/** The encrypted bytes of a page: an answer is made in memory. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Stores read one row more than the page size: it shows whether there is a next page. A page of
 * very large records ends earlier.
 */
export function cutPage<Row>(
  rows: readonly Row[],
  { limit }: Pick<Page, "limit">,
): { rows: Row[]; has_more: boolean } {
  let bytes = 0;
  const first_beyond = rows.findIndex((row, at) => {
    bytes += bytesOf(row);
    return at > 0 && bytes > PAGE_BYTES_MAX;
  });
  const shown = rows.slice(0, first_beyond < 0 ? limit : Math.min(limit, first_beyond));
  return { rows: shown, has_more: rows.length > shown.length };
}

function bytesOf(row: unknown): number {
  const values = Object.values(row as object);
  return values.reduce((sum, value) => sum + (Buffer.isBuffer(value) ? value.length : 0), 0);
}
