import Type from "typebox";
import type { OpenSend } from "../../partners/chain/evm/send/model.ts";
import { listOpenSends } from "../../partners/chain/evm/send/send-store.ts";
import { Refusal } from "../../platform/errors.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { closedObject } from "../../platform/schema-parts.ts";

const SHOWN_MAX = 200;

/** The transactions on real chains that are not final; only the operator sends. */
export function addSendRoute(
  addRoute: AddRoute,
  { database, operator_id }: Pick<ModuleCore, "database" | "operator_id">,
): void {
  addRoute({
    method: "GET",
    path: "/dashboard/api/sends",
    operation: "listOpenSends",
    summary: "List transactions that are not final",
    description: "Of all accounts, oldest first, for the operator's members; none for others.",
    tag: "Dashboard",
    members_only: true,
    query: closedObject({}),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, problems }) => {
      if (problems.length > 0) throw Refusal.of(problems);
      const sends = account_id === operator_id ? await listOpenSends(database, SHOWN_MAX) : [];
      return JSON.stringify({ sends: sends.map(toAnswer), shown_max: SHOWN_MAX });
    },
  });
}

function toAnswer(send: OpenSend) {
  const { key, chain, state, state_since, problem, created_at, attempts, is_cancelled } = send;
  const tx_id = attempts.findLast((attempt) => attempt.tx_id !== null)?.tx_id ?? null;
  /** What it is for: `refund`, `onramp`, `sweep` … */
  const purpose = key.split(":")[0];
  return {
    ...{ id: key, purpose, chain, state, state_since, problem, created_at },
    ...{ is_cancelled, tx_id },
  };
}
