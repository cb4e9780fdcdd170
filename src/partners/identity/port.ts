import type { Readable } from "node:stream";
import type { FileType } from "../files/judge-file.ts";

/** What a person or company has submitted, for somebody who judges it. */
export type IdentityApplication = {
  account_id: string;
  application_id: string;
  user_id: string;
  beneficiary_type: "individual" | "business";
  /** Field → value, as named on the page; dates as `YYYY-MM-DD`. */
  identity: Readonly<Record<string, string | null>>;
  files: readonly IdentityFile[];
};

type IdentityFile = {
  slot: string;
  type: FileType;
  /** The file's bytes, decrypted while they are read. */
  read: () => Promise<Readable>;
};

export const IDENTITY_OUTCOMES = ["approved", "manual_review", "retry_required", "failed"] as const;
export type IdentityOutcome = (typeof IDENTITY_OUTCOMES)[number];

/**
 * A judgement on an application. `result_id` is the adapter's own id of it: the same result told
 * twice carries the same one and is applied once.
 */
export type IdentityResult = {
  account_id: string;
  application_id: string;
  result_id: string;
  outcome: IdentityOutcome;
  /** What the person is told to do next; needed where they are asked again. */
  comment: string | null;
};

/** What we ask of those who judge identities: our own reviewers, or a vendor. */
export type IdentityPort = {
  /**
   * Hands an application over and answers what is known of it at once, perhaps nothing yet. One
   * that is known already, by its id, is not opened a second time.
   */
  submit(application: IdentityApplication): Promise<IdentityResult[]>;
  /** Results since the cursor, oldest first. */
  listResults(
    cursor: string | null,
    limit: number,
  ): Promise<{ results: IdentityResult[]; cursor: string | null }>;
};
