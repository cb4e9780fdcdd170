import type { Catalogue } from "../catalogue/catalogue.ts";
import type { LimitDeps } from "../limits/load-limits.ts";
import type { BankPort } from "../partners/bank/port.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { assertFound } from "../platform/errors.ts";
import { cutPage, readPage } from "../platform/http/list.ts";
import type { AddRoute } from "../platform/http/route.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { PriceBook } from "../prices/price-book.ts";
import type { KycEnforcement } from "../users/clearance.ts";
import { findUser } from "../users/store.ts";
import { checkPayee, checkTerms } from "./check-terms.ts";
import { createOnramps } from "./create-onramps.ts";
import { renderOnramp, renderOnramps } from "./render.ts";
import { CreateOnrampBody, OnrampAnswer, OnrampListAnswer, OnrampListQuery } from "./schemas.ts";
import { findOnramp, listOnramps, openOnramps } from "./store.ts";

type OnrampDeps = Pick<ModuleCore, "database" | "clock" | "keyring" | "executor"> & {
  catalogue: Catalogue;
  prices: PriceBook;
  bank: BankPort;
  chain: ChainPort;
  kyc_enforcement: KycEnforcement;
  is_screening: boolean;
  limits: LimitDeps;
};

const TAG = "Onramps";

export function addOnrampRoutes(addRoute: AddRoute, deps: OnrampDeps): void {
  addCreateRoute(addRoute, deps);
  addReadRoutes(addRoute, deps);
}

function addCreateRoute(addRoute: AddRoute, deps: OnrampDeps): void {
  const { executor, keyring, prices, clock } = deps;
  const submitCreate = executor.register(
    createOnramps(keyring, deps.kyc_enforcement, deps.limits, deps.is_screening),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/onramps",
    operation: "createOnramp",
    summary: "Create an onramp",
    description:
      "Returns the bank account to pay to and the `deposit_message` that the transfer text must " +
      "contain. The rate is locked for 24 hours. An onramp that is not paid within 7 days fails. " +
      "A user can have 20 unpaid onramps at a time.",
    tag: TAG,
    body: CreateOnrampBody,
    body_example: {
      onramp: {
        destination_amount: 1000,
        crypto_currency: "usdc",
        crypto_rails: "polygon",
        destination_address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
        fiat_currency: "usd",
        fiat_rails: "ach_push",
      },
    },
    answer: OnrampAnswer,
    errors: [
      "record_not_found",
      "currency_not_supported",
      "rails_not_available",
      "below_currency_limit",
      "invalid_transition",
      "not_yet_passed_kyc_kyb",
      "limit_exceeded",
      "on_hold",
    ],
    handle: async ({ params, body, problems, command }) => {
      const current = await prices.currentPrices(clock.now());
      const checked = await checkPayee(
        deps.chain,
        checkTerms(deps, current, body.onramp, problems),
      );
      return submitCreate(command({ user_id: params.user_id, ...checked }));
    },
  });
}

function addReadRoutes(addRoute: AddRoute, { database, keyring }: OnrampDeps): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id/onramps",
    operation: "listOnramps",
    summary: "List the onramps of a user",
    description: "Newest first; can be filtered by status.",
    tag: TAG,
    query: OnrampListQuery,
    answer: OnrampListAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const key = { account_id: caller.account_id, user_id: params.user_id };
      assertFound(await findUser(database, key), "user_id", found);
      const rows = await listOnramps(database, key, query.status, page);
      const { rows: shown, has_more } = cutPage(rows, page);
      const opened = await openOnramps(database, keyring, shown);
      return renderOnramps(
        opened.map(({ onramp }) => onramp),
        has_more,
      );
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/onramps/:onramp_id",
    operation: "showOnramp",
    summary: "Show an onramp",
    description: "Includes the deposit instructions.",
    tag: TAG,
    answer: OnrampAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      const [user, row] = await Promise.all([
        findUser(database, key),
        findOnramp(database, key, params.onramp_id),
      ]);
      const [entry] = await openOnramps(database, keyring, user && row ? [row] : []);
      assertFound(entry, "onramp_id", problems);
      return renderOnramp(entry.onramp);
    },
  });
}
