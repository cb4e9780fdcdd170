import type { Invoice } from "@sliproad/sdk";
import { api } from "../../api.ts";
import { serviceNow } from "../../clock.ts";
import { saveBlob } from "../../parts/save-file.ts";

export type Status = Invoice["status"];
type Shown = { name: string; family: "waiting" | "working" | "needs_you" | "done" | "failed" };

export const STATES: Readonly<Record<Status, Shown>> = {
  draft: { name: "draft", family: "waiting" },
  scheduled: { name: "repeats", family: "waiting" },
  open: { name: "unpaid", family: "needs_you" },
  accepted: { name: "accepted", family: "working" },
  declaredPaid: { name: "said to be paid", family: "working" },
  paid: { name: "paid", family: "done" },
  canceled: { name: "canceled", family: "failed" },
  rejected: { name: "rejected", family: "failed" },
};

type Party = Invoice["buyerInfo"];

/** The party that this account is not. */
export function otherParty({ role, buyerInfo, sellerInfo }: Invoice): Party {
  return role === "seller" ? buyerInfo : sellerInfo;
}

export function nameOfParty(party: Party): string {
  const person = [party.firstName, party.lastName].filter(Boolean).join(" ");
  return party.businessName || person || party.email || "";
}

/** The currency of a token may name its chain as well. */
export function symbolOf(currency: string): string {
  return currency.split("-")[0]!.toLowerCase();
}

/** Whole days after the due date of what is not paid; null when it is not late. */
export function daysLate({ status, paymentTerms }: Invoice): number | null {
  if (!paymentTerms?.dueDate || !["open", "accepted", "declaredPaid"].includes(status)) return null;
  const days = Math.floor((serviceNow() - Date.parse(paymentTerms.dueDate)) / 86_400_000);
  return days > 0 ? days : null;
}

export async function saveAsPdf({ id, invoiceNumber }: Invoice): Promise<void> {
  const file = await api.invoices.pdf(id);
  saveBlob(`${invoiceNumber.replace(/[^\w.-]+/g, "-")}.pdf`, await file.blob());
}
