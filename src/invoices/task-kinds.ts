/** The task kinds of this module. */
export const SYNC_COUNTERPARTY_TASK = "sync-counterparty";
export const CREATE_OCCURRENCES_TASK = "create-invoice-occurrences";
export const INVOICE_PAYMENT_TASK = "invoice-payment";
export const CHECK_CLAIM_TASK = "check-invoice-claim";
