import { type Coverage, EVERYTHING } from "./model.ts";

/** Tables of which no change has to be noticed, or none is tried, by the reason. */
const REASONS: readonly (readonly [reason: string, ...tables: string[]])[] = [
  [
    "Written for every request and every step: a MAC for each would cost the throughput that the " +
      "service is measured by. A deleted or planted task moves nothing that its record does not " +
      "allow; a payout that stands still is reported after `SLIPROAD_BANK_HORIZON_HOURS`.",
    "tasks",
  ],
  [
    "Answers of earlier requests, encrypted for their row. Without one, a repeated request runs " +
      "again: its quote, refund or payout decides under a lock whether it still can.",
    "commands",
  ],
  [
    "Only how far something has been delivered or shown; events, whose log is " +
      "sealed, say what is " +
      "true.",
    ...["event_cursors", "event_positions", "webhook_attempts", "webhook_deliveries"],
    ...["webhook_queue", "webhook_replays", "mails", "exposure_checkpoints"],
  ],
  [
    "Says only what was seen or used when; nothing is decided by it.",
    ...["api_key_uses", "requests", "running_verifications", "worker_heartbeats", "payout_views"],
  ],
  [
    "Counts attempts and challenges of minutes. Who empties it can try passwords faster, against " +
      "Argon2id.",
    ...["attempts", "passkey_challenges"],
  ],
  [
    "Plays a partner in the sandbox and is empty in live mode, where the partner's own books are " +
      "compared. `verify` compares what was paid with what was to be paid as far as it is here.",
    ...["sandbox_bank_answers", "sandbox_bank_credits", "sandbox_bank_payouts"],
    ...["sandbox_bank_returns", "sandbox_outbox", "sandbox_sends", "sandbox_transfers"],
    "sandbox_wallet_transfers",
  ],
  [
    "Files for and from a bank. The test's sandbox has none, so this is not tried. Answers and " +
      "statements have MACs of the adapter, which `verify` checks; what leaves is " +
      "compared with the " +
      "payouts, and the bank's statements with the ledger, by `sliproad reconcile`.",
    ...["bank_ach_batches", "bank_corrections", "bank_downloads", "bank_file_answers"],
    ...["bank_files", "bank_lines", "bank_payments", "bank_reconciliations", "bank_reports"],
    ...["bank_returns", "bank_set_aside", "bank_statement_entries", "bank_statements"],
    ...["bank_traces", "bank_unmatched_statuses"],
  ],
  [
    "The adapter of real chains. The test's sandbox has none, so this is not tried. Incoming " +
      "transfers and the outcome of a send have a MAC; the signer keeps a journal of its own of " +
      "what it signed, " +
      "and balances are compared with the chain.",
    ...["chain_reconciliations", "evm_addresses", "evm_attempts", "evm_chains", "evm_senders"],
    ...["evm_sends", "evm_sweeps", "evm_transfers"],
  ],
  [
    "Codes and tokens of applications, encrypted for their row: nobody without the key can write " +
      "one. A deleted one ends what it allowed.",
    ...["oauth_artifacts", "oauth_signing_keys"],
  ],
  [
    "Of an application that is being filled in, or of links to it. Nothing is approved by it: a " +
      "reviewer decides, which is an event.",
    ...["kyc_drafts", "kyc_sessions", "kyc_tokens", "kyc_visits", "kyc_results"],
    ...["kyc_review_notes", "kyc_applications"],
  ],
  [
    "To find and list invoices. What an invoice says is in `invoices` and `invoice_changes`.",
    ...["invoice_words", "invoice_views", "invoice_links", "invoice_request_ids"],
    ...["invoice_claims", "invoice_transfers"],
  ],
  [
    "No row of it is in the test's records, so its columns are not tried one by one. `verify` " +
      "compares it with events, ledger lines or the audit log, and other tests change it.",
    ...["invoice_changes", "invoice_payment_steps", "invoice_payments", "ledger_day_sums"],
    ...["ledger_owed_sums", "ledger_sum_marks", "seal_rejected", "set_aside_transfers"],
  ],
  [
    "No row of it is in the test's records, so it is not tried. A consent that somebody plants " +
      "gives no token: tokens are encrypted.",
    "app_grants",
  ],
  [
    "No row of it is in the test's records, so it is not tried. It only says which lists are in " +
      "use, which files were rejected, and what earlier runs of `verify` found, with a MAC.",
    ...["rejected_documents", "screening_state", "verifications"],
  ],
  ["Which migrations ran, with checksums; every start compares them with the code.", "migrations"],
  [
    "What an operator has prepared and not requested yet; requesting it makes a quote, which has " +
      "a MAC.",
    "payout_batches",
  ],
  ["Where e-mails of an account go; they say nothing that decides about money.", "billing_emails"],
];

export const WHOLE_TABLES: Coverage = Object.fromEntries(
  REASONS.flatMap(([reason, ...tables]) =>
    tables.map((table) => [table, [{ changes: EVERYTHING, reason }]]),
  ),
);
