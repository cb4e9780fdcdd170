import { type Coverage, DELETED, PLANTED } from "./model.ts";
import { ENCRYPTED, SHOWN } from "./reasons.ts";

/** By table, up to `f`: the changes that nobody notices, and why. */
export const UNNOTICED: Coverage = {
  account_keys: [
    {
      changes: ["created_at"],
      reason: SHOWN,
    },
    {
      changes: [PLANTED],
      reason:
        "A key that the master key did not wrap opens nothing; rows name the version that " +
        "they need.",
    },
  ],
  accounts: [
    {
      changes: ["webhooks_enabled_at"],
      reason: "Says since when events are sent, not what is paid.",
    },
  ],
  api_key_hashes: [
    {
      changes: [DELETED],
      reason: "Its key is not accepted any more.",
    },
  ],
  app_ids: [
    {
      changes: ["id", "account_id", DELETED, PLANTED],
      reason: "Finds the account of an application, whose secret is checked then.",
    },
  ],
  apps: [
    {
      changes: [
        ...[
          "name",
          "client_secret_last_four",
          "used_at",
          "webhook_state_reason",
          "failing_since",
          "circuit_failures",
        ],
        ...[
          "circuit_until",
          "created_at",
          "updated_at",
          "webhook_version",
          "failures_in_a_row",
          "failed_at",
        ],
        ...["webhook_state"],
      ],
      reason: "State of deliveries, changed by every one of them, and texts that are shown.",
    },
    {
      changes: ["flow", "client_secret_hash", "redirect_uris", "deleted_at", PLANTED],
      reason:
        "Not covered yet. A secret is stored as a hash with a key, so nobody with SQL can " +
        "set one that they know; a changed redirect URI could receive a code, which is " +
        "useless without the secret.",
    },
    {
      changes: ["webhook_url", "events", "is_ordered"],
      reason:
        "Not covered yet: somebody with SQL can have events sent elsewhere. They move no " +
        "money.",
    },
    {
      changes: [
        "webhook_secret",
        "webhook_secret_next",
        "webhook_secret_switch_at",
        "webhook_headers",
      ],
      reason: ENCRYPTED,
    },
  ],
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
  events: [
    {
      changes: ["body"],
      reason: ENCRYPTED,
    },
    {
      changes: ["trace_id"],
      reason: SHOWN,
    },
  ],
  exports: [
    {
      changes: [
        ...["account_id", "file", "requested_by", "byte_count", "created_at", "updated_at"],
        ...["status", DELETED],
      ],
      reason: "A list of files that were written; their digests are in the audit log.",
    },
  ],
};
