import type { Mode } from "../platform/config/config.ts";
import { makeCredential } from "../platform/named-credentials.ts";
import type { KeyRestrictions } from "./restrict-key.ts";

export const ROLES = ["admin", "finance_manager", "accountant", "approver", "developer"] as const;
export type Role = (typeof ROLES)[number];

const PREFIXES: Record<Mode, string> = { sandbox: "sk_test_", live: "sk_live_" };

/**
 * Who acted: a person, a program with a key or token, the members who confirmed a proposal, the
 * command line, or Sliproad itself.
 */
export type Actor =
  | `member:${string}`
  | `api_key:${string}`
  | `app:${string}`
  | `proposal:${string}`
  | "command line"
  | "first start"
  | "worker";

/** Who acted and why, for the audit log. */
export type By = { actor: Actor; reason: string };

/** The actor of a command. */
export function actorOf(command: { credential_id: string; actor?: Actor }): Actor {
  return command.actor ?? `api_key:${command.credential_id}`;
}

export type ApiKey = KeyRestrictions & {
  account_id: string;
  id: string;
  name: string;
  prefix: string;
  last_four: string;
  /** Counts as the proposer of what the key requests; null when unknown. */
  created_by_person: string | null;
  created_at: Date;
  revoked_at: Date | null;
};

export type Account = {
  id: string;
  name: string;
  is_operator: boolean;
  /** A KYC decision needs two different members. */
  kyc_two_person_approval: boolean;
  /** The account's own members review identities, in addition to the operator's. */
  kyc_review_by_account: boolean;
  /** The account's own keys and members review documents, in addition to the operator's. */
  document_review_by_account: boolean;
  /** Null until the operator enables webhooks; nothing is sent for the account before that. */
  webhooks_enabled_at: Date | null;
  created_at: Date;
};

export function makeApiKey(index_key: Buffer, mode: Mode, account_id: string): string {
  return makeCredential(index_key, account_id, PREFIXES[mode]);
}

/** The part of a key that may be shown: its kind and its last four characters. */
export function labelOf(key: string): { prefix: string; last_four: string } {
  const prefix = Object.values(PREFIXES).find((known) => key.startsWith(known));
  return { prefix: prefix ?? "", last_four: key.slice(-4) };
}

/** True for a key created here, recognised by its prefix. */
export function isOwnKey(text: string): boolean {
  return Object.values(PREFIXES).some((prefix) => text.startsWith(prefix));
}

/** A key whose prefix names the other mode is refused, even if the database has it. */
export function isKeyOfMode(key: string, mode: Mode): boolean {
  const other = mode === "sandbox" ? "live" : "sandbox";
  return !key.startsWith(PREFIXES[other]);
}
