import type { Readable } from "node:stream";
import type { FileType } from "../files/judge-file.ts";

/** What a person or company submitted for review. */
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
 * A decision on an application. `result_id` is the adapter's own id of it: a result that is sent
 * twice has the same one and is applied once.
 */
export type IdentityResult = {
  account_id: string;
  application_id: string;
  result_id: string;
  outcome: IdentityOutcome;
  /** What the applicant should do next; required if they have to submit again. */
  comment: string | null;
};

/** What we need from identity reviewers: our own, or a vendor. */
export type IdentityPort = {
  /**
   * Submits an application and returns the results known at once, possibly none. An application
   * that is already known, by its id, is not opened a second time: its results so far are returned.
   */
  submit(application: IdentityApplication): Promise<IdentityResult[]>;
  /** Results since the cursor, oldest first. */
  listResults(
    cursor: string | null,
    limit: number,
  ): Promise<{ results: IdentityResult[]; cursor: string | null }>;
};
