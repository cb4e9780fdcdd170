import type { AuditRow } from "../accounts/audit-store.ts";
import { listVotes } from "../approvals/votes/vote-store.ts";
import { CHAINS } from "../catalogue/chains.ts";
import { bodyPlace } from "../events/record-events.ts";
import { describeLine, type Entry, onrampAccount, owedTo, payoutPending } from "../ledger/model.ts";
import { POSTINGS } from "../ledger/posting-kinds.ts";
import { listEntriesById, listEntriesByKey } from "../ledger/store.ts";
import { findBankException } from "../offramps/exceptions/store.ts";
import { findOfframpLinks } from "../offramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import { open } from "../platform/encryption/cipher.ts";
import type { ModuleCore } from "../platform/module.ts";
import type { Kyc } from "../users/model.ts";
import {
  type HistoryEvent,
  type HistoryProposal,
  listAuditOf,
  listEntryIds,
  listEventsOf,
  listMatchIds,
  listProposalsOf,
  type RecordKey,
} from "./store.ts";

export type HistoryItem = {
  at: Date;
  kind: "event" | "posting" | "act" | "proposal" | "vote";
  /** The event, the kind of posting, the action, or the vote. */
  what: string;
  /** A `kind:id` reference; null for Sliproad itself. */
  who: string | null;
  before: string | null;
  after: string | null;
  why: string | null;
  /** The lines of a posting. */
  lines: { ledger_account: string; currency: string; amount: string }[];
};

/** The newest of each kind that are read. */
export const ITEMS_MAX = 500;
/** How the audit log names records that have a history. */
const RECORD_KINDS = [
  ...["offramp", "onramp", "quote", "refund", "user", "deposit", "payment_detail"],
  ...["bank_exception", "invoice", "account"],
];
/** The keys of postings that are on no ledger account of the record itself. */
const KEY_KINDS = [
  ...["fund", "refund", "refund_sent", "refund_failed"],
  ...["fiat_deposit", "fiat_withdrawn"],
];

type HistoryDeps = Pick<ModuleCore, "database" | "keyring">;

/** Who reads a history. */
type Reader = {
  account_id: string;
  is_operator: boolean;
  /** Accounts must not learn who is on a list; of the operator's members those who decide do. */
  reviews_screening?: boolean;
};

/** Everything that happened to one record: what it became, what moved, and who decided. */
export async function readHistory(
  { database: session, keyring }: HistoryDeps,
  key: RecordKey,
  reader: Reader,
): Promise<HistoryItem[]> {
  const { account_id, record_id } = key;
  const ledger_accounts = [
    payoutPending(record_id),
    onrampAccount(record_id),
    ...CHAINS.map((chain) => owedTo(record_id, chain)),
  ];
  const keys = KEY_KINDS.map((kind) => `${kind}:${record_id}`);
  const records = RECORD_KINDS.map((kind) => `${kind}:${record_id}`);
  // Whoever executed a quote, and whoever approved it, decided on each of its payouts.
  const [offramp] = await findOfframpLinks(session, [{ account_id, id: record_id }]);
  const quote_id = offramp?.quote_id;
  const [events, own_audit, operators, entry_ids, ...listed] = await Promise.all([
    listEventsOf(session, key, ITEMS_MAX),
    listAuditOf(session, account_id, records, ITEMS_MAX),
    reader.is_operator ? listOperatorActs(session, key, records, reader) : [],
    listEntryIds(session, account_id, { ledger_accounts, keys }, ITEMS_MAX),
    listProposalsOf(session, key, ITEMS_MAX),
    quote_id ? listProposalsOf(session, { account_id, record_id: quote_id }, ITEMS_MAX) : [],
  ]);
  const proposals = listed.flat();
  const [keyOf, entries, exception_entries, votes] = await Promise.all([
    keyring.openOwners(session, events),
    listEntriesById(session, account_id, entry_ids),
    reader.is_operator ? listExceptionEntries(session, record_id) : [],
    listVotes(
      session,
      proposals.map(({ id }) => ({ account_id, id })),
    ),
  ]);
  const moved = entries.flatMap(({ key: posted }) => actedRecord(posted) ?? []);
  const acted = new Set([...moved, ...(quote_id ? [`quote:${quote_id}`] : [])]);
  const others = [...acted].filter((record) => !records.includes(record));
  const audit = [
    ...own_audit.filter((entry) => !operators.some((act) => isSameAct(act, entry))),
    ...operators,
    ...(await listAuditOf(session, account_id, others, ITEMS_MAX)),
  ];
  const items: HistoryItem[] = [
    ...events.map((event) => toChange(event, keyOf(event))),
    ...[...entries, ...exception_entries].sort(byIdDescending).map(toPosting),
    ...audit.map(({ at, action, actor, reason, detail }) =>
      item(at, "act", action, { who: actor, after: toText(detail), why: reason || null }),
    ),
    ...proposals.map(toProposal),
    ...[...votes.values()]
      .flat()
      .map(({ verdict, voter, created_at }) =>
        item(created_at, "vote", verdict, { who: `member:${voter.person_id}` }),
      ),
  ];
  // What happened at the same time stays in the order of its kind, newest first.
  return items.sort((a, b) => b.at.getTime() - a.at.getTime());
}

function byIdDescending(one: Entry, other: Entry): number {
  return one.id < other.id ? 1 : -1;
}

/**
 * What the operator decided about a record of another account, with the reasons, and about a person
 * on a screening list: both are in the operator's own log.
 */
async function listOperatorActs(
  session: Session,
  key: RecordKey,
  records: readonly string[],
  reader: Reader,
): Promise<AuditRow[]> {
  const match_ids = reader.reviews_screening ? await listMatchIds(session, key, ITEMS_MAX) : [];
  const wanted = [
    ...(reader.account_id === key.account_id ? [] : records),
    ...match_ids.map((id) => `screening_match:${id}`),
  ];
  return listAuditOf(session, reader.account_id, wanted, ITEMS_MAX);
}

/** The account's own log has the same act without its reason. */
function isSameAct(act: AuditRow, { record, action, actor, at }: AuditRow): boolean {
  const is_same = act.record === record && act.action === action && act.actor === actor;
  return is_same && act.at.getTime() === at.getTime();
}

/** The operator resolves bank exceptions of all accounts; they are posted in their own account. */
async function listExceptionEntries(session: Session, id: string): Promise<Entry[]> {
  const exception = await findBankException(session, id);
  if (!exception) return [];
  const { account_id, bank_reference, assigned_offramp_id, returns } = exception;
  const tries = Array.from({ length: returns }, (_, index) => `${id}:${index + 1}`);
  return listEntriesByKey(session, account_id, [
    ...[`suspense:${bank_reference}`, `write_off:${id}`, `loss:${id}`],
    ...(assigned_offramp_id ? [`assign:${assigned_offramp_id}:${id}`] : []),
    ...tries.map((attempt) => `exception_return:${attempt}`),
    ...tries.map((attempt) => `exception_return_booked:${attempt}`),
    ...tries.map((attempt) => `exception_return_refused:${attempt}`),
  ]);
}

/** The record that somebody acted on when they caused a posting with this key. */
function actedRecord(key: string): string | null {
  const [kind, id] = key.split(":");
  if (kind === "fund") return `quote:${id}`;
  return kind === "refund" ? `refund:${id}` : null;
}

function item(
  at: Date,
  kind: HistoryItem["kind"],
  what: string,
  more: Partial<HistoryItem>,
): HistoryItem {
  const empty = { who: null, before: null, after: null, why: null, lines: [] };
  return { at, kind, what, ...empty, ...more };
}

/** With the sentence that the record showed after the change: a closed gate, or a bank's reason. */
function toChange(event: HistoryEvent, key: Buffer | undefined): HistoryItem {
  const { account_id, id, name, actor, from_status, to_status, body, created_at } = event;
  const text = key && body ? open(key, bodyPlace(account_id, id), body).toString() : null;
  return item(created_at, "event", name, {
    who: actor,
    before: from_status,
    after: to_status,
    why: text && statusMessage(text),
  });
}

/** Null where the event's record has none. */
function statusMessage(body: string): string | null {
  type Payload = Partial<Record<"offramp" | "onramp", { status_message?: string | null }>> & {
    user?: { kyc?: Pick<Kyc, "general"> };
  };
  const { payload } = JSON.parse(body) as { payload?: Payload };
  const comment = payload?.user?.kyc?.general.moderation_comment;
  return payload?.offramp?.status_message ?? payload?.onramp?.status_message ?? comment ?? null;
}

function toPosting({ kind, created_at, lines }: Entry): HistoryItem {
  const { when } = POSTINGS[kind as keyof typeof POSTINGS];
  return item(created_at, "posting", kind, {
    why: when,
    lines: lines.map(describeLine),
  });
}

function toProposal(proposal: HistoryProposal): HistoryItem {
  const { kind, created_at, proposed_by, status, outcome, summary } = proposal;
  const after = outcome === null ? status : `${status}: ${outcome}`;
  return item(created_at, "proposal", kind, { who: proposed_by, after, why: summary });
}

/** `name value, …`; null for an empty detail. */
function toText(detail_json: string): string | null {
  const entries = Object.entries(JSON.parse(detail_json) as Record<string, unknown>);
  return entries.map(([name, value]) => `${name} ${value}`).join(", ") || null;
}
