import type { Static } from "typebox";
import { DAY_MS } from "../platform/durations.ts";
import type { Problem } from "../platform/errors.ts";
import { parseJsonBody } from "../platform/http/json-body.ts";
import type { Sound } from "../platform/http/sound.ts";
import { isId } from "../platform/ids.ts";
import { parseTime } from "./check-invoice.ts";
import type { ViewFilter, ViewPage } from "./counterparty/view-store.ts";
import { searchedWords } from "./links.ts";
import { INVOICE_STATUSES, type PartyRole } from "./model.ts";
import type { InvoiceListQuery } from "./schemas.ts";

const TAKE_DEFAULT = 25;
const DAY_LENGTH = "2026-11-15".length;
const SEARCH_WORDS_MAX = 10;
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** The party that receives the money is the sender; for a salary, that is the employee. */
const ROLES: Record<string, PartyRole> = { sent: "seller", received: "buyer" };

/** Checks the filters of a list; reports all problems at once. */
export function checkList(
  query: Sound<Static<typeof InvoiceListQuery>>,
  index_key: Buffer,
  account_id: string,
  now: Date,
): { filter: ViewFilter; page: ViewPage; problems: Problem[] } {
  const problems: Problem[] = [];
  const report = (field: string, message: string) =>
    problems.push({ field, code: "record_invalid", message });
  const time = (field: string, value: unknown): Date | null => {
    if (value === undefined || value === null) return null;
    const parsed = typeof value === "string" ? parseTime(value) : undefined;
    if (!parsed) report(field, "Send an ISO 8601 time such as 2026-11-15T09:30:00Z.");
    return parsed ?? null;
  };
  const cursor = query.starting_after;
  if (cursor !== undefined && !isId(cursor)) {
    report("starting_after", "Send the id of the last record of the previous page.");
  }
  const range = readRange(query.creationDateRange, report);
  const wanted = [query["status[]"] ?? [], query.status ?? []].flat();
  const statuses = INVOICE_STATUSES.filter((status) => wanted.includes(status));
  const is_overdue = wanted.includes("overdue");
  return {
    problems,
    filter: {
      // Only states that no invoice is ever in were requested: nothing is found.
      statuses: wanted.length > 0 && statuses.length === 0 && !is_overdue ? NOTHING : statuses,
      overdue_at: is_overdue ? now : null,
      role: query.filterBy ? (ROLES[query.filterBy] ?? null) : null,
      format: query.variant ?? null,
      created_from: time("creationDateRange.from", range.from),
      created_to: wholeDay(range.to, time("creationDateRange.to", range.to)),
      updated_since: time("updatedSince", query.updatedSince),
      words: searchedWords(index_key, account_id, query.search ?? "").slice(0, SEARCH_WORDS_MAX),
    },
    page: {
      below_id: cursor !== undefined && isId(cursor) ? cursor.toLowerCase() : LAST_ID,
      skip: query.skip ?? 0,
      limit: query.take ?? TAKE_DEFAULT,
    },
  };
}

/** A date without a time is that whole day. */
function wholeDay(given: unknown, time: Date | null): Date | null {
  const is_day = typeof given === "string" && given.length === DAY_LENGTH;
  return time && is_day ? new Date(time.getTime() + DAY_MS - 1) : time;
}

const NOTHING = ["pending"] as unknown as ViewFilter["statuses"];

function readRange(
  text: string | undefined,
  report: (field: string, message: string) => void,
): { from?: unknown; to?: unknown } {
  if (text === undefined) return {};
  try {
    const range = parseJsonBody(Buffer.from(text)).value;
    const is_object = typeof range === "object" && range !== null && !Array.isArray(range);
    const names = is_object ? Object.keys(range) : ["?"];
    if (names.every((name) => name === "from" || name === "to")) return range as { from?: unknown };
  } catch {
    // Reported below, like every other format error.
  }
  report("creationDateRange", 'Send JSON such as {"from":"2026-11-01","to":"2026-11-30"}.');
  return {};
}
