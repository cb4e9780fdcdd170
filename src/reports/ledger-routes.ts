import Type from "typebox";
import { type LineSum, listDaySums } from "../ledger/day-sum-store.ts";
import { describeLine, type Entry, isOfRecord, LEDGER_ACCOUNTS } from "../ledger/model.ts";
import { POSTINGS } from "../ledger/posting-kinds.ts";
import { listEntriesById } from "../ledger/store.ts";
import type { Database } from "../platform/db/database.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import {
  cutPage,
  listAnswer,
  listQuery,
  readTime,
  requirePage,
  TIME_MESSAGE,
} from "../platform/http/list.ts";
import { compileRender } from "../platform/http/render.ts";
import type { AddRoute } from "../platform/http/route.ts";
import { firstIdAt, LAST_ID } from "../platform/ids.ts";
import { closedObject, nullable, TIME, titledObject, UUID } from "../platform/schema-parts.ts";
import { listEntryPage, listLineSums } from "./store.ts";

const TAG = "Ledger";

const LINE = {
  ledger_account: Type.String({
    description: "An account of the chart, such as `fees` or `owed:<user>:<chain>`.",
  }),
  currency: Type.String(),
  amount: Type.String({ description: "Decimal text; debits are above zero." }),
};
const EntriesAnswer = listAnswer(
  "entries",
  titledObject("LedgerEntry", {
    id: UUID,
    kind: Type.String({ description: "The posting; the ledger reference describes each." }),
    key: Type.String({ description: "What was posted; no key is posted twice." }),
    lines: Type.Array(Type.Object(LINE), {
      description: "They sum to zero in each currency.",
    }),
    created_at: TIME,
    updated_at: TIME,
  }),
);
const BalancesAnswer = Type.Object({
  at: nullable(TIME, "The time that was asked for; null for now."),
  balances: Type.Array(
    titledObject("LedgerBalance", {
      ...LINE,
      side: Type.Enum(["debit", "credit"], {
        description: "The side on which the account grows.",
      }),
    }),
    { description: "The amounts sum to zero in each currency." },
  ),
});
const LEDGER_ACCOUNT_PARAMETER = Type.Optional(
  Type.String({ description: "Only this ledger account, by its whole name." }),
);
const EntriesQuery = listQuery({
  kind: Type.Optional(
    Type.String({ description: "Only postings of this kind, such as `payout_booked`." }),
  ),
  ledger_account: LEDGER_ACCOUNT_PARAMETER,
});
const BalancesQuery = closedObject({
  at: Type.Optional(
    Type.String({ description: "ISO 8601: the balances before this time; now if left out." }),
  ),
  ledger_account: LEDGER_ACCOUNT_PARAMETER,
});
const writeEntries = compileRender(EntriesAnswer);
const writeBalances = compileRender(BalancesAnswer);

/** The books of the account, for auditors. */
export function addLedgerRoutes(addRoute: AddRoute, { database }: { database: Database }): void {
  addRoute({
    method: "GET",
    path: "/ledger/entries",
    operation: "listLedgerEntries",
    summary: "List ledger entries",
    description:
      "The entries of the account's ledger with their lines, newest first. They are never " +
      "changed or deleted.",
    tag: TAG,
    query: EntriesQuery,
    answer: EntriesAnswer,
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const { kind, ledger_account } = query;
      const page = requirePage(query, [
        ...problems,
        ...checkKind(kind),
        ...checkLedgerAccount(ledger_account),
      ]);
      const filter = { account_id, kind, ledger_account };
      const { ids, is_cut } = isPossible(filter)
        ? await listEntryPage(database, filter, page)
        : { ids: [], is_cut: false };
      if (is_cut && ids.length === 0) throw Refusal.of([TOO_FEW]);
      const { rows, has_more } = cutPage(ids, page);
      const entries = await listEntriesById(database, account_id, rows);
      return writeEntries({
        entries: entries.reverse().map(toRecord),
        has_more: has_more || is_cut,
      });
    },
  });

  addRoute({
    method: "GET",
    path: "/ledger/balances",
    operation: "listLedgerBalances",
    summary: "Show the ledger's balances",
    description:
      "The trial balance: the sum of each ledger account and currency, now or before a given " +
      "time. Accounts of single records, such as `owed:<user>:<chain>`, are summed under their " +
      "first word.",
    tag: TAG,
    query: BalancesQuery,
    answer: BalancesAnswer,
    errors: [],
    handle: async ({ caller: { account_id }, query, problems }) => {
      const at = query.at === undefined ? null : readTime(query.at);
      const wrong = [...problems, ...checkLedgerAccount(query.ledger_account)];
      if (at === undefined) {
        wrong.push({ field: "at", code: "record_invalid", message: TIME_MESSAGE });
      }
      if (wrong.length > 0 || at === undefined) throw Refusal.of(wrong);
      const sums = await readSums(database, account_id, at, query.ledger_account);
      const balances = sums.map((sum) => ({
        ...describeLine(sum),
        side: sideOf(sum.ledger_account),
      }));
      return writeBalances({ at: at?.toISOString() ?? null, balances });
    },
  });
}

function readSums(
  database: Database,
  account_id: string,
  at: Date | null,
  ledger_account: string | undefined,
): Promise<LineSum[]> {
  if (ledger_account !== undefined && isOfRecord(ledger_account)) {
    const below_id = at ? firstIdAt(at) : LAST_ID;
    return listLineSums(database, account_id, { below_id, ledger_account });
  }
  const name = ledger_account === undefined ? {} : { name: ledger_account };
  return listDaySums(database, account_id, { before: at && dayOf(at), ...name });
}

function dayOf(at: Date) {
  const day = at.toISOString().slice(0, 10);
  return { day, day_id: firstIdAt(new Date(`${day}T00:00:00Z`)), id: firstIdAt(at) };
}

function toRecord({ id, kind, key, lines, created_at }: Entry) {
  // An entry never changes.
  const at = created_at.toISOString();
  return { id, kind, key, lines: lines.map(describeLine), created_at: at, updated_at: at };
}

function sideOf(ledger_account: string): "debit" | "credit" {
  return LEDGER_ACCOUNTS.find(({ name }) => name === ledger_account.split(":")[0])!.side;
}

function checkKind(kind: string | undefined): Problem[] {
  if (kind === undefined || Object.hasOwn(POSTINGS, kind)) return [];
  const message = "No posting has this name. The ledger reference lists them.";
  return [{ field: "kind", code: "record_invalid", message }];
}

const TOO_FEW: Problem = {
  field: "kind",
  code: "record_invalid",
  message:
    "Too few of the newest entries have this kind and this ledger account; send one of the two, " +
    "or created_before.",
};

/** Whether postings of this kind can have a line on this account. */
function isPossible({ kind, ledger_account }: { kind?: string; ledger_account?: string }): boolean {
  if (kind === undefined || ledger_account === undefined) return true;
  const name = ledger_account.split(":")[0];
  const { lines } = POSTINGS[kind as keyof typeof POSTINGS];
  return lines.some(({ account }) => account.split(":")[0] === name);
}

function checkLedgerAccount(ledger_account: string | undefined): Problem[] {
  if (ledger_account === undefined) return [];
  const [name, ...ids] = ledger_account.split(":");
  const isRule = (rule: (typeof LEDGER_ACCOUNTS)[number]) =>
    rule.name === name && rule.per.length === ids.length;
  if (LEDGER_ACCOUNTS.some(isRule)) return [];
  const names = LEDGER_ACCOUNTS.map(({ name, per }) =>
    [name, ...per.map((part) => `<${part}>`)].join(":"),
  );
  const message = `Send a ledger account in one of these forms: ${names.join(", ")}.`;
  return [{ field: "ledger_account", code: "record_invalid", message }];
}
