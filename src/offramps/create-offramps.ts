import { setImmediate } from "node:timers/promises";
import { actorOf } from "../accounts/model.ts";
import type { ApprovalRules } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import {
  listNamedAccounts,
  type NamedAccount,
  weighNamedAccounts,
} from "../invoices/payments/named-accounts.ts";
import { loadPayables, type Payable } from "../invoices/payments/payments.ts";
import type { PaymentDetail } from "../payment-details/model.ts";
import { findPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { Problems } from "../platform/problems.ts";
import { splitByBytes } from "../platform/tasks/split-by-bytes.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import type { Prices, PriceVersions } from "../prices/price-book.ts";
import { usersOf } from "../users/store.ts";
import { checkItemTerms, type PricedTerms } from "./check-item-terms.ts";
import type { CheckedItem } from "./check-items.ts";
import { auditDocument } from "./documents/attach-documents.ts";
import {
  lockUploadedDocuments,
  type UploadedDocument,
} from "./documents/uploaded-document-store.ts";
import {
  invoiceProblems,
  namedPayeeProblem,
  newOptionsProblem,
  reserveInvoices,
} from "./invoice-problems.ts";
import type { Offramp } from "./model.ts";
import { additionProblems, type Quote, totalProblems, withTotals } from "./quotes/model.ts";
import { lockQuoteRows, updateTotals } from "./quotes/store.ts";
import { offrampEvents } from "./record-changes.ts";
import type { OfframpRenderer } from "./render.ts";
import { insertOfframps, type KeyedOfframp } from "./store.ts";
import { FETCH_DOCUMENT_TASK } from "./task-kinds.ts";

export type NewOfframps = {
  user_id: string;
  quote_id: string;
  items: readonly CheckedItem[];
  problems: readonly Problem[];
};

type Loaded = {
  quotes: AccountMap<Quote>;
  details: AccountMap<PaymentDetail>;
  invoices: AccountMap<Payable>;
  named: AccountMap<NamedAccount[]>;
  documents: AccountMap<UploadedDocument>;
  prices: ReadonlyMap<string, Prices>;
  keys: SubjectKeys;
};

type Created = { offramps: Offramp[]; key: Buffer };

type CreateOfframpsDeps = {
  catalogue: Catalogue;
  keyring: Keyring;
  index_key: Buffer;
  price_versions: PriceVersions;
  renderer: OfframpRenderer;
  approvals: Pick<ApprovalRules, "cooling_off_ms">;
};

/** Adds offramps to quotes at the quote's prices, in order: all items of a request or none. */
export function createOfframps(deps: CreateOfframpsDeps): UseCase<NewOfframps, Loaded, Created> {
  return {
    name: "create-offramps",
    rows: (input) => input.items.length,
    weigh,
    load: (tx, commands) => load(deps, tx, commands),
    decide: (loaded, command, now) => decideOne(deps, loaded, command, now),
    record: async (tx, loaded, accepted, now) => {
      const created = accepted.flatMap(({ output }) =>
        output.offramps.map((offramp) => ({ offramp, key: output.key })),
      );
      const quotes = new Map(
        accepted.map(({ command }) => {
          const { account_id, input } = command;
          return [input.quote_id, loaded.quotes.get(account_id, input.quote_id)!];
        }),
      );
      await insertInParts(tx, deps, created, now);
      updateTotals(tx, [...quotes.values()]);
      reserveInvoices(
        tx,
        created.map(({ offramp }) => offramp),
      );
      for (const { command, output } of accepted) {
        for (const offramp of output.offramps) {
          if (offramp.document_id) auditDocument(tx, offramp, actorOf(command), now);
        }
      }
      const fetched = created
        .map(({ offramp }) => offramp)
        .filter((offramp) => offramp.document_source === "url" && offramp.document_file === null);
      enqueueTasks(tx, FETCH_DOCUMENT_TASK, fetched, now);
    },
    render: ({ offramps }) => deps.renderer.created(offramps),
  };
}

/** Inserts them with their events. Encrypting much metadata takes long. */
async function insertInParts(
  tx: Transaction,
  { renderer, index_key }: Pick<CreateOfframpsDeps, "renderer" | "index_key">,
  created: readonly KeyedOfframp[],
  now: Date,
): Promise<void> {
  const sizeOf = ({ offramp }: KeyedOfframp) => renderer.offramp(offramp).length;
  for (const [index, part] of splitByBytes(created, sizeOf).entries()) {
    if (index > 0) await setImmediate();
    insertOfframps(tx, index_key, part, now);
    const news = part.map((entry) => ({ ...entry, from_status: null }));
    offrampEvents(tx, renderer, news, now);
  }
}

/** The invoices that its items name are opened, whoever owns them. */
function weigh(
  tx: Transaction,
  commands: readonly Command<NewOfframps>[],
): Promise<Map<string, number>> | null {
  const keysOf = ({ account_id, input }: Command<NewOfframps>) =>
    input.items.flatMap(({ invoice_id: id }) => (id ? [{ account_id, id }] : []));
  const keys = commands.flatMap(keysOf);
  if (keys.length === 0) return null;
  return weighNamedAccounts(tx, keys).then((weights) => {
    const sumOf = (command: Command<NewOfframps>) =>
      keysOf(command).reduce((sum, key) => sum + (weights.get(key.account_id, key.id) ?? 0), 0);
    return new Map(commands.map((command) => [command.id, sumOf(command)]));
  });
}

async function load(
  { keyring, price_versions }: CreateOfframpsDeps,
  tx: Transaction,
  commands: readonly Command<NewOfframps>[],
): Promise<Loaded> {
  const keysOf = (name: "payment_detail_id" | "invoice_id" | "document_id") =>
    commands.flatMap(({ account_id, input }) =>
      input.items.flatMap(({ [name]: id }) => (id ? [{ account_id, id }] : [])),
    );
  const document_keys = keysOf("document_id");
  const [quotes, invoices, named, rows, keys, documents] = await Promise.all([
    lockQuoteRows(
      tx,
      commands.map(({ account_id, input }) => ({ account_id, id: input.quote_id })),
    ),
    loadPayables(tx, keysOf("invoice_id")),
    listNamedAccounts(tx, keyring, keysOf("invoice_id")),
    findPaymentDetails(tx, keysOf("payment_detail_id")),
    keyring.openUserKeys(tx, usersOf(commands)),
    document_keys.length > 0 ? lockUploadedDocuments(tx, document_keys) : [],
  ]);
  const version_ids = [...new Set(quotes.map((quote) => quote.price_version_id))];
  return {
    quotes: AccountMap.of(quotes, (quote) => quote),
    details: AccountMap.of(toPaymentDetails(rows, keys), (detail) => detail),
    invoices,
    named,
    documents: AccountMap.of(documents, (document) => document),
    prices: await price_versions.find(tx, version_ids),
    keys,
  };
}

function decideOne(
  deps: CreateOfframpsDeps,
  loaded: Loaded,
  { account_id, input }: Command<NewOfframps>,
  now: Date,
): Verdict<Created> {
  const quote = loaded.quotes.get(account_id, input.quote_id);
  const key = loaded.keys.get(account_id, input.user_id);
  if (!key || quote?.user_id !== input.user_id) {
    return { refusal: Refusal.of([...input.problems, notFound("quote_id")]) };
  }
  const prices = loaded.prices.get(quote.price_version_id)!;
  const problems = new Problems(input.problems);
  const offramps: Offramp[] = [];
  input.items.forEach((item, index) => {
    const detail = item.payment_detail_id
      ? loaded.details.get(account_id, item.payment_detail_id)
      : undefined;
    const own = detail?.user_id === input.user_id ? detail : undefined;
    const { report } = problems.within(`offramps[${index}]`);
    const document = findDocument(loaded, quote, item);
    if (item.document_id && !document) {
      const name = "supporting_document_attributes.submitted_url";
      report(name, "record_not_found", notFound("").message);
    }
    const priced = checkItemTerms(deps.catalogue, item, own, { prices, quote, report });
    if (!priced || !own) return;
    offramps.push(newOfframp(quote, item, priced, document, now));
    const { invoice_id } = item;
    // An invoice that the account does not see as its buyer is reported as not found, alone.
    if (!invoice_id || !loaded.invoices.has(account_id, invoice_id)) return;
    const payee = { fields: own.fields, rail: priced.rails };
    const payment = { account_id, invoice_id };
    const misdirected = namedPayeeProblem(deps.catalogue, loaded.named, payment, payee);
    if (misdirected) report("payment_detail_id", "record_invalid", misdirected);
    const too_new = newOptionsProblem(deps.approvals, loaded.named, payment, now);
    if (too_new) report("invoice_id", "record_invalid", too_new);
  });
  problems.add(invoiceProblems(loaded.invoices, account_id, input.items));
  problems.add(additionProblems(quote, now));
  const changed = withTotals(quote, offramps, now);
  problems.add(totalProblems(changed));
  if (!problems.is_empty) return { refusal: Refusal.of(problems.list) };
  // A later command of the same set must see these totals.
  loaded.quotes.set(account_id, quote.id, changed);
  for (const { id, invoice_id } of offramps) {
    const payable = invoice_id && loaded.invoices.get(account_id, invoice_id);
    if (payable) loaded.invoices.set(account_id, invoice_id, { ...payable, offramp_id: id });
  }
  return { output: { offramps, key }, subject: { subject_id: input.user_id, key } };
}

/** The user's uploaded document that the item refers to. */
function findDocument(
  { documents }: Loaded,
  { account_id, user_id }: Quote,
  { document_id }: CheckedItem,
): UploadedDocument | undefined {
  const document = document_id ? documents.get(account_id, document_id) : undefined;
  return document?.user_id === user_id ? document : undefined;
}

function newOfframp(
  quote: Quote,
  item: CheckedItem,
  priced: PricedTerms,
  document: UploadedDocument | undefined,
  now: Date,
): Offramp {
  const has_url = item.submitted_url !== null;
  return {
    account_id: quote.account_id,
    id: newId(now),
    user_id: quote.user_id,
    quote_id: quote.id,
    payment_detail_id: item.payment_detail_id!,
    invoice_id: item.invoice_id,
    status: "initiated",
    status_message: null,
    destination_amount: priced.amount,
    destination_currency: priced.currency,
    rails: priced.rails,
    rate: priced.rate,
    fee: priced.fee_minor,
    deposit_token: quote.deposit_token,
    deposit_token_chain: quote.deposit_token_chain,
    token_amount: priced.token_amount,
    token_fee: priced.token_fee,
    details: {
      reference: item.reference,
      metadata: item.metadata,
      submitted_url: item.submitted_url,
    },
    document_status: has_url ? "not_checked" : null,
    document_source: has_url ? "url" : null,
    document_id: document?.id ?? null,
    document_file: document?.file ?? null,
    document_hash: document?.hash ?? null,
    document_type: document?.type ?? null,
    document_version: 0,
    document_after_approval: false,
    document_fetch_failures: 0,
    funded_at: null,
    attempt: 0,
    rate_until: null,
    rate_paused_at: null,
    given_back: null,
    refund_rate: null,
    payout_reference: null,
    sequence: 1,
    created_at: now,
    updated_at: now,
  };
}
