import Type from "typebox";
import { findAccountById } from "../../accounts/store.ts";
import type { Deposit } from "../../balances/deposit-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Offramp } from "../../offramps/model.ts";
import type { Payout } from "../../offramps/payouts/model.ts";
import { listPayouts } from "../../offramps/payouts/store.ts";
import { findQuotes } from "../../offramps/quotes/store.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { findOfframps, openOfframps } from "../../offramps/store.ts";
import { assertFound } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { listDepositsOfQuote } from "../deposits/store.ts";

const DEPOSITS_SHOWN = 100;

type PayoutDeps = Pick<ModuleCore, "database" | "keyring" | "clock" | "public_url" | "operator_id">;

/** A payout by its id alone, with what its page shows beside the API's record. */
export function addPayoutRoute(addRoute: AddRoute, deps: PayoutDeps): void {
  const { database, keyring, operator_id } = deps;
  const renderer = createOfframpRenderer(deps.public_url, deps.clock);
  addRoute({
    method: "GET",
    path: "/dashboard/api/payouts/:payout_id",
    operation: "showPayout",
    summary: "Show a payout",
    description: "The offramp as the API shows it, and what its page needs to know beside it.",
    tag: "Dashboard",
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, params, problems }) => {
      const key = { account_id, id: params.payout_id };
      const rows = isId(key.id) ? await findOfframps(database, [key]) : [];
      const [entry] = await openOfframps(database, keyring, rows);
      assertFound(entry, "payout_id", problems);
      const { offramp } = entry;
      const [[quote], account, attempts, deposits] = await Promise.all([
        findQuotes(database, [{ account_id, id: offramp.quote_id }]),
        findAccountById(database, account_id),
        listPayouts(database, [key]),
        listDepositsOfQuote(database, account_id, offramp.quote_id, DEPOSITS_SHOWN),
      ]);
      return JSON.stringify({
        ...JSON.parse(renderer.offramp(offramp)),
        deposit_token: quote?.deposit_token,
        deposit_token_chain: quote?.deposit_token_chain,
        /** Absent until a file was uploaded, or fetched from its URL. */
        document_type: offramp.document_file === null ? null : offramp.document_type,
        document_hash: offramp.document_hash?.toString("hex") ?? null,
        attempts: attempts.map((attempt) => toAttempt(attempt, offramp)),
        deposits: deposits.map(toDeposit),
        reviews_documents: account_id === operator_id || account?.document_review_by_account,
      });
    },
  });
}

/** One try to pay, by its own end-to-end id, and how it ended. */
function toAttempt(
  payout: Payout,
  { destination_currency }: Pick<Offramp, "destination_currency">,
) {
  const { attempt, payment_detail_id, end_to_end_id, status, returned_amount } = payout;
  const digits = minorDigits(destination_currency)!;
  return {
    ...{ attempt, payment_detail_id, end_to_end_id, status, at: payout.created_at },
    returned_amount: returned_amount === null ? null : minorToText(returned_amount, digits),
  };
}

/** Coins that arrived for the quote. */
function toDeposit({ id, token, chain, amount, tx_id, created_at }: Deposit) {
  return { id, token, chain, amount: minorToText(amount, TOKEN_DIGITS), tx_id, at: created_at };
}
