import Type from "typebox";
import { CHAINS, TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Database } from "../platform/db/database.ts";
import { assertFound } from "../platform/errors.ts";
import { cutPage, listAnswer, listQuery, readPage } from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { minorToNumber } from "../platform/money.ts";
import { nullable, TIME, titledObject, UUID } from "../platform/schema-parts.ts";
import { findUser } from "../users/store.ts";
import { type Deposit, listUserDeposits } from "./deposit-store.ts";

const CryptoDepositRecord = titledObject("CryptoDeposit", {
  id: UUID,
  user_id: UUID,
  quote_id: Type.String({ format: "uuid", description: "The quote whose address was paid." }),
  token: Type.String(),
  chain: Type.Enum([...CHAINS]),
  amount: Type.Number(),
  from: nullable(Type.String(), "The sender's address; null where the chain does not provide it."),
  tx_id: Type.String(),
  log_index: Type.Integer({ description: "Index of the transfer within the transaction." }),
  mined_at: TIME,
  created_at: TIME,
  updated_at: TIME,
});
const CryptoDepositsAnswer = listAnswer("crypto_deposits", CryptoDepositRecord);
const CryptoDepositListQuery = listQuery({});
const writeDeposits = compileRender(CryptoDepositsAnswer);

/** The crypto deposits of a user, in any state. */
export function addCryptoDepositRoute(
  addRoute: AddRoute,
  { database }: { database: Database },
): void {
  addRoute({
    method: "GET",
    path: "/users/:user_id/crypto_deposits",
    operation: "listCryptoDeposits",
    summary: "List a user's crypto deposits",
    description: "Every transfer to an address of the user's quotes, with its sender.",
    tag: "Balances",
    query: CryptoDepositListQuery,
    answer: CryptoDepositsAnswer,
    errors: [],
    handle: async ({ caller, params, query, problems }) => {
      const { page, problems: found } = readPage(query, problems);
      const user = { account_id: caller.account_id, user_id: params.user_id };
      assertFound(await findUser(database, user), "user_id", found);
      const { rows, has_more } = cutPage(await listUserDeposits(database, user, page), page);
      return writeDeposits({ crypto_deposits: rows.map(toRecord), has_more });
    },
  });
}

function toRecord({ sender, ...deposit }: Deposit) {
  const created_at = deposit.created_at.toISOString();
  return {
    ...deposit,
    from: sender,
    amount: minorToNumber(deposit.amount, TOKEN_DIGITS),
    mined_at: deposit.mined_at.toISOString(),
    created_at,
    updated_at: created_at,
  };
}
