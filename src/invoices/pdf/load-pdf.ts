import type { PaymentDetail } from "../../payment-details/model.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { PaymentInformation } from "../document.ts";
import type { Invoice } from "../model.ts";

/** An invoice with its payment options spelled out for people. */
export type PrintedInvoice = { invoice: Invoice; ways_to_pay: WayToPay[] };

/** A heading and its lines, each a label and a value. */
type WayToPay = { title: string; lines: [label: string, value: string][] };

/** Looks up the payment details that the invoice refers to. */
export async function loadPdf(
  { database, keyring }: { database: Database; keyring: Keyring },
  invoice: Invoice,
): Promise<PrintedInvoice> {
  const { account_id } = invoice;
  const options = invoice.document.paymentOptions;
  const ids = options.flatMap(({ value }) => value.paymentInformation.paymentDetailId ?? []);
  const rows =
    ids.length === 0
      ? []
      : await findPaymentDetails(
          database,
          ids.map((id) => ({ account_id, id })),
        );
  const keys = await keyring.openUserKeys(database, rows);
  // Details of erased users cannot be decrypted, and closed accounts must not be paid into.
  const details = toPaymentDetails(rows, keys).filter(({ status }) => status === "approved");
  const by_id = new Map(details.map((detail) => [detail.id, detail]));
  const ways_to_pay = options.flatMap(({ type, value }) => {
    const { paymentInformation: information, currencies } = value;
    const lines =
      type === "wallet"
        ? walletLines(information)
        : bankLines(information, by_id.get(information.paymentDetailId ?? ""));
    const title = type === "wallet" ? "Wallet" : "Bank account";
    const shown = currencies.length > 0 ? `${title} (${currencies.join(", ")})` : title;
    return lines.length > 0 ? [{ title: shown, lines }] : [];
  });
  return { invoice, ways_to_pay };
}

type Line = [label: string, value: string];

function walletLines({ paymentAddress, chain }: PaymentInformation): Line[] {
  return given([
    ["Address", paymentAddress],
    ["Chain", chain],
  ]);
}

function bankLines(information: PaymentInformation, detail: PaymentDetail | undefined): Line[] {
  const known: Partial<PaymentDetail["fields"]> = detail?.fields ?? {};
  return given([
    ["Account holder", information.accountName ?? known.account_name],
    ["Bank", information.bankName ?? known.bank_name],
    ["IBAN", inFours(information.iban ?? known.iban)],
    ["BIC", information.swiftBic ?? known.swift_bic],
    ["Account number", information.accountNumber ?? known.account_number],
    ["Routing number", information.routingNumber ?? known.routing_number],
    ["Sort code", information.sortCode ?? known.sort_code],
    ["RIB", known.rib_number],
  ]);
}

function inFours(iban: string | null | undefined): string | undefined {
  return iban?.replace(/(.{4})(?=.)/g, "$1 ");
}

function given(lines: [label: string, value: string | null | undefined][]): Line[] {
  return lines.flatMap(([label, value]) => (value ? [[label, value] satisfies Line] : []));
}
