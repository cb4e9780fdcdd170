import Type from "typebox";
import {
  assertActiveMember,
  sessionOf,
} from "../../accounts/member-callers/authenticate-member.ts";
import { isLongerThan, isVisible } from "../../catalogue/text.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { Problems } from "../../platform/problems.ts";
import { closedObject } from "../../platform/schema-parts.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import {
  deletePayoutView,
  listPayoutViews,
  lockViewsOf,
  type PayoutView,
  upsertPayoutView,
} from "./view-store.ts";

type ViewDeps = Pick<ModuleCore, "database" | "clock">;

const PATH = "/dashboard/api/payout_views";
const VIEWS_MAX = 30;
const NAME_LENGTH_MAX = 60;
/** What a browser writes into a URL. */
const SEARCH = /^[\x21-\x7e]{1,1000}$/;
const SHARED = {
  tag: "Dashboard",
  members_only: true,
  answer: Type.Unknown(),
  errors: [],
} as const;

/** The views of the list of payouts that a member saved; nobody else sees them. */
export function addPayoutViewRoutes(addRoute: AddRoute, { database, clock }: ViewDeps): void {
  addRoute({
    ...SHARED,
    method: "GET",
    path: PATH,
    operation: "listPayoutViews",
    summary: "List saved views of payouts",
    description: "Those of the member who asks.",
    handle: async ({ caller, problems }) => {
      new Problems(problems).throwIfAny();
      const views = await listPayoutViews(database, sessionOf(caller.credential_id));
      return JSON.stringify({ views, views_max: VIEWS_MAX });
    },
  });

  addRoute({
    ...SHARED,
    method: "POST",
    path: PATH,
    operation: "savePayoutView",
    summary: "Save a view of payouts",
    description: "A view with the same name is replaced.",
    body: closedObject({ name: Type.String(), search: Type.String() }),
    body_example: { name: "Large", search: "currency=eur&amount_min=10000" },
    handle: async ({ caller, body, problems }) => {
      const view = readView(body, new Problems(problems));
      await database.transaction(async (tx) => {
        // First: what is asserted is locked too, but shared with others.
        await lockViewsOf(tx, sessionOf(caller.credential_id));
        const member = await assertActiveMember(tx, caller, realTime(clock));
        const others = (await listPayoutViews(tx, member)).filter(({ name }) => name !== view.name);
        const found = new Problems();
        if (others.length >= VIEWS_MAX) {
          found.invalid("name", `You have ${VIEWS_MAX} views. Delete one first.`);
        }
        found.throwIfAny();
        upsertPayoutView(tx, member, view, clock.now());
      });
      return "{}";
    },
  });

  addRoute({
    ...SHARED,
    method: "DELETE",
    path: PATH,
    operation: "deletePayoutView",
    summary: "Delete a saved view of payouts",
    description: "One that is already deleted is no error.",
    body: closedObject({ name: Type.String() }),
    body_example: { name: "Large" },
    handle: async ({ caller, body: { name = "" }, problems }) => {
      new Problems(problems).throwIfAny();
      await database.transaction(async (tx) => {
        const member = await assertActiveMember(tx, caller, realTime(clock));
        deletePayoutView(tx, member, name);
      });
      return "{}";
    },
  });
}

function readView(body: Partial<PayoutView>, problems: Problems): PayoutView {
  const name = (body.name ?? "").trim();
  const search = body.search ?? "";
  if (!isVisible(name) || isLongerThan(name, NAME_LENGTH_MAX)) {
    problems.invalid("name", `Write a name of at most ${NAME_LENGTH_MAX} characters.`);
  }
  if (!SEARCH.test(search)) problems.invalid("search", "Choose filters first.");
  problems.throwIfAny();
  return { name, search };
}
