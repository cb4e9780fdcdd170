import Type from "typebox";
import { TOKEN_DIGITS, TOKENS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { toRates } from "../../offramps/quotes/load-quotes.ts";
import { countedFor, QUOTE_STATUSES, type Quote, restUntil } from "../../offramps/quotes/model.ts";
import { findQuotes } from "../../offramps/quotes/store.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { listQuoteRates } from "../../offramps/store.ts";
import { assertFound } from "../../platform/errors.ts";
import { byStatus, cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { BY_USER, isOfUser } from "../of-user.ts";
import { listAccountQuotes, listQuoteProgress, type QuoteProgress } from "./store.ts";

type QuoteDeps = Pick<ModuleCore, "database" | "clock" | "public_url">;

const TAG = "Dashboard";

/** Quotes by account, and one by its id alone, with how far its payouts are. */
export function addQuoteRoutes(addRoute: AddRoute, deps: QuoteDeps): void {
  const { database } = deps;
  const renderer = createOfframpRenderer(deps.public_url, deps.clock);
  addRoute({
    method: "GET",
    path: "/dashboard/api/quotes",
    operation: "listAccountQuotes",
    summary: "List the quotes of all users",
    description: "Newest first; `user_id` for those of one payer.",
    tag: TAG,
    members_only: true,
    query: listQuery({
      ...byStatus(QUOTE_STATUSES),
      ...BY_USER,
      token: Type.Optional(Type.Enum([...TOKENS])),
    }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const { user_id, status, token } = query;
      const filter = { account_id: caller.account_id, user_id, status, token };
      const found = isOfUser(query)
        ? await listAccountQuotes(database, filter, page, deps.clock.now())
        : [];
      const { rows, has_more } = cutPage(found, page);
      return renderer.quotes(rows, () => ({}), has_more);
    },
  });

  addRoute({
    method: "GET",
    path: "/dashboard/api/quotes/:quote_id",
    operation: "showAccountQuote",
    summary: "Show a quote",
    description: "The quote as the API shows it, without its offramps, and how far they are.",
    tag: TAG,
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const id = params.quote_id;
      const [quote] = isId(id) ? await findQuotes(database, [{ account_id, id }]) : [];
      assertFound(quote, "quote_id", problems);
      const [rates, progress] = await Promise.all([
        listQuoteRates(database, account_id, [id]),
        listQuoteProgress(database, account_id, id),
      ]);
      return JSON.stringify({
        ...JSON.parse(renderer.quote(quote, [], toRates(rates))),
        ...describePayment(quote),
        payouts: quote.offramp_count,
        progress: progress.map(toAnswer),
      });
    },
  });
}

/** What has been received of what it costs, and until when the rest may arrive. */
function describePayment(quote: Quote) {
  const counted = countedFor(quote);
  const missing = quote.token_amount > counted ? quote.token_amount - counted : 0n;
  return {
    received: minorToText(counted, TOKEN_DIGITS),
    missing: minorToText(quote.funded_at ? 0n : missing, TOKEN_DIGITS),
    is_funded: quote.funded_at !== null,
    rest_until: restUntil(quote),
  };
}

function toAnswer(progress: QuoteProgress) {
  const digits = minorDigits(progress.currency)!;
  return { ...progress, amount: minorToText(BigInt(progress.amount), digits) };
}
