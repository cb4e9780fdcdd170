import {
  type BillingProfile,
  findBilledAccounts,
  findBillingProfiles,
  hashBillingEmail,
  toProfiles,
} from "../accounts/billing-email-store.ts";
import { findPaymentDetails } from "../payment-details/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { AccountKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { enqueueTasksAt } from "../platform/tasks/tasks.ts";
import { insertLinks } from "./change-store.ts";
import type { CheckedInvoice } from "./check-invoice.ts";
import { detailIds } from "./check-parties.ts";
import { insertViews, insertWords } from "./counterparty/view-store.ts";
import type { InvoiceDocument } from "./document.ts";
import { hashLinkToken, hashNumber, linkToken, wordsOf } from "./links.ts";
import { type Invoice, type KeyedInvoice, ownRole } from "./model.ts";
import { type ChangedInvoice, changeInvoice, recordHistory } from "./record-changes.ts";
import type { InvoiceRenderer } from "./render.ts";
import { findTakenNumbers, insertInvoices, numberKey } from "./store.ts";
import { CREATE_OCCURRENCES_TASK } from "./task-kinds.ts";

type NewInvoice = {
  checked: CheckedInvoice;
  app_id: string | null;
  problems: readonly Problem[];
};

export type InvoiceUseCaseDeps = Pick<ModuleCore, "keyring" | "index_key"> & {
  renderer: InvoiceRenderer;
};

type Loaded = {
  keys: AccountKeys;
  profiles: ReadonlyMap<string, BillingProfile>;
  taken: Set<string>;
  /** Accounts by the hash of their billing address. */
  billed: ReadonlyMap<string, string>;
  details: AccountMap<{ id: string }>;
};

/** A new invoice; with a change when it was made payable at once. */
export type CreatedInvoice = KeyedInvoice & { change?: ChangedInvoice };

export function createInvoices(
  deps: InvoiceUseCaseDeps,
): UseCase<NewInvoice, Loaded, CreatedInvoice> {
  return {
    name: "create-invoices",
    // Most of the rows are search words.
    rows: ({ checked }) => 30 + checked.document.invoiceItems.length,
    load: (tx, commands) => load(deps, tx, commands),
    decide: (loaded, command, now) => decideOne(deps, loaded, command, now),
    record: (tx, _loaded, accepted, now) =>
      recordInvoices(
        tx,
        deps,
        accepted.map(({ output }) => output),
        now,
      ),
    render: (created) =>
      deps.renderer.invoice(created.change ?? created, ownRole(created.invoice.format)),
  };
}

async function load(
  { keyring, index_key }: InvoiceUseCaseDeps,
  tx: Transaction,
  commands: readonly Command<NewInvoice>[],
): Promise<Loaded> {
  const account_ids = [...new Set(commands.map((command) => command.account_id))];
  const documents = commands.map(({ account_id, input }) => ({ account_id, ...input.checked }));
  const [keys, profiles, taken, billed, details] = await Promise.all([
    keyring.openAccounts(tx, commands),
    findBillingProfiles(tx, account_ids),
    findTakenNumbers(
      tx,
      documents.map(({ account_id, document }) => ({
        account_id,
        number_index: hashNumber(index_key, account_id, document.invoiceNumber),
      })),
    ),
    findBilledAccounts(
      tx,
      documents.map((checked) => partyIndex(index_key, checked)),
    ),
    findPaymentDetails(
      tx,
      documents.flatMap(({ account_id, document }) =>
        detailIds(document.paymentOptions).map(({ id }) => ({ account_id, id })),
      ),
    ),
  ]);
  return {
    keys,
    profiles: toProfiles(profiles, keys),
    taken,
    billed,
    details: AccountMap.of(details, (detail) => detail),
  };
}

function decideOne(
  { index_key }: InvoiceUseCaseDeps,
  loaded: Loaded,
  { account_id, input }: Command<NewInvoice>,
  now: Date,
): Verdict<CreatedInvoice> {
  const { checked } = input;
  const { document } = checked;
  const problems = [...input.problems];
  const number_index = hashNumber(index_key, account_id, document.invoiceNumber);
  const number = numberKey(account_id, number_index);
  if (loaded.taken.has(number)) {
    const message = "Another invoice of this account has this number; use another one.";
    problems.push({ field: "invoiceNumber", code: "record_not_unique", message });
  }
  for (const { field, id } of detailIds(document.paymentOptions)) {
    if (!loaded.details.has(account_id, id)) problems.push(notFound(field));
  }
  const party_index = partyIndex(index_key, checked);
  const shared_with = loaded.billed.get(party_index.toString("base64")) ?? null;
  if (shared_with === account_id) {
    const field = checked.format === "svc_salary" ? "sellerInfo.email" : "buyerInfo.email";
    const message =
      "This is the billing e-mail of your account; you cannot send an invoice to yourself.";
    problems.push({ field, code: "record_invalid", message });
  }
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  loaded.taken.add(number);
  const invoice = newInvoice(account_id, checked, now, {
    document: withProfile(checked, loaded.profiles.get(account_id)!),
    number_index,
    party_index,
    next_occurrence_at: checked.next_occurrence_at,
    app_id: input.app_id,
  });
  const entry = { invoice, history: [], key: loaded.keys.get(account_id)! };
  const output = checked.is_payable ? makePayable(entry, shared_with, account_id, now) : entry;
  return { output, subject: null };
}

/** Makes it payable; the other party is notified if it has an account. */
export function makePayable(
  entry: KeyedInvoice,
  shared_with: string | null,
  actor_account_id: string | null,
  now: Date,
): CreatedInvoice {
  const shared = { ...entry.invoice, shared_with, shared_from: shared_with === null ? null : 1 };
  const act = { name: "create", actor_account_id, input: null } as const;
  const change = changeInvoice({ ...entry, invoice: shared }, act, now);
  return { ...entry, invoice: change.invoice, history: change.history, change };
}

/** The hash of the other party's e-mail address, by which its account is found. */
function partyIndex(
  index_key: Buffer,
  { format, document }: { format: Invoice["format"]; document: InvoiceDocument },
): Buffer {
  const party = ownRole(format) === "seller" ? document.buyerInfo : document.sellerInfo;
  return hashBillingEmail(index_key, party.email ?? "");
}

/** Fields of the seller that are not given are filled from the account. */
function withProfile(checked: CheckedInvoice, profile: BillingProfile): InvoiceDocument {
  const { document, format } = checked;
  if (format === "svc_salary") return document;
  const { sellerInfo } = document;
  const is_named = sellerInfo.businessName || sellerInfo.firstName || sellerInfo.lastName;
  const filled = {
    ...(profile.email === null ? {} : { email: profile.email }),
    ...(is_named ? {} : { businessName: profile.name }),
    ...sellerInfo,
  };
  return { ...document, sellerInfo: filled };
}

export function newInvoice(
  account_id: string,
  checked: Omit<CheckedInvoice, "is_payable" | "next_occurrence_at" | "document">,
  now: Date,
  more: Pick<
    Invoice,
    "document" | "number_index" | "party_index" | "next_occurrence_at" | "app_id"
  >,
): Invoice {
  const { format, currency, total, total_without_tax, creation_date, due_at } = checked;
  return {
    account_id,
    id: newId(now),
    format,
    status: more.next_occurrence_at ? "scheduled" : "draft",
    request_id: null,
    currency,
    total,
    total_without_tax,
    creation_date,
    due_at,
    ...more,
    shared_with: null,
    shared_from: null,
    was_accepted: false,
    payment: null,
    tracked: [],
    offramp_id: null,
    occurrences: 0,
    template_id: null,
    occurrence: null,
    sequence: 0,
    created_at: now,
    updated_at: now,
  };
}

/** Writes new invoices with the owner's view, the search words and the link. */
export function recordInvoices(
  tx: Transaction,
  { index_key, renderer }: InvoiceUseCaseDeps,
  created: readonly CreatedInvoice[],
  now: Date,
): void {
  if (created.length === 0) return;
  insertInvoices(tx, created);
  insertViews(
    tx,
    created.map((entry) => ({
      account_id: entry.invoice.account_id,
      role: ownRole(entry.invoice.format),
      sequence: entry.invoice.sequence,
      entry,
      updated_at: entry.invoice.updated_at,
    })),
  );
  insertWords(
    tx,
    created.flatMap(({ invoice }) => wordsOf(index_key, invoice.account_id, invoice)),
  );
  insertLinks(
    tx,
    created.map(({ invoice: { account_id, id } }) => {
      const token = linkToken(index_key, { account_id, id });
      return { account_id, invoice_id: id, token_hash: hashLinkToken(index_key, token) };
    }),
  );
  recordHistory(
    tx,
    renderer,
    created.flatMap(({ change }) => change ?? []),
    now,
  );
  const recurring = created.flatMap(
    ({ invoice: { account_id, id, next_occurrence_at: due_at } }) =>
      due_at === null ? [] : { account_id, id, due_at },
  );
  enqueueTasksAt(tx, CREATE_OCCURRENCES_TASK, recurring, now);
}
