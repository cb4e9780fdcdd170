/** The task kinds of this module; the table in `tasks.ts` shows which leads to which. */
export const FETCH_DOCUMENT_TASK = "fetch-document";
export const WATCH_CHAINS_TASK = "watch-chains";
export const CREDIT_KEPT_DEPOSITS_TASK = "credit-kept-deposits";
export const ANNOUNCE_TRANSFER_TASK = "announce-transfer";
export const FUND_QUOTE_TASK = "fund-quote";
export const FUND_OFFRAMPS_TASK = "fund-offramps";
export const ASSESS_OFFRAMP_TASK = "assess-offramp";
export const FAIL_LAPSED_TASK = "fail-lapsed";
export const SEND_PAYOUT_TASK = "send-payout";
export const FLAG_UNANSWERED_PAYOUTS_TASK = "flag-unanswered-payouts";
export const READ_BANK_TASK = "read-bank";
export const APPLY_KEPT_ANSWERS_TASK = "apply-kept-answers";
export const RESOLVE_EXCEPTION_TASK = "resolve-exception";
export const RETURN_EXCEPTION_TASK = "return-exception";
export const DROP_DOCUMENT_TASK = "drop-document";
export const SWEEP_DOCUMENTS_TASK = "sweep-documents";
export const CLOSE_QUOTE_TASK = "close-quote";
