import Type from "typebox";
import { CHAINS, TOKEN_DIGITS } from "../catalogue/chains.ts";
import { listOwedSums } from "../ledger/day-sum-store.ts";
import { listBalances, type OwedBalance } from "../ledger/store.ts";
import type { Executor } from "../platform/commands/executor.ts";
import type { Database } from "../platform/db/database.ts";
import { Refusal } from "../platform/errors.ts";
import { cutPage, listAnswer, listQuery, readPage } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToText } from "../platform/money.ts";
import { Problems } from "../platform/problems.ts";
import { closedObject, TIME, titledObject, UUID } from "../platform/schema-parts.ts";
import type { ApprovedRefundDeps } from "./approved-refunds.ts";
import { checkDestination, type DestinationDeps } from "./check-destination.ts";
import { addCryptoDepositRoute } from "./deposit-routes.ts";
import { openOwner } from "./open-owner.ts";
import { addRefundRoutes } from "./refund-routes.ts";
import { listRefundAddresses, openAddress } from "./refund-store.ts";
import { registerRefundAddresses } from "./register-refund-addresses.ts";

type BalanceDeps = ApprovedRefundDeps &
  DestinationDeps & {
    database: Database;
    executor: Executor;
  };

const TAG = "Balances";

const BalancesAnswer = Type.Object({
  balances: Type.Array(
    titledObject("Balance", {
      currency: Type.String(),
      chain: Type.Enum([...CHAINS]),
      amount: Type.Number(),
    }),
  ),
});
const RefundAddressRecord = titledObject("RefundAddress", {
  id: UUID,
  user_id: UUID,
  chain: Type.Enum([...CHAINS]),
  address: Type.String(),
  created_at: TIME,
  updated_at: TIME,
});
const RefundAddressAnswer = Type.Object({ refund_address: RefundAddressRecord });
const RefundAddressesAnswer = listAnswer("refund_addresses", RefundAddressRecord);
const ListQuery = listQuery({});

const writeRefundAddress = compileRender(RefundAddressAnswer);
const writeRefundAddresses = compileRender(RefundAddressesAnswer);

const RefundAddressBody = closedObject({
  refund_address: closedObject({ chain: Type.String(), address: Type.String() }),
});
/** A user's balance, its deposits and its refunds. */
export function addBalanceRoutes(addRoute: AddRoute, deps: BalanceDeps): void {
  addBalanceRoute(addRoute, deps);
  addAccountBalanceRoute(addRoute, deps);
  addCryptoDepositRoute(addRoute, deps);
  addAddressRoutes(addRoute, deps);
  addRefundRoutes(addRoute, deps);
}

function addBalanceRoute(addRoute: AddRoute, deps: BalanceDeps): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id/balances",
    operation: "listBalances",
    summary: "List the balances of a user",
    description:
      "What Sliproad owes to the user, by token and chain: deposits that no quote could use and " +
      "payouts that were given up.",
    tag: TAG,
    answer: BalancesAnswer,
    errors: [],
    handle: async ({ caller, params, problems }) => {
      const key = { account_id: caller.account_id, user_id: params.user_id };
      await openOwner(deps, key, problems);
      const rows = await listBalances(deps.database, key);
      return writeBalances(rows);
    },
  });
}

function addAccountBalanceRoute(addRoute: AddRoute, { database }: BalanceDeps): void {
  addRoute({
    method: "GET",
    path: "/balances",
    operation: "listAccountBalances",
    summary: "List the balances of the account",
    description: "The sum over the account's users, by token and chain.",
    tag: TAG,
    answer: BalancesAnswer,
    errors: [],
    handle: async ({ caller, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      return writeBalances(await listOwedSums(database, caller.account_id));
    },
  });
}

function addAddressRoutes(addRoute: AddRoute, deps: BalanceDeps): void {
  const { database, executor } = deps;
  const submitAddress = executor.register(
    registerRefundAddresses(deps, (entry) =>
      writeRefundAddress({
        refund_address: { ...entry, ...timesOf(entry) },
      }),
    ),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/refund_addresses",
    operation: "createRefundAddress",
    summary: "Register a refund address",
    description: "A crypto address to which balances of the user can be refunded.",
    tag: TAG,
    body: RefundAddressBody,
    body_example: {
      refund_address: { chain: "polygon", address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed" },
    },
    answer: RefundAddressAnswer,
    errors: ["limit_exceeded"],
    handle: async ({ params, body, problems, command }) => {
      const found = new Problems(problems);
      const destination = await checkDestination(
        body.refund_address,
        "refund_address",
        deps,
        found,
      );
      return submitAddress(
        command({ user_id: params.user_id, wanted: found.checked(destination) }),
      );
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/refund_addresses",
    operation: "listRefundAddresses",
    summary: "List refund addresses",
    description: "All refund addresses of the user, newest first.",
    tag: TAG,
    query: ListQuery,
    answer: RefundAddressesAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: page_problems } = readPage(query);
      const user = { account_id: caller.account_id, user_id: params.user_id };
      const key = await openOwner(deps, user, [...problems, ...page_problems]);
      const { rows, has_more } = cutPage(await listRefundAddresses(database, user, page), page);
      const refund_addresses = rows.map((row) => ({
        ...row,
        address: openAddress("refund_addresses", row, key),
        ...timesOf(row),
      }));
      return writeRefundAddresses({ refund_addresses, has_more });
    },
  });
}

/** Serialized manually: a sum of deposits may exceed the precision of a JavaScript number. */
function writeBalances(rows: readonly OwedBalance[]): string {
  const balances = rows.map(({ currency, chain, balance }) => {
    const names = `"currency":${JSON.stringify(currency)},"chain":${JSON.stringify(chain)}`;
    return `{${names},"amount":${minorToText(balance, TOKEN_DIGITS)}}`;
  });
  return `{"balances":[${balances.join(",")}]}`;
}

/** An address never changes once it is registered. */
function timesOf({ created_at }: { created_at: Date }) {
  const at = created_at.toISOString();
  return { created_at: at, updated_at: at };
}
