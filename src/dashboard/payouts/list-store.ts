import { RAILS } from "../../catalogue/rails.ts";
import { OFFRAMP_STATUSES } from "../../offramps/model.ts";
import type { OfframpRow } from "../../offramps/store.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Page } from "../../platform/http/list.ts";
import { type HeldReason, isHeldBecause } from "./held-reasons.ts";

export type PayoutFilter = {
  status?: string;
  destination_currency?: string;
  rails?: string;
  user_id?: string;
  quote_id?: string;
  /** Of the same bank account. */
  payment_detail_ids?: readonly string[];
  reference_index?: Buffer;
  /** In minor units. */
  amount_min?: bigint;
  amount_max?: bigint;
  held_by?: HeldReason;
  /** The bank has not answered in time. */
  is_unanswered?: boolean;
};

/** Columns with their values. All payouts with them lie together in an index, in order of id. */
type Range = Readonly<Record<string, unknown>>;

/**
 * What no index serves is compared row by row, for this many payouts a request: it costs the same
 * however many there are. The answer says how far it looked.
 */
const LOOKED_AT_MAX = 800;

type PayoutPage = {
  rows: OfframpRow[];
  has_more: boolean;
  /** Where the next page begins. */
  last_id: string | null;
};

/** A page of payouts, newest first. */
export async function listPayouts(
  session: Session,
  account_id: string,
  filter: PayoutFilter,
  page: Page,
): Promise<PayoutPage> {
  const ranges = await rangesOf(session, account_id, filter);
  const rest = restOf(filter, ranges[0] ?? {});
  if (ranges.length === 0) return { rows: [], has_more: false, last_id: null };
  const query = newQuery([account_id, page.below_id, page.from_id]);
  if (rest.length > 0) return listMatching(session, query, ranges, rest, page.limit);
  const sql = `select * from (${firstOf(query, ranges, page.limit + 1)}) as first`;
  const rows = await session.query<OfframpRow>(sql, query.values);
  return cut(rows, page.limit, rows.length > page.limit, null);
}

async function listMatching(
  session: Session,
  query: Query,
  ranges: readonly Range[],
  rest: readonly Condition[],
  limit: number,
): Promise<PayoutPage> {
  const matches = rest.map((condition) => condition(query)).join(" and ");
  const rows = await session.query<OfframpRow & { looked_at: number; looked_until: string }>(
    `with looked as materialized (
       select id, (${matches}) as matches
       from (${firstOf(query, ranges, LOOKED_AT_MAX)}) as first),
     found as (
       select id from looked where matches order by id desc limit ${query.place(limit + 1)}),
     extent as (select count(*)::integer as looked_at,
       (select id from looked order by id limit 1) as looked_until from looked)
     select offramps.*, extent.* from extent
     left join found on true
     left join offramps on offramps.account_id = $1 and offramps.id = found.id
     order by found.id desc`,
    query.values,
  );
  const [first] = rows;
  const is_end = !first || first.looked_at < LOOKED_AT_MAX;
  const found = rows.filter((row) => row.id !== null);
  return cut(found, limit, !is_end, first?.looked_until ?? null);
}

function cut(
  rows: OfframpRow[],
  limit: number,
  has_more: boolean,
  looked_until: string | null,
): PayoutPage {
  const shown = rows.slice(0, limit);
  if (rows.length > limit) return { rows: shown, has_more: true, last_id: shown.at(-1)!.id };
  return { rows: shown, has_more, last_id: has_more ? looked_until : null };
}

/** The parts of an index that hold all payouts of the filter, and few others. */
async function rangesOf(
  session: Session,
  account_id: string,
  filter: PayoutFilter,
): Promise<Range[]> {
  const { status, destination_currency, rails, user_id, quote_id } = filter;
  if (filter.reference_index) return [{ reference_index: filter.reference_index }];
  if (filter.payment_detail_ids) {
    return filter.payment_detail_ids.map((payment_detail_id) => ({ payment_detail_id }));
  }
  if (quote_id) return [{ quote_id }];
  if (user_id) return [{ user_id, ...(status ? { status } : {}) }];
  if (!destination_currency && !rails) return [status ? { status } : {}];
  const currencies = destination_currency
    ? [destination_currency]
    : await listCurrencies(session, account_id, rails!);
  const statuses = status ? [status] : OFFRAMP_STATUSES;
  return (rails ? [rails] : RAILS).flatMap((rail) =>
    currencies.flatMap((currency) =>
      statuses.map((one) => ({ rails: rail, destination_currency: currency, status: one })),
    ),
  );
}

/** The currencies of the account's payouts by a rail, read from one to the next in the index. */
async function listCurrencies(
  session: Session,
  account_id: string,
  rails: string,
): Promise<string[]> {
  const rows = await session.query<{ currency: string }>(
    `with recursive used as (
       (select destination_currency as currency from offramps
        where rails = $2 and account_id = $1 order by destination_currency limit 1)
       union all
       select (select destination_currency from offramps
         where rails = $2 and account_id = $1 and destination_currency > used.currency
         order by destination_currency limit 1)
       from used where used.currency is not null)
     select currency from used where currency is not null`,
    [account_id, rails],
  );
  return rows.map(({ currency }) => currency);
}

type Query = { values: unknown[]; place(value: unknown): string };

function newQuery(values: unknown[]): Query {
  return { values, place: (value) => `$${values.push(value)}` };
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ user_id: "uuid", quote_id: "uuid", payment_detail_id: "uuid", reference_index: "bytea" },
};

const IN_PAGE = "account_id = $1 and id < $2 and id >= $3";

/**
 * The newest payouts of the ranges. The planner does not merge ranges of an index by itself, but
 * sorts all that they hold; so the first ids of each are taken, and the first of these.
 */
function firstOf(query: Query, ranges: readonly Range[], limit: number): string {
  const count = query.place(limit);
  const names = Object.keys(ranges[0]!);
  if (ranges.length === 1) {
    const equal = names.map((name) => ` and ${name} = ${query.place(ranges[0]![name])}`);
    return `select * from offramps where ${IN_PAGE}${equal.join("")}
      order by id desc limit ${count}`;
  }
  const lists = names.map((name) => {
    const values = ranges.map((range) => range[name]);
    return `${query.place(values)}::${TYPES[name] ?? "text"}[]`;
  });
  const equal = names.map((name) => ` and ${name} = range.${name}`);
  return `select offramps.* from (
      select newest.id from unnest(${lists.join(", ")}) as range (${names.join(", ")})
      cross join lateral (select id from offramps
        where ${IN_PAGE}${equal.map((text) => text.replace("and ", "and offramps.")).join("")}
        order by id desc limit ${count}) as newest
      order by newest.id desc limit ${count}) as ids
    join offramps on offramps.account_id = $1 and offramps.id = ids.id
    order by offramps.id desc`;
}

/** As the overview counts them. */
const IS_UNANSWERED = `exists (select from payouts
  where payouts.account_id = first.account_id and payouts.offramp_id = first.id
    and payouts.flagged_at is not null and payouts.status in ('submitting', 'sent'))`;

type Condition = (query: Query) => string;

const COMPARED = ["status", "destination_currency", "rails", "user_id", "quote_id"] as const;

/** The conditions that the ranges do not meet by themselves. */
function restOf(filter: PayoutFilter, range: Range): Condition[] {
  const { amount_min, amount_max, held_by, payment_detail_ids } = filter;
  const rest: Condition[] = COMPARED.filter((name) => filter[name] && !(name in range)).map(
    (name) => (query) => `${name} = ${query.place(filter[name])}`,
  );
  if (payment_detail_ids && !("payment_detail_id" in range)) {
    rest.push((query) => `payment_detail_id = any(${query.place(payment_detail_ids)}::uuid[])`);
  }
  if (amount_min) rest.push((query) => `destination_amount >= ${query.place(amount_min)}`);
  if (amount_max) rest.push((query) => `destination_amount <= ${query.place(amount_max)}`);
  if (held_by) rest.push(() => isHeldBecause(held_by));
  if (filter.is_unanswered) rest.push(() => IS_UNANSWERED);
  return rest;
}

/** The payment details of the bank account with this blind index. */
export async function listDetailsOfPayee(
  session: Session,
  account_id: string,
  payee_index: Buffer,
  limit: number,
): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from payment_details
     where coalesce(payee_index, uuid_send(id)) = $2 and account_id = $1 order by id desc limit $3`,
    [account_id, payee_index, limit],
  );
  return rows.map(({ id }) => id);
}
