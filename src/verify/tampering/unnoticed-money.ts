import { type Coverage, DELETED, PLANTED } from "./model.ts";
import { COMPARED, ENCRYPTED, SHOWN } from "./reasons.ts";

/** The same for money and what decides about it. */
export const UNNOTICED_MONEY: Coverage = {
  bank_answers: [
    {
      changes: [DELETED],
      reason:
        "The payout that it ended keeps its state, its MAC and its ledger entries: the same " +
        "answer, read again, changes nothing.",
    },
  ],
  deposit_addresses: [
    {
      changes: [PLANTED],
      reason: "Only tokens that arrived count, and the quote that they are for has a MAC.",
    },
  ],
  deposit_codes: [
    {
      changes: [PLANTED],
      reason: "Only money that arrived counts, and the onramp that it is for has a MAC.",
    },
  ],
  documents: [
    {
      changes: [
        ...["account_id", "id", "user_id", "file", "hash", "type"],
        ...["created_at", DELETED, PLANTED],
      ],
      reason:
        "Of an uploaded file before it is attached; the offramp has its hash, which its " +
        "events cover.",
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
  exception_decisions: [
    {
      changes: [DELETED],
      reason:
        "A decision between two steps, with `SLIPROAD_BATCH_BY=account`. Without it nothing " +
        "moves: the exception waits for a decision as before.",
    },
  ],
  exception_outcomes: [
    {
      changes: [DELETED],
      reason:
        "What a decision did, until it is closed. Without it the step is tried again, and the " +
        "exception's account decides under a lock whether there is anything left to do.",
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
  kept_messages: [
    {
      changes: [DELETED],
      reason:
        "An answer of the bank, or a deposit on chain, that could not be applied yet. Without it " +
        "the payout stays as it is and is reported as unanswered, or tokens belong to nobody: " +
        "`sliproad reconcile` finds the line of the bank, and what a chain has beyond the ledger.",
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
  removed_offramps: [
    {
      changes: ["user_id", "quote_id", "sequence", "removed_at", PLANTED],
      reason:
        "Says only that events may name an offramp that is not there any more; the quote no " +
        "longer counts it. A higher number would hide the events of a deleted one, whose quote " +
        "has other totals then.",
    },
  ],
  screening_matches: [
    {
      changes: [
        ...["id", "record_kind", "list", "entry_id", "entry_digest", "person_digest", "verdict"],
        ...["score", "decided_by", "decided_at", "created_at", "updated_at", PLANTED],
      ],
      reason:
        "What a reviewer sees of a match. Whether there is one decides, and its state: that is " +
        "compared with the user and the audit log.",
    },
    { changes: ["details"], reason: ENCRYPTED },
  ],
  seal_pending: [
    { changes: ["noted_at"], reason: "Since when an entry waits: it is sealed all the same." },
  ],
};
