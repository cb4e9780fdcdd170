import Type, { type Static } from "typebox";
import { minorDigits } from "../../catalogue/currencies.ts";
import { RAILS } from "../../catalogue/rails.ts";
import { lowerAscii } from "../../catalogue/text.ts";
import { OFFRAMP_STATUSES } from "../../offramps/model.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { openOfframps } from "../../offramps/store.ts";
import type { Session } from "../../platform/db/database.ts";
import { listQuery, readPage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { parseAmount } from "../../platform/money.ts";
import { Problems } from "../../platform/problems.ts";
import { HELD_REASONS } from "./held-reasons.ts";
import { listDetailsOfPayee, listPayouts, type PayoutFilter } from "./list-store.ts";

type ListDeps = Pick<ModuleCore, "database" | "keyring" | "clock" | "public_url">;

const Text = Type.Optional(Type.String({ maxLength: 100 }));
const PayoutQuery = listQuery({
  ...{ user_id: Text, quote_id: Text, payment_detail_id: Text, currency: Text },
  ...{ amount_min: Text, amount_max: Text },
  /** Blind indexes, as the search gives them: what people typed stays out of URLs. */
  ...{ reference: Text, payee: Text },
  status: Type.Optional(Type.Enum([...OFFRAMP_STATUSES])),
  rails: Type.Optional(Type.Enum([...RAILS])),
  held_by: Type.Optional(Type.Enum([...HELD_REASONS])),
  /** What the bank has not answered about in time. */
  unanswered: Type.Optional(Type.Literal("true")),
});

const BLIND_INDEX = /^[0-9a-f]{64}$/;
const DETAILS_MAX = 100;
/** Ids begin with their time in milliseconds. */
const timeOf = (id: string) => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));

/** The payouts of the account with any combination of filters. */
export function addPayoutListRoute(addRoute: AddRoute, deps: ListDeps): void {
  const { database, keyring } = deps;
  const renderer = createOfframpRenderer(deps.public_url, deps.clock);
  addRoute({
    method: "GET",
    path: "/dashboard/api/payouts",
    operation: "listPayouts",
    summary: "List payouts",
    description:
      "Newest first. A filter that no index serves looks at 1 000 payouts: `looked_until` says " +
      "how far, and `next` where to go on.",
    tag: "Dashboard",
    members_only: true,
    query: PayoutQuery,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const filter = await readFilter(database, account_id, query, new Problems(found));
      const { rows, has_more, last_id } = await listPayouts(database, account_id, filter, page);
      const opened = await openOfframps(database, keyring, rows);
      const listed = renderer.list(
        opened.map(({ offramp }) => offramp),
        has_more,
      );
      const looked_until = rows.length < page.limit && last_id ? timeOf(last_id) : null;
      return JSON.stringify({ ...JSON.parse(listed), next: last_id, looked_until });
    },
  });
}

async function readFilter(
  session: Session,
  account_id: string,
  query: Static<typeof PayoutQuery>,
  problems: Problems,
): Promise<PayoutFilter> {
  const { user_id, quote_id, payment_detail_id, payee, reference, rails } = query;
  for (const [name, id] of Object.entries({ user_id, quote_id, payment_detail_id })) {
    if (id !== undefined && !isId(id)) problems.invalid(name, "Send the id of a record.");
  }
  for (const [name, index] of Object.entries({ payee, reference })) {
    if (index !== undefined && !BLIND_INDEX.test(index)) {
      problems.invalid(name, "Search for it: the result has the value of this filter.");
    }
  }
  const { held_by } = query;
  const is_unanswered = query.unanswered !== undefined;
  const implied = held_by ? "ongoing_checks" : is_unanswered ? "sending_fiat" : query.status;
  const status = query.status ?? implied;
  if (held_by && status !== "ongoing_checks") {
    problems.invalid("held_by", "Only payouts that are held have a reason for it.");
  }
  if (is_unanswered && status !== "sending_fiat") {
    problems.invalid("unanswered", "Only payouts that are at the bank wait for its answer.");
  }
  const destination_currency = query.currency && lowerAscii(query.currency);
  const amounts = readAmounts(query, destination_currency, problems);
  problems.throwIfAny();
  const details = await detailsOf(session, account_id, { payment_detail_id, payee });
  return {
    ...{
      status,
      destination_currency,
      rails,
      user_id,
      quote_id,
      held_by,
      is_unanswered,
      ...amounts,
    },
    ...(details ? { payment_detail_ids: details } : {}),
    ...(reference ? { reference_index: Buffer.from(reference, "hex") } : {}),
  };
}

async function detailsOf(
  session: Session,
  account_id: string,
  { payment_detail_id, payee }: { payment_detail_id?: string; payee?: string },
): Promise<string[] | null> {
  if (payment_detail_id) return [payment_detail_id];
  if (!payee) return null;
  return listDetailsOfPayee(session, account_id, Buffer.from(payee, "hex"), DETAILS_MAX);
}

function readAmounts(
  query: Static<typeof PayoutQuery>,
  currency: string | undefined,
  problems: Problems,
): { amount_min?: bigint; amount_max?: bigint } {
  const digits = currency === undefined ? undefined : minorDigits(currency);
  if (currency !== undefined && digits === undefined) {
    problems.report("currency", "currency_not_supported", "Send the code of a payout currency.");
  }
  const read = (name: "amount_min" | "amount_max") => {
    const text = query[name];
    if (text === undefined) return {};
    if (currency === undefined) problems.invalid(name, "Choose the currency of the amount too.");
    const parsed = parseAmount(text, digits ?? 2);
    if ("value" in parsed) return { [name]: parsed.value };
    problems.invalid(name, parsed.reason);
    return {};
  };
  return { ...read("amount_min"), ...read("amount_max") };
}
