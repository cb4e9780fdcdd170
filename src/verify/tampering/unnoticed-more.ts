import { type Coverage, DELETED, PLANTED } from "./model.ts";
import { COMPARED, ENCRYPTED, SHOWN } from "./reasons.ts";

/** The same for tables from `i` on. */
export const UNNOTICED_MORE: Coverage = {
  installation: [
    {
      changes: [
        ...["id", "mode", "created_at", "master_key_id", "index_key", "erasures"],
        ...[DELETED, PLANTED],
      ],
      reason:
        "Read at the start, which fails: the mode must be that of the setting, and the key " +
        "of look-ups must open.",
    },
    {
      changes: ["clock_offset_ms"],
      reason: "The clock of the sandbox; in live mode it is not read.",
    },
  ],
  invoices: [
    {
      changes: ["account_id", DELETED],
      reason:
        "A draft that nobody else has seen. Once it is shared, its changes and events name " +
        "it.",
    },
    {
      changes: [
        ...["format", "request_id", "number_index", "currency", "total", "total_without_tax"],
        ...["creation_date", "due_at", "party_index", "shared_with", "shared_from", "was_accepted"],
        ...[
          "offramp_id",
          "next_occurrence_at",
          "occurrences",
          "template_id",
          "occurrence",
          "app_id",
        ],
        ...["created_at", "updated_at"],
      ],
      reason:
        "Of a draft without changes. A shared invoice is compared with the digest of its " +
        "last change, and money leaves by an offramp of its own.",
    },
  ],
  kyc_files: [
    {
      changes: ["application_id", DELETED],
      reason: "Which application of the same user a file is for. A reviewer sees what is there.",
    },
  ],
  leaving_counts: [
    {
      changes: ["is_only", "count", DELETED, PLANTED],
      reason:
        "Compared with the count in `SLIPROAD_RESTORE_CHECK_FILE`, outside of the database, " +
        "at the start and every five seconds.",
    },
  ],
  ledger_balances: [
    {
      changes: ["account_id", DELETED],
      reason:
        "Of a balance of zero; any other differs from the sum of its lines. Nothing can be " +
        "posted to it then: its lines are newer than a new balance.",
    },
  ],
  ledger_lines: [
    {
      changes: ["number"],
      reason: "The order of lines of one entry, which sum to zero.",
    },
  ],
  mac_keys: [
    {
      changes: ["version", "master_key_id", "wrapped", "created_at", DELETED, PLANTED],
      reason:
        "Read at the start and at a rotation: a key that the master key did not wrap for " +
        "this version is not used, and without a key the rows that it vouched for are not.",
    },
  ],
  offramps: [
    {
      changes: ["document_fetch_failures", "reference_index"],
      reason: "How often a document was fetched, and an index to search by.",
    },
  ],
  partner_cursors: [
    {
      changes: [DELETED],
      reason: "Everything is read again; what was recorded is not recorded twice.",
    },
  ],
  passkeys: [
    {
      changes: ["name"],
      reason: ENCRYPTED,
    },
  ],
  password_links: [
    {
      changes: [DELETED],
      reason: "The person needs another link.",
    },
  ],
  payment_details: [
    {
      changes: ["payee_index"],
      reason:
        "Counts payouts of one payee for limits and cooling-off. Not covered, because " +
        "details from before have none.",
    },
    {
      changes: ["screening_version"],
      reason: COMPARED,
    },
    {
      changes: [DELETED],
      reason: "Nothing can be paid to it any more.",
    },
  ],
  payout_holds: [
    {
      changes: [PLANTED],
      reason: "A planted hold stops payouts until `sliproad payouts release`.",
    },
    {
      changes: ["id", "reason", "held_at", "file_count", "release_reason", "released_at"],
      reason:
        "How many holds there were and whether one is open is compared with the audit log; " +
        "these columns are shown, or compared with the file.",
    },
  ],
  payouts: [
    {
      changes: ["flagged_at"],
      reason: "Says only that the operator was told.",
    },
  ],
  people: [
    {
      changes: ["email"],
      reason: ENCRYPTED,
    },
    {
      changes: [DELETED],
      reason: "The person cannot sign in any more.",
    },
  ],
  price_versions: [
    {
      changes: [DELETED],
      reason: "One that no quote names is not missed.",
    },
  ],
  proven_rails: [
    {
      changes: ["proven_at"],
      reason: SHOWN,
    },
    {
      changes: [DELETED],
      reason: "The next payout of the rail is a small one again.",
    },
  ],
  quotes: [
    {
      changes: ["updated_at", "tx_status"],
      reason: SHOWN,
    },
  ],
  rate_checks: [
    {
      changes: [DELETED],
      reason:
        "Not covered yet: the next rate of the pair is accepted without comparing it with " +
        "the last one.",
    },
  ],
  recovery_codes: [
    {
      changes: [DELETED],
      reason: "The person has one code less.",
    },
  ],
  refund_addresses: [
    {
      changes: ["address"],
      reason: ENCRYPTED,
    },
    {
      changes: [DELETED],
      reason: "A refund to it needs approval again.",
    },
  ],
  sessions: [
    {
      changes: ["origin"],
      reason: ENCRYPTED,
    },
    {
      changes: ["used_at"],
      reason: "Written at every use. A session ends at `expires_at`, which is covered.",
    },
    {
      changes: [DELETED],
      reason: "The person has to sign in again.",
    },
  ],
  subject_keys: [
    {
      changes: ["account_key_version", "created_at"],
      reason:
        "A key that cannot be unwrapped opens nothing, and nothing of the person can be " + "paid.",
    },
    {
      changes: [PLANTED],
      reason: "A key of nobody opens nothing.",
    },
  ],
  totp_factors: [
    {
      changes: ["last_step"],
      reason: "Written at every use; put back, a code could be used twice within 90 seconds.",
    },
  ],
  travel_records: [
    {
      changes: [
        ...["account_id", "user_id", "kind", "record_id", "token", "chain"],
        ...["amount", "amount_usd", "missing", "created_at", "status", DELETED],
      ],
      reason:
        "Not covered yet: a copy for the authorities of what refund, onramp and ledger say, " +
        "which are covered.",
    },
  ],
  unapproved_amounts: [
    {
      changes: [DELETED],
      reason:
        "Not covered yet: the amount counts no longer for the approval amount of 24 hours. " +
        "What it allowed is in the audit log.",
    },
  ],
  users: [
    {
      changes: ["email_index"],
      reason: "Finds a user by e-mail, and keeps one from being registered twice.",
    },
    {
      changes: ["updated_at"],
      reason: SHOWN,
    },
    {
      changes: ["screening_version"],
      reason: COMPARED,
    },
  ],
};
