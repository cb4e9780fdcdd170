import Type from "typebox";
import { COIN_DIGITS, isToken, TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { listBankReconciliations } from "../../reconcile/banks/bank-store.ts";
import { listReconciliations } from "../../reconcile/reconcile-store.ts";
import { findLastVerification } from "../../verify/runs/store.ts";

type BookDeps = Pick<ModuleCore, "database" | "index_key" | "operator_id">;

/** What the last checks of the books found. They run as commands, not in the service. */
export function addBooksRoute(addRoute: AddRoute, deps: BookDeps): void {
  const { database, index_key, operator_id } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/books",
    operation: "showBooks",
    summary: "Show the last checks of the books",
    description: "Operator only: the results of `sliproad verify` and `sliproad reconcile`.",
    tag: "Dashboard",
    members_only: true,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, problems }) => {
      if (caller.account_id !== operator_id) {
        throw new Refusal("insufficient_scope", "Only the operator's members can see this.");
      }
      if (problems.length > 0) throw Refusal.of(problems);
      const [verification, banks, chains] = await Promise.all([
        findLastVerification(database, index_key),
        listBankReconciliations(database),
        listReconciliations(database),
      ]);
      return JSON.stringify({
        verification,
        banks: banks.map(({ balance, difference, ...bank }) => ({
          ...bank,
          books: textOf(balance, bank.currency),
          difference: textOf(difference, bank.currency),
        })),
        chains: chains.map(({ chain, currency, unexplained, block_number, at }) => {
          return { chain, currency, block_number, at, difference: textOf(unexplained, currency) };
        }),
      });
    },
  });
}

function textOf(amount: bigint, currency: string): string {
  const digits = isToken(currency) ? TOKEN_DIGITS : (minorDigits(currency) ?? COIN_DIGITS);
  return minorToText(amount, digits);
}
