import type { ModuleCore } from "../../platform/module.ts";
import { findRequest } from "../change-store.ts";
import { REQUEST_ID } from "../links.ts";
import type { KeyedInvoice, PartyRole } from "../model.ts";
import { findInvoices, openInvoices } from "../store.ts";
import { findView, type InvoiceView } from "./view-store.ts";

type VisibleInvoice = { entry: KeyedInvoice; role: PartyRole };

type Deps = Pick<ModuleCore, "database" | "keyring">;

/** An account's view of an invoice, by id or any requestId it ever had; absent if not visible. */
export async function findVisibleView(
  { database }: Deps,
  account_id: string,
  id_or_request_id: string,
): Promise<InvoiceView | undefined> {
  if (!REQUEST_ID.test(id_or_request_id)) return findView(database, account_id, id_or_request_id);
  const found = await findRequest(database, id_or_request_id);
  const view = found && (await findView(database, account_id, found.id));
  return view?.owner_account_id === found?.account_id ? view : undefined;
}

/** The current invoices behind views, in the order of the views. */
export async function openViews(
  { database, keyring }: Deps,
  views: readonly InvoiceView[],
): Promise<VisibleInvoice[]> {
  const keys = views.map(({ owner_account_id, id }) => ({ account_id: owner_account_id, id }));
  const rows = await findInvoices(database, keys);
  const entries = await openInvoices(database, keyring, rows);
  const by_id = new Map(entries.map((entry) => [entry.invoice.id, entry]));
  return views.flatMap(({ id, role }) => {
    const entry = by_id.get(id);
    return entry ? [{ entry, role }] : [];
  });
}

export async function findVisible(
  deps: Deps,
  account_id: string,
  id_or_request_id: string,
): Promise<VisibleInvoice | undefined> {
  const view = await findVisibleView(deps, account_id, id_or_request_id);
  return view && (await openViews(deps, [view]))[0];
}
