import Type from "typebox";
import { listOpenSends } from "../../partners/chain/evm/send/send-store.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { describeSends } from "./describe-sends.ts";

const PAGE_LENGTH = 50;

const SendQuery = closedObject({
  /** `last_number` of the page before. */
  starting_after: Type.Optional(Type.String({ pattern: "^[0-9]{1,18}$" })),
});

/** The transactions on real chains that are not final; only the operator sends. */
export function addSendRoute(
  addRoute: AddRoute,
  deps: Pick<ModuleCore, "database" | "keyring" | "operator_id">,
): void {
  const { database, operator_id } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/sends",
    operation: "listOpenSends",
    summary: "List transactions that are not final",
    description: "Of all accounts, oldest first, for the operator's members; none for others.",
    tag: "Dashboard",
    members_only: true,
    query: SendQuery,
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const above = BigInt(query.starting_after ?? 0);
      const found =
        account_id === operator_id ? await listOpenSends(database, PAGE_LENGTH + 1, above) : [];
      const sends = found.slice(0, PAGE_LENGTH);
      return JSON.stringify({
        sends: await describeSends(deps, sends),
        has_more: found.length > sends.length,
        last_number: sends.at(-1)?.number.toString() ?? null,
      });
    },
  });
}
