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
import { findViews } from "../counterparty/view-store.ts";
import type { PaymentInformation } from "../document.ts";
import { findInvoices, type InvoiceKey, openInvoices } from "../store.ts";

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
  const owned = views.map(({ owner_account_id, id }) => ({ account_id: owner_account_id, id }));
  const entries = await openInvoices(session, keyring, await findInvoices(session, owned));
  const by_owner = AccountMap.of(entries, ({ invoice }) => invoice);
  const details = await findOwnDetails(session, keyring, [...entries]);
  for (const { account_id, id, owner_account_id } of views) {
    const { invoice, history = [] } = by_owner.get(owner_account_id, id) ?? {};
    const options = invoice?.document.paymentOptions ?? [];
    const changed_at = history.findLast(({ name }) => name === "changePaymentOptions")?.at ?? null;
    const accounts = options
      .filter(({ type }) => type === "bank-account")
      .map(({ value: { paymentInformation: written } }) => ({
        ...toNamedAccount(written, details.get(owner_account_id, written.paymentDetailId ?? "")),
        changed_at,
      }));
    named.set(account_id, id, accounts);
  }
  return named;
}

async function findOwnDetails(
  session: Session,
  keyring: Keyring,
  entries: Awaited<ReturnType<typeof openInvoices>>,
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
