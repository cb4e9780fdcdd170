import { findBilledAccounts } from "../accounts/billing-email-store.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { limitProblems } from "./change-limits.ts";
import { listPaying } from "./counterparty/view-store.ts";
import { type InvoiceUseCaseDeps, makePayable } from "./create-invoices.ts";
import {
  type ChangeInput,
  type ChangeName,
  changeProblems,
  type Invoice,
  type KeyedInvoice,
  ownRole,
} from "./model.ts";
import { claimProblems } from "./payments/claim-model.ts";
import { type ActedBy, recordActs } from "./record-acts.ts";
import { type ChangedInvoice, changeInvoice, recordChanges } from "./record-changes.ts";
import {
  type InvoiceKey,
  type InvoiceRow,
  listInvoiceSizes,
  lockInvoices,
  openInvoices,
} from "./store.ts";

/** A change that an owner requests; `create` makes the invoice payable. */
type WantedChange = {
  invoice_id: string;
  /** Null when the request names no existing change. */
  name: ChangeName | null;
  input: ChangeInput | null;
  by: ActedBy;
  problems: readonly Problem[];
};

type Loaded = {
  invoices: AccountMap<KeyedInvoice>;
  /** Accounts by the hash of their billing address. */
  billed: ReadonlyMap<string, string>;
  /** The invoices that an offramp pays now. */
  paying: ReadonlySet<string>;
};

/** Changes by the owner of an invoice; `changeAsParty` handles those of others. */
export function changeInvoices(
  deps: InvoiceUseCaseDeps,
): UseCase<WantedChange, Loaded, ChangedInvoice> {
  const { keyring, renderer } = deps;
  return {
    name: "change-invoices",
    rows: () => 3,
    weigh: async (tx, commands) => {
      const sizes = await listInvoiceSizes(tx, commands.map(keyOf));
      const by_invoice = AccountMap.of(sizes, (size) => size);
      return new Map(
        commands.map(({ id, account_id, input }) => [
          id,
          by_invoice.get(account_id, input.invoice_id)?.bytes ?? 0,
        ]),
      );
    },
    load: async (tx, commands) => {
      const keys = commands.map(keyOf);
      const rows = await lockInvoices(tx, keys);
      const [invoices, billed, paying] = await Promise.all([
        openInvoices(tx, keyring, rows),
        findBilledAccounts(
          tx,
          rows.map((row) => row.party_index),
        ),
        findPaying(tx, rows),
      ]);
      return { invoices: AccountMap.of(invoices, ({ invoice }) => invoice), billed, paying };
    },
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      const changes = accepted.map(({ output }) => output);
      recordChanges(tx, renderer, changes, now);
      const acts = accepted.map(({ command, output: { invoice, change } }) => ({
        ...{ account_id: command.account_id, invoice_id: invoice.id },
        ...{ name: change.name, by: command.input.by },
      }));
      recordActs(tx, acts, now);
    },
    render: (changed) => renderer.invoice(changed, ownRole(changed.invoice.format)),
  };
}

function keyOf({ account_id, input }: Command<WantedChange>): InvoiceKey {
  return { account_id, id: input.invoice_id };
}

function decideOne(
  { invoices, billed, paying }: Loaded,
  { account_id, input }: Command<WantedChange>,
  now: Date,
): Verdict<ChangedInvoice> {
  const entry = invoices.get(account_id, input.invoice_id);
  if (!entry) return { refusal: Refusal.of([...input.problems, notFound("invoice_id")]) };
  const { invoice } = entry;
  const problems = [...input.problems];
  const { name } = input;
  const is_paying = paying.has(invoice.id);
  if (name) problems.push(...changeProblems(invoice, name, ownRole(invoice.format), is_paying));
  problems.push(...actProblems(entry, { ...input, actor_account_id: account_id }));
  if (problems.length > 0 || name === null) return { refusal: Refusal.of(problems) };
  const changed =
    name === "create"
      ? makePayable(entry, otherAccount(billed, entry), account_id, now).change!
      : changeInvoice(entry, { name, actor_account_id: account_id, input: input.input }, now);
  // A later command of the same set must see this change.
  invoices.set(account_id, invoice.id, changed);
  return { output: changed, subject: null };
}

function otherAccount(
  billed: ReadonlyMap<string, string>,
  { invoice }: KeyedInvoice,
): string | null {
  const account_id = billed.get(invoice.party_index.toString("base64")) ?? null;
  return account_id === invoice.account_id ? null : account_id;
}

/** Which of these invoices an offramp of their buyer pays now; the buyer's row says so. */
export async function findPaying(
  tx: Transaction,
  rows: readonly Pick<InvoiceRow, "account_id" | "id" | "format" | "shared_with">[],
): Promise<Set<string>> {
  const keys = rows.flatMap(({ account_id, id, format, shared_with }) => {
    const buyer_id = ownRole(format) === "buyer" ? account_id : shared_with;
    return buyer_id === null ? [] : [{ account_id: buyer_id, id }];
  });
  return new Set((await listPaying(tx, keys)).map(({ id }) => id));
}

type WantedAct = {
  name: ChangeName | null;
  input: ChangeInput | null;
  /** Null for a party without an account here. */
  actor_account_id: string | null;
};

/** What is wrong with a change that the caller's role and the state allow. */
export function actProblems(
  { invoice, history }: Pick<KeyedInvoice, "invoice" | "history">,
  act: WantedAct,
): Problem[] {
  return [
    ...amountProblems(invoice, act),
    ...claimProblems(invoice, act.name, act.input),
    ...limitProblems(invoice, history, act),
  ];
}

/** An invoice is paid as a whole: the received amount must be its total. */
function amountProblems(
  invoice: Pick<Invoice, "total">,
  { name, input }: Pick<WantedAct, "name" | "input">,
): Problem[] {
  const is_whole = input?.amount === undefined || BigInt(input.amount) === invoice.total;
  if (name !== "declareReceivedPayment" || is_whole) return [];
  const message = `Send the total of the invoice, ${invoice.total} minor units, or leave it out.`;
  return [{ field: "input.amount", code: "record_invalid", message }];
}
