import Type from "typebox";
import { orProposal } from "../approvals/render.ts";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import { CHAINS, type Chain, isChain, isToken, TOKEN_DIGITS, TOKENS } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { listAccountBalances, listBalances, type OwedBalance } from "../ledger/store.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { Executor } from "../platform/commands/executor.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { cutPage, listAnswer, listQuery, readPage } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToNumber, minorToText, parseAmount } from "../platform/money.ts";
import { type Checked, Problems } from "../platform/problems.ts";
import { findUser, type UserKey } from "../users/store.ts";
import { refundsWithApproval } from "./approved-refunds.ts";
import { addCryptoDepositRoute } from "./deposit-routes.ts";
import type { RefundTerms } from "./refund-balances.ts";
import {
  listRefundAddresses,
  listRefunds,
  openAddress,
  REFUND_STATUSES,
  type Refund,
} from "./refund-store.ts";
import { registerRefundAddresses } from "./register-refund-addresses.ts";

type BalanceDeps = {
  database: Database;
  executor: Executor;
  keyring: Keyring;
  index_key: Buffer;
  approvals: ApprovalRules;
};

const TAG = "Balances";
const closed = { additionalProperties: false };
const time = Type.String({ format: "date-time" });
const id = Type.String({ format: "uuid" });

const BalancesAnswer = Type.Object({
  balances: Type.Array(
    Type.Object(
      { currency: Type.String(), chain: Type.Enum([...CHAINS]), amount: Type.Number() },
      { title: "Balance" },
    ),
  ),
});
const RefundAddressRecord = Type.Object(
  {
    id,
    user_id: id,
    chain: Type.Enum([...CHAINS]),
    address: Type.String(),
    created_at: time,
    updated_at: time,
  },
  { title: "RefundAddress" },
);
const RefundRecord = Type.Object(
  {
    id,
    user_id: id,
    token: Type.Enum([...TOKENS]),
    chain: Type.Enum([...CHAINS]),
    amount: Type.Number(),
    address: Type.String(),
    status: Type.Enum([...REFUND_STATUSES], {
      description:
        "`pending`: recorded. `sending`: submitted to the chain. `sent`: final; see `tx_id`. " +
        "`failed`: the chain rejected it permanently; the amount is part of the balance again.",
    }),
    tx_id: Type.Union([Type.String(), Type.Null()]),
    created_at: time,
    updated_at: time,
  },
  { title: "Refund" },
);
const RefundAddressAnswer = Type.Object({ refund_address: RefundAddressRecord });
const RefundAnswer = Type.Object({ refund: RefundRecord });
const RefundAddressesAnswer = listAnswer("refund_addresses", RefundAddressRecord);
const RefundsAnswer = listAnswer("refunds", RefundRecord);
const ListQuery = listQuery({});
const RefundListQuery = listQuery({
  status: Type.Optional(
    Type.Enum([...REFUND_STATUSES], { description: "Only refunds with this status." }),
  ),
});

const writeRefundAddress = compileRender(RefundAddressAnswer);
const writeRefundAddresses = compileRender(RefundAddressesAnswer);
const writeRefund = compileRender(RefundAnswer);
const writeRefunds = compileRender(RefundsAnswer);

const RefundAddressBody = Type.Object(
  { refund_address: Type.Object({ chain: Type.String(), address: Type.String() }, closed) },
  closed,
);
const RefundBody = Type.Object(
  {
    refund: Type.Object(
      {
        token: Type.String(),
        chain: Type.String(),
        amount: Type.Union([Type.Number(), Type.String()]),
        address: Type.String({
          description: "An address that the user has registered, or one that two members confirm.",
        }),
      },
      closed,
    ),
  },
  closed,
);

/** A user's balance and its refunds, which need a registered address. */
export function addBalanceRoutes(addRoute: AddRoute, deps: BalanceDeps): void {
  addBalanceRoute(addRoute, deps);
  addAccountBalanceRoute(addRoute, deps);
  addCryptoDepositRoute(addRoute, deps);
  addAddressRoutes(addRoute, deps);
  addRefundRoutes(addRoute, deps);
}

/** The key of a user of this account; refuses when there is none. */
async function openUser(
  { database, keyring }: BalanceDeps,
  key: UserKey,
  problems: readonly Problem[],
): Promise<Buffer> {
  const user = await findUser(database, key);
  if (!user) throw Refusal.of([...problems, notFound("user_id")]);
  if (problems.length > 0) throw Refusal.of(problems);
  const subject = { account_id: key.account_id, subject_id: key.user_id };
  const keys = await keyring.openSubjects(database, [subject]);
  return keys.get(key.account_id, key.user_id)!;
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
      await openUser(deps, key, problems);
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
      return writeBalances(await listAccountBalances(database, caller.account_id));
    },
  });
}

function addAddressRoutes(addRoute: AddRoute, deps: BalanceDeps): void {
  const { database, executor, keyring, index_key } = deps;
  const submitAddress = executor.register(
    registerRefundAddresses(keyring, index_key, (entry) =>
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
    errors: [],
    handle: ({ params, body, problems, command }) => {
      const found = new Problems(problems);
      const destination = checkDestination(body.refund_address, "refund_address", found);
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
      const key = await openUser(deps, user, [...problems, ...page_problems]);
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

function addRefundRoutes(addRoute: AddRoute, deps: BalanceDeps): void {
  const { database, executor } = deps;
  const submitRefund = executor.register(
    refundsWithApproval(deps, (refund) => writeRefund({ refund: toRecord(refund) })),
  );
  addRoute({
    method: "POST",
    path: "/users/:user_id/refunds",
    operation: "createRefund",
    summary: "Refund a balance",
    description:
      "Sends tokens that Sliproad owes to the user to a registered refund address. To another " +
      "address, or above the approval amount, the request becomes a proposal that two members " +
      "have to confirm.",
    tag: TAG,
    body: RefundBody,
    body_example: {
      refund: {
        token: "usdc",
        chain: "polygon",
        amount: 10,
        address: "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      },
    },
    answer: orProposal(RefundAnswer),
    errors: [],
    handle: ({ params, body, problems, command }) => {
      const wanted = checkRefund(body.refund, problems);
      return submitRefund(command({ user_id: params.user_id, wanted }));
    },
  });

  addRoute({
    method: "GET",
    path: "/users/:user_id/refunds",
    operation: "listRefunds",
    summary: "List refunds",
    description: "All refunds of the user, newest first.",
    tag: TAG,
    query: RefundListQuery,
    answer: RefundsAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: page_problems } = readPage(query);
      const user = { account_id: caller.account_id, user_id: params.user_id };
      const key = await openUser(deps, user, [...problems, ...page_problems]);
      const { rows, has_more } = cutPage(
        await listRefunds(database, user, query.status, page),
        page,
      );
      const refunds = rows.map((row) =>
        toRecord({ ...row, address: openAddress("refunds", row, key) }),
      );
      return writeRefunds({ refunds, has_more });
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

function toRecord(refund: Refund) {
  return {
    ...refund,
    amount: minorToNumber(refund.amount, TOKEN_DIGITS),
    created_at: refund.created_at.toISOString(),
    updated_at: refund.updated_at.toISOString(),
  };
}

function checkRefund(
  input: { token?: unknown; amount?: unknown; chain?: unknown; address?: unknown } | undefined,
  already: readonly Problem[],
): Checked<RefundTerms> {
  const problems = new Problems(already);
  const destination = checkDestination(input, "refund", problems);
  const token = lowerAscii(textOf(input?.token));
  if (!isToken(token)) problems.invalid("refund.token", `Send one of ${TOKENS.join(", ")}.`);
  const parsed = parseAmount(input?.amount, TOKEN_DIGITS);
  if ("reason" in parsed) problems.invalid("refund.amount", parsed.reason);
  const is_read = destination && isToken(token) && "value" in parsed;
  return problems.checked(is_read ? { ...destination, token, amount: parsed.value } : null);
}

function checkDestination(
  input: { chain?: unknown; address?: unknown } | undefined,
  object: string,
  problems: Problems,
): { chain: Chain; address: string } | undefined {
  const chain = lowerAscii(textOf(input?.chain));
  if (!isChain(chain)) {
    problems.invalid(`${object}.chain`, `Send one of ${CHAINS.join(", ")}.`);
    return undefined;
  }
  const checked = checkAddress(chain, textOf(input?.address));
  if ("value" in checked) return { chain, address: checked.value };
  problems.invalid(`${object}.address`, checked.reason);
  return undefined;
}
