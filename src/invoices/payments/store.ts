import type { Session, Transaction } from "../../platform/db/database.ts";
import { insertRows } from "../../platform/db/rows.ts";
import type { InvoiceKey } from "../store.ts";

export type StepKind = "funded" | "rerouted" | "sent" | "bounced" | "failed";

/** A step of an offramp that pays an invoice; `step` is the offramp's own sequence. */
export type PaymentStep = {
  account_id: string;
  offramp_id: string;
  step: number;
  invoice_id: string;
  kind: StepKind;
};

export function insertPaymentSteps(
  tx: Transaction,
  steps: readonly PaymentStep[],
  now: Date,
): void {
  insertRows(
    tx,
    "invoice_payment_steps",
    `account_id uuid, offramp_id uuid, step int, invoice_id uuid, kind text,
     created_at timestamptz`,
    steps.map((step) => ({ ...step, created_at: now })),
  );
}

/** In order. The offramp's lock ensures that no later step is visible before an earlier one. */
export function listUnappliedSteps(
  session: Session,
  account_id: string,
  offramp_id: string,
): Promise<PaymentStep[]> {
  return session.query<PaymentStep>(
    `select account_id, offramp_id, step, invoice_id, kind from invoice_payment_steps
     where account_id = $1 and offramp_id = $2 and applied_at is null order by step`,
    [account_id, offramp_id],
  );
}

export function updateApplied(
  tx: Transaction,
  { account_id, offramp_id, step }: PaymentStep,
  now: Date,
): void {
  tx.write(
    `update invoice_payment_steps set applied_at = $4
     where account_id = $1 and offramp_id = $2 and step <= $3 and applied_at is null`,
    [account_id, offramp_id, step, now],
  );
}

/** Records a step under the invoice's owner; false when it was recorded before. */
export async function insertPayment(
  tx: Session,
  invoice: InvoiceKey,
  { offramp_id, step }: PaymentStep,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into invoice_payments (account_id, invoice_id, offramp_id, step, created_at)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning step`,
    [invoice.account_id, invoice.id, offramp_id, step, now],
  );
  return rows.length > 0;
}
