import Type from "typebox";
import { assertActiveMember } from "../../accounts/member-callers/authenticate-member.ts";
import { COIN_DIGITS, isToken, TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute, Caller } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { listBankReconciliations } from "../../reconcile/banks/bank-store.ts";
import { listReconciliations } from "../../reconcile/reconcile-store.ts";
import { findLastVerification, findRunning } from "../../verify/runs/store.ts";
import { startVerification } from "../../verify/runs/tasks.ts";
import { addJournalRoute } from "./journal-route.ts";

type BookDeps = Pick<
  ModuleCore,
  "database" | "index_key" | "operator_id" | "clock" | "keyring" | "wake"
>;

const SHARED = { tag: "Dashboard", members_only: true, answer: Type.Unknown() } as const;

/** What the last checks of the books found, and a check that members start. */
export function addBooksRoutes(addRoute: AddRoute, deps: BookDeps): void {
  const { database, index_key, operator_id, clock } = deps;
  addJournalRoute(addRoute, deps);

  addRoute({
    ...SHARED,
    method: "POST",
    path: "/dashboard/api/books/verification",
    operation: "startVerification",
    summary: "Start a check of all books",
    description: "Operator only: recomputes everything in the background, one check at a time.",
    body: closedObject({}),
    body_example: {},
    errors: ["invalid_transition"],
    handle: async ({ caller, problems }) => {
      assertOperator(caller, operator_id);
      if (problems.length > 0) throw Refusal.of(problems);
      await startVerification(deps, caller.actor ?? "", (tx) =>
        assertActiveMember(tx, caller, realTime(clock)),
      );
      return "{}";
    },
  });

  addRoute({
    ...SHARED,
    method: "GET",
    path: "/dashboard/api/books",
    operation: "showBooks",
    summary: "Show the last checks of the books",
    description: "Operator only: the results of `sliproad verify` and `sliproad reconcile`.",
    errors: [],
    handle: async ({ caller, problems }) => {
      assertOperator(caller, operator_id);
      if (problems.length > 0) throw Refusal.of(problems);
      const [verification, running, banks, chains] = await Promise.all([
        findLastVerification(database, index_key),
        findRunning(database),
        listBankReconciliations(database),
        listReconciliations(database),
      ]);
      return JSON.stringify({
        verification,
        running,
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

function assertOperator({ account_id }: Caller, operator_id: string): void {
  if (account_id === operator_id) return;
  throw new Refusal("insufficient_scope", "Only the operator's members can see this.");
}

function textOf(amount: bigint, currency: string): string {
  const digits = isToken(currency) ? TOKEN_DIGITS : (minorDigits(currency) ?? COIN_DIGITS);
  return minorToText(amount, digits);
}
