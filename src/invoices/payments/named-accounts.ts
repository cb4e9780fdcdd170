import type { Catalogue } from "../../catalogue/catalogue.ts";
import {
  ACCOUNT_IDENTIFIERS,
  BANK_CODES,
  type FieldName,
} from "../../catalogue/payment-detail-fields.ts";
import type { PaymentDetailFields } from "../../payment-details/model.ts";
import {
  isBankByName,
  type Payee,
  paidBy,
  plainBankName,
  plainIdentifier,
} from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { letOthersRun } from "../../platform/let-others-run.ts";
import { findViews, type InvoiceView } from "../counterparty/view-store.ts";
import type { PaymentInformation } from "../document.ts";
import { inParts } from "../in-parts.ts";
import type { KeyedInvoice } from "../model.ts";
import { findInvoices, type InvoiceKey, listInvoiceSizes, openInvoices } from "../store.ts";

/** A bank account that an invoice names, in the stored form of its identifiers. */
export type NamedAccount = {
  /** What identifies the account: `iban`, `account_number` or `rib_number`. */
  accounts: ReadonlySet<string>;
  bics: ReadonlySet<string>;
  /** What else identifies the bank or its branch. */
  bank_codes: ReadonlySet<string>;
  /** Decides where no identifier says which bank it is. */
  bank_names: ReadonlySet<string>;
  /** When the payment options of the invoice were changed last; null if they never were. */
  changed_at: Date | null;
};

/**
 * The bank accounts that invoices name among their payment options: written out, or as a payment
 * detail of the invoice's owner. `account_id` is the payer's.
 */
export async function listNamedAccounts(
  session: Session,
  keyring: Keyring,
  keys: readonly InvoiceKey[],
): Promise<AccountMap<NamedAccount[]>> {
  const named = new AccountMap<NamedAccount[]>();
  if (keys.length === 0) return named;
  const views = await findViews(session, keys);
  const by_owner = new AccountMap<NamedAccount[]>();
  for (const { keys: part, bytes } of await inParts(session, views.map(ownerKey))) {
    const entries = await openInvoices(session, keyring, await findInvoices(session, part));
    const details = await findOwnDetails(session, keyring, entries);
    for (const entry of entries) {
      const { account_id, id } = entry.invoice;
      by_owner.set(account_id, id, accountsIn(entry, details));
    }
    await letOthersRun(bytes);
  }
  for (const view of views) {
    const { account_id, id } = ownerKey(view);
    named.set(view.account_id, view.id, by_owner.get(account_id, id) ?? []);
  }
  return named;
}

/** About how many bytes are opened to find them, by the payer's account and the invoice. */
export async function weighNamedAccounts(
  session: Session,
  keys: readonly InvoiceKey[],
): Promise<AccountMap<number>> {
  const views = await findViews(session, keys);
  const sizes = await listInvoiceSizes(session, views.map(ownerKey));
  const by_owner = AccountMap.of(sizes, (size) => size);
  const weights = new AccountMap<number>();
  for (const view of views) {
    const { account_id, id } = ownerKey(view);
    weights.set(view.account_id, view.id, by_owner.get(account_id, id)?.bytes ?? 0);
  }
  return weights;
}

function ownerKey({ owner_account_id, id }: InvoiceView): InvoiceKey {
  return { account_id: owner_account_id, id };
}

function accountsIn(
  { invoice, history }: KeyedInvoice,
  details: AccountMap<PaymentDetailFields>,
): NamedAccount[] {
  const changed_at = history.findLast(({ name }) => name === "changePaymentOptions")?.at ?? null;
  return invoice.document.paymentOptions
    .filter(({ type }) => type === "bank-account")
    .map(({ value: { paymentInformation: written } }) => ({
      ...toNamedAccount(written, details.get(invoice.account_id, written.paymentDetailId ?? "")),
      changed_at,
    }));
}

async function findOwnDetails(
  session: Session,
  keyring: Keyring,
  entries: readonly KeyedInvoice[],
): Promise<AccountMap<PaymentDetailFields>> {
  const keys = entries.flatMap(({ invoice }) =>
    invoice.document.paymentOptions.flatMap(({ value }) => {
      const id = value.paymentInformation.paymentDetailId;
      return id ? [{ account_id: invoice.account_id, id }] : [];
    }),
  );
  const found = new AccountMap<PaymentDetailFields>();
  if (keys.length === 0) return found;
  const rows = await findPaymentDetails(session, keys);
  const details = toPaymentDetails(rows, await keyring.openUserKeys(session, rows));
  for (const { account_id, id, fields } of details) found.set(account_id, id, fields);
  return found;
}

function toNamedAccount(
  written: PaymentInformation,
  detail: PaymentDetailFields | undefined,
): Omit<NamedAccount, "changed_at"> {
  const valuesOf = (names: readonly FieldName[], ...texts: (string | undefined)[]) => {
    const values = names.map((name) => detail?.[name]);
    return new Set([...values, ...texts].flatMap((text) => (text ? [plainIdentifier(text)] : [])));
  };
  return {
    accounts: valuesOf(ACCOUNT_IDENTIFIERS, written.iban, written.accountNumber),
    bics: valuesOf(["swift_bic"], written.swiftBic),
    bank_codes: valuesOf(BANK_CODES, written.routingNumber, written.sortCode),
    bank_names: new Set([detail?.bank_name, written.bankName].map(plainBankName).filter(Boolean)),
  };
}

/**
 * Why a payment to this account does not pay the invoice; null when it does: one of the accounts
 * that the invoice names has every identifier by which the rail pays, and the bank's name where
 * only that says which bank it is.
 */
export function payeeProblem(
  catalogue: Catalogue,
  named: readonly NamedAccount[],
  payee: Payee,
): string | null {
  if (named.every(({ accounts }) => accounts.size === 0)) {
    return (
      "The invoice names no bank account, so no offramp can pay it. The seller can add one with " +
      "the change changePaymentOptions."
    );
  }
  if (named.some((account) => isNamed(catalogue, account, payee))) return null;
  return (
    "The invoice does not name this bank account. Use a payment detail with the identifiers of " +
    "one of its paymentOptions; the seller can correct them with changePaymentOptions."
  );
}

function isNamed(catalogue: Catalogue, account: NamedAccount, payee: Payee): boolean {
  const names = paidBy(catalogue, payee);
  const has = (values: ReadonlySet<string>, name: FieldName) =>
    !names.includes(name) || values.has(plainIdentifier(payee.fields[name]!));
  const is_account_named = ACCOUNT_IDENTIFIERS.some((name) => names.includes(name));
  return (
    is_account_named &&
    ACCOUNT_IDENTIFIERS.every((name) => has(account.accounts, name)) &&
    has(account.bics, "swift_bic") &&
    BANK_CODES.every((name) => has(account.bank_codes, name)) &&
    (!isBankByName(catalogue, payee) ||
      account.bank_names.has(plainBankName(payee.fields.bank_name)))
  );
}
