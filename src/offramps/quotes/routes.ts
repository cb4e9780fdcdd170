import type { ApprovalRules } from "../../approvals/with-approval.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { LimitDeps } from "../../limits/load-limits.ts";
import { type ChainPort, ChainUnavailable } from "../../partners/chain/port.ts";
import { assertFound, type ErrorCode, notFound, Refusal } from "../../platform/errors.ts";
import { cutPage, readPage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { PriceBook } from "../../prices/price-book.ts";
import { findUser } from "../../users/store.ts";
import type { GatePolicy } from "../gates.ts";
import type { OfframpRenderer } from "../render.ts";
import { listQuoteOfframps, listQuoteRates, toOfframps } from "../store.ts";
import { checkNewQuote } from "./check-new-quote.ts";
import { checkTransfer } from "./check-transfer.ts";
import { createQuotes } from "./create-quotes.ts";
import { executeQuotes } from "./execute-quotes.ts";
import { fundFromBalance } from "./fund-from-balance.ts";
import { OFFRAMPS_EMBEDDED_MAX, toRates } from "./load-quotes.ts";
import type { Quote } from "./model.ts";
import {
  CreateQuoteBody,
  ExecuteQuoteBody,
  QuoteAnswer,
  QuoteListAnswer,
  QuoteListQuery,
} from "./schemas.ts";
import { findQuote, listQuotes } from "./store.ts";

type QuoteDeps = Pick<ModuleCore, "database" | "clock" | "keyring" | "executor"> & {
  catalogue: Catalogue;
  prices: PriceBook;
  chain: ChainPort;
  renderer: OfframpRenderer;
  policy: GatePolicy;
  approvals: ApprovalRules;
  limits: LimitDeps;
  quote_life_ms: number;
  quotes_open_max: number;
};

const TAG = "Quotes";
const RETRY_AFTER_SECONDS = 60;
const SAMPLE_TX_ID = "0x2f1c5a3be0d94c6f8f7be9a1d0c3b2a495867f6e5d4c3b2a1908f7e6d5c4b3a2";

/** Those of every way to pay a quote. */
const PAYMENT_ERRORS: readonly ErrorCode[] = [
  "quote_already_executed",
  "quote_expired",
  "payment_detail_deactivated",
  "payment_detail_not_approved",
  "not_yet_passed_kyc_kyb",
  "not_approved_for_payout_rail",
  "no_offramps_present",
  "invalid_transition",
  "limit_exceeded",
  "on_hold",
];

export function addQuoteRoutes(addRoute: AddRoute, deps: QuoteDeps): void {
  addCreateRoute(addRoute, deps);
  addReadRoutes(addRoute, deps);
  addExecuteRoute(addRoute, deps);
  addFundRoute(addRoute, deps);
}

function addCreateRoute(addRoute: AddRoute, deps: QuoteDeps): void {
  const { executor, clock, prices, renderer } = deps;
  const submitCreate = executor.register(
    createQuotes(deps, (quote) => renderer.quote(quote, [], {})),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/quotes",
    operation: "createQuote",
    summary: "Create a quote",
    description: "Locks all rates until `expiry`. Add offramps to the quote, then execute it.",
    tag: TAG,
    body: CreateQuoteBody,
    body_example: { quote: { deposit_token: "usdc", deposit_token_chain: "polygon" } },
    answer: QuoteAnswer,
    errors: ["limit_exceeded", "invalid_transition"],
    handle: async ({ params, body, problems, command }) => {
      const wanted = checkNewQuote(body.quote, deps.catalogue, problems);
      const current = await prices.currentPrices(clock.now());
      return submitCreate(
        command({
          user_id: params.user_id,
          wanted,
          price_version_id: "stale" in current ? null : current.version_id,
        }),
      );
    },
  });
}

function addReadRoutes(addRoute: AddRoute, deps: QuoteDeps): void {
  const { database, keyring, renderer, clock } = deps;
  addRoute({
    method: "GET",
    path: "/users/:user_id/quotes",
    operation: "listQuotes",
    summary: "List quotes",
    description: "All quotes of the user, newest first, without their offramps.",
    tag: TAG,
    query: QuoteListQuery,
    answer: QuoteListAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const { account_id } = caller;
      const key = { account_id, user_id: params.user_id };
      assertFound(await findUser(database, key), "user_id", found);
      const { rows, has_more } = cutPage(
        await listQuotes(database, key, query.status, page, clock.now()),
        page,
      );
      const ids = rows.map((quote) => quote.id);
      const rates = Map.groupBy(
        await listQuoteRates(database, account_id, ids),
        (row) => row.quote_id,
      );
      return renderer.quotes(rows, (quote) => toRates(rates.get(quote.id) ?? []), has_more);
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/quotes/:quote_id",
    operation: "showQuote",
    summary: "Show a quote",
    description: "Includes up to 500 of its offramps and the deposit address.",
    tag: TAG,
    answer: QuoteAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const { account_id } = caller;
      const user_id = params.user_id;
      const quote_id = params.quote_id;
      const [quote, keys] = await Promise.all([
        findQuote(database, { account_id, user_id }, quote_id),
        keyring.openUserKeys(database, [{ account_id, user_id }]),
      ]);
      if (!quote || !keys.has(account_id, user_id)) {
        throw Refusal.of([...problems, notFound("quote_id")]);
      }
      if (problems.length > 0) throw Refusal.of(problems);
      const [rows, rates] = await Promise.all([
        listQuoteOfframps(database, account_id, quote_id, OFFRAMPS_EMBEDDED_MAX),
        listQuoteRates(database, account_id, [quote_id]),
      ]);
      const offramps = toOfframps(rows, keys).map(({ offramp }) => offramp);
      return renderer.quote(quote, offramps, toRates(rates));
    },
  });
}

function addExecuteRoute(addRoute: AddRoute, deps: QuoteDeps): void {
  const { database, executor, chain } = deps;
  const submitExecute = executor.register(executeQuotes(deps));
  addRoute({
    method: "POST",
    path: "/users/:user_id/quotes/:quote_id/execute",
    operation: "executeQuote",
    summary: "Execute a quote",
    description:
      "Sends the id of the transfer that pays for the quote. The deposit is confirmed later; " +
      "webhooks report it.",
    tag: TAG,
    body: ExecuteQuoteBody,
    body_example: {
      quote: { crypto_transfer: { tx_id: SAMPLE_TX_ID, blockchain: "polygon", network: "amoy" } },
    },
    answer: QuoteAnswer,
    errors: ["record_not_unique", ...PAYMENT_ERRORS],
    handle: async ({ caller, params, body, problems, command }) => {
      const checked = checkTransfer(body.quote?.crypto_transfer, deps.catalogue, problems);
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const quote = await findQuote(database, key, params.quote_id);
      const earlier = quote && (await findEarlier(chain, quote, checked.tx_id));
      return submitExecute(
        command({
          user_id: params.user_id,
          quote_id: params.quote_id,
          ...checked,
          earlier: earlier ?? null,
        }),
      );
    },
  });
}

function addFundRoute(addRoute: AddRoute, deps: QuoteDeps): void {
  const { executor } = deps;
  const submitFund = executor.register(fundFromBalance(deps));
  addRoute({
    method: "POST",
    path: "/users/:user_id/quotes/:quote_id/fund",
    operation: "fundQuote",
    summary: "Fund a quote from a balance",
    description:
      "Executes the quote and pays for it from the user's balance, without a transfer. " +
      "See `GET /users/{user_id}/balances`. Where the balance is too small all of it is set " +
      "aside; its offramps wait in `ongoing_checks` until you send the rest to the deposit " +
      "address, or call this again, before the quote expires.",
    tag: TAG,
    answer: QuoteAnswer,
    errors: PAYMENT_ERRORS,
    handle: ({ params, problems, command }) =>
      submitFund(command({ user_id: params.user_id, quote_id: params.quote_id, problems })),
  });
}

/** The status of the transfer named before, if another one is named now. */
async function findEarlier(chain: ChainPort, quote: Quote, tx_id: string) {
  if (quote.tx_id === null || quote.tx_id === tx_id) return null;
  const { deposit_token: token, deposit_address: address } = quote;
  const named = { tx_id: quote.tx_id, address, token };
  const status = await chain.findStatus(quote.deposit_token_chain, named).catch(refuseIfUnread);
  return { tx_id: quote.tx_id, status };
}

function refuseIfUnread(error: unknown): never {
  if (!(error instanceof ChainUnavailable)) throw error;
  const message = "The chain cannot be read at the moment; try again later.";
  throw new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
}
