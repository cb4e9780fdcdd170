import Type from "typebox";
import type { Deposit } from "../../balances/deposit-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { BY_USER, isOfUser } from "../of-user.ts";
import { listAccountDeposits } from "./store.ts";

/** The coins that arrived for all users; the API lists them by user. */
export function addCoinDepositRoute(
  addRoute: AddRoute,
  { database }: Pick<ModuleCore, "database">,
): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/crypto_deposits",
    operation: "listAccountCryptoDeposits",
    summary: "List the coin deposits of all users",
    description: "Newest first; `user_id` for those of one user.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery(BY_USER),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller, query, problems }) => {
      const page = requirePage(query, problems);
      const { account_id } = caller;
      const { user_id } = query;
      const found = isOfUser(query)
        ? await listAccountDeposits(database, { account_id, user_id }, page)
        : [];
      const { rows, has_more } = cutPage(found, page);
      return JSON.stringify({
        crypto_deposits: rows.map(toShown),
        has_more,
      });
    },
  });
}

/** Not the whole row: its MAC is nobody's to see. */
function toShown({ id, user_id, quote_id, chain, tx_id, sender, ...deposit }: Deposit) {
  const { token, amount, mined_at, created_at } = deposit;
  return {
    ...{ id, user_id, quote_id, chain, tx_id, sender, token },
    ...{ amount: minorToText(amount, TOKEN_DIGITS), mined_at, created_at },
  };
}
