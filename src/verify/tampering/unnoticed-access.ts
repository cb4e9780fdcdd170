import { type Coverage, DELETED, PLANTED } from "./model.ts";
import { COMPARED, ENCRYPTED, SHOWN } from "./reasons.ts";

/** Who may do what, keys, logs: by table, the changes that nobody notices, and why. */
export const UNNOTICED_ACCESS: Coverage = {
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
  kyc_files: [
    {
      changes: ["application_id", DELETED],
      reason: "Which application of the same user a file is for. A reviewer sees what is there.",
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
  members: [
    {
      changes: ["joined_at"],
      reason:
        "Whether admins see the state of the person's second factor, and may remove it where the " +
        "person has joined no other account; a removal is audited and mailed.",
    },
  ],
  operator_acts: [
    {
      changes: [DELETED],
      reason:
        "What the operator did in another account, for the seconds until it is noted in the " +
        "operator's log, with `SLIPROAD_BATCH_BY=account`. The account's own log has the act.",
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
  recovery_codes: [
    {
      changes: [DELETED],
      reason: "The person has one code less.",
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
