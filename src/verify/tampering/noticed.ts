import { DELETED, PLANTED } from "./model.ts";

/**
 * What other checks of `verify` notice than the MAC of the table's own rows: sealed logs, events,
 * balances, sums, the audit log, and that encrypted values can be opened.
 */
export const NOTICED: Readonly<Record<string, readonly string[]>> = {
  account_keys: ["account_id", "version", "master_key_id", "wrapped", DELETED],
  apps: ["account_id", "id", DELETED],
  audit_entries: [
    ...["account_id", "id", "at", "actor", "action", "record"],
    ...["reason", "detail", "mac", DELETED, PLANTED],
  ],
  deposit_addresses: ["chain", "address", "account_id", "quote_id", DELETED],
  deposit_codes: ["code", "account_id", "onramp_id", DELETED],
  events: [
    ...["account_id", "id", "name", "record_id", "sequence", "from_status"],
    ...["to_status", "facts", "subject_id", "created_at", "change_id", "role"],
    ...["app_id", "counterpart_account_id", "actor", "mac", DELETED, PLANTED],
  ],
  exports: [
    ...["id", "period_from", "period_to", "row_count", "digest", PLANTED],
    ...["kind", "format"],
  ],
  fiat_deposits: ["details"],
  invoices: ["id", "document", "payment", "sequence", "tracked", PLANTED, "status"],
  ledger_balances: [
    "account_id",
    "ledger_account",
    "currency",
    "balance",
    "last_entry_id",
    "mac",
    DELETED,
    PLANTED,
  ],
  ledger_entries: [
    ...["account_id", "id", "key", "kind", "created_at", "mac"],
    ...[DELETED, PLANTED],
  ],
  ledger_lines: [
    "account_id",
    "entry_id",
    "number",
    "ledger_account",
    "currency",
    "amount",
    DELETED,
    PLANTED,
  ],
  offramps: [
    ...["account_id", "id", "user_id", "quote_id", "payment_detail_id", "status"],
    ...[
      "status_message",
      "destination_amount",
      "destination_currency",
      "rate",
      "fee",
      "deposit_token",
    ],
    ...["token_amount", "token_fee", "details", "document_file", "document_hash", "document_type"],
    ...["document_version", "funded_at", "attempt", "payout_reference", "sequence", "created_at"],
    ...[
      "updated_at",
      "invoice_id",
      "document_id",
      "deposit_token_chain",
      "given_back",
      "refund_rate",
    ],
    ...["rate_until", "rate_paused_at", "document_after_approval", DELETED, PLANTED, "rails"],
    ...["document_status", "document_source"],
  ],
  onramps: ["details"],
  payment_details: ["details"],
  payout_holds: [DELETED, "kind"],
  proposal_votes: [
    ...["account_id", "proposal_id", "person_id", "created_at", "voter_account_id", "mac"],
    ...[DELETED, PLANTED, "verdict"],
  ],
  proven_rails: ["currency", "rail", "bank_account", PLANTED],
  quotes: ["token_amount", "token_fees", "offramp_count"],
  refunds: ["address"],
  removed_offramps: ["account_id", "id", DELETED],
  screening_matches: ["account_id", "user_id", "record_id", "status", DELETED],
  seal_blocks: [
    ...["account_id", "log", "number", "entry_ids", "digests", "previous_hash"],
    ...["hash", "signature", "sealed_at", DELETED, PLANTED],
  ],
  seal_pending: ["account_id", "log", "entry_id", "digest", "mac", DELETED, PLANTED],
  subject_keys: ["account_id", "subject_id", "wrapped", DELETED],
  travel_records: ["id", "content", PLANTED],
  users: ["identity", "kyc_comment"],
};
