import Type from "typebox";
import { describeLine, type Entry } from "../../ledger/model.ts";
import { POSTINGS } from "../../ledger/posting-kinds.ts";
import { listEntriesById } from "../../ledger/store.ts";
import { checkId, listQuery, requirePage } from "../../platform/http/list.ts";
import type { AddRoute } from "../../platform/http/route.ts";
import { isId, timeOfId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { UUID } from "../../platform/schema-parts.ts";
import { nameUsers } from "../names.ts";
import { describeRecords } from "../search/describe-records.ts";
import { listByIds } from "../search/store.ts";
import { listJournal } from "./journal-store.ts";

const WORD = Type.Optional(Type.String({ maxLength: 200 }));

/** The journal for people: entries by account, currency and record, and what each is about. */
export function addJournalRoute(
  addRoute: AddRoute,
  deps: Pick<ModuleCore, "database" | "keyring">,
): void {
  const { database } = deps;
  addRoute({
    method: "GET",
    path: "/dashboard/api/journal",
    operation: "listJournal",
    summary: "List the journal",
    description: "Newest first; `next` begins the next page.",
    tag: "Dashboard",
    members_only: true,
    query: listQuery({ ledger_account: WORD, currency: WORD, record_id: Type.Optional(UUID) }),
    answer: Type.Unknown(),
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const page = requirePage(query, [...problems, ...checkId("record_id", query.record_id)]);
      const { ids, next } = await listJournal(database, account_id, query, page);
      const entries = (await listEntriesById(database, account_id, ids)).reverse();
      const shown = entries.map((entry) => ({ ...toShown(entry), record_id: recordOf(entry) }));
      const found = await listByIds(
        database,
        account_id,
        shown.flatMap(({ record_id }) => record_id ?? []),
      );
      const [described, users] = await Promise.all([
        describeRecords(deps, account_id, found),
        nameUsers(deps, account_id, peopleIn(entries)),
      ]);
      const records = Object.fromEntries(described.map((one) => [one.id, one]));
      const looked_until = next !== null && ids.length < page.limit ? timeOfId(next) : null;
      return JSON.stringify({ entries: shown, records, users, next, looked_until });
    },
  });
}

function toShown({ id, kind, key, lines, created_at }: Entry) {
  return { id, kind, key, lines: lines.map(describeLine), created_at: created_at.toISOString() };
}

/** What an entry's key begins with after its kind: `book:<offramp>:<attempt>`. */
const OF_RECORDS = ["<offramp>", "<quote>", "<refund>", "<onramp>"];

/** The record that an entry is about; of a deposit of coins, whose it is. */
function recordOf({ kind, key, lines }: Entry): string | null {
  const [, first = ""] = POSTINGS[kind as keyof typeof POSTINGS].key.split(":");
  if (OF_RECORDS.includes(first)) return key.split(":")[1] ?? null;
  return peopleIn([{ lines }])[0] ?? null;
}

function peopleIn(entries: readonly Pick<Entry, "lines">[]): string[] {
  const places = entries.flatMap(({ lines }) =>
    lines.map(({ ledger_account }) => ledger_account.split(":")),
  );
  const ids = places.flatMap(([name, id]) => (name === "owed" && id && isId(id) ? id : []));
  return [...new Set(ids)];
}
