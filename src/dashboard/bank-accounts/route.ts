import Type from "typebox";
import { PAYMENT_DETAIL_STATUSES } from "../../payment-details/model.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { byStatus, cutPage, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { nameDetails, nameUsers } from "../names.ts";
import { BY_USER, isOfUser } from "../of-user.ts";
import { listBankAccounts } from "./store.ts";

type BankAccountDeps = Pick<ModuleCore, "database" | "keyring" | "clock" | "config">;

/** Where the users of the account are paid. */
export function addBankAccountListRoute(addRoute: AddRoute, deps: BankAccountDeps): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/bank_accounts",
    operation: "listBankAccounts",
    summary: "List bank accounts",
    description:
      "The payment details of all users or of one, newest first; those of erased users are not.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery({ ...byStatus(PAYMENT_DETAIL_STATUSES), ...BY_USER }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const page = requirePage(query, problems);
      const { status, user_id } = query;
      const found = isOfUser(query)
        ? await listBankAccounts(deps.database, account_id, { status, user_id }, page)
        : [];
      const { rows, has_more } = cutPage(found, page);
      const [details, users] = await Promise.all([
        nameDetails(
          deps,
          account_id,
          rows.map(({ id }) => id),
        ),
        nameUsers(
          deps,
          account_id,
          rows.map(({ user_id }) => user_id),
        ),
      ]);
      const cooling_off_ms = (deps.config.cooling_off_hours ?? 0) * HOUR_MS;
      const now = deps.clock.now();
      return JSON.stringify({
        bank_accounts: rows.flatMap((row) => {
          const detail = details[row.id];
          const until = new Date(row.created_at.getTime() + cooling_off_ms);
          if (!detail) return [];
          const payer = users[row.user_id]?.name ?? "";
          return [{ ...row, ...detail, payer, cooling_off_until: until > now ? until : null }];
        }),
        has_more,
        next: has_more ? rows.at(-1)!.id : null,
      });
    },
  });
}
