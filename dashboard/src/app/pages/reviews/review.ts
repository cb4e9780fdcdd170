import { ask, load, tell } from "../../api.ts";
import type { IdentityStatus } from "../people/identity-chip.tsx";

export type QueueRow = {
  account_id: string;
  account_name: string;
  user_id: string;
  beneficiary_type: "individual" | "business";
  updated_at: string;
  is_proposed: boolean;
  name: string;
};

export type ReviewField = {
  name: string;
  value: string | null;
  before: string | null;
  is_contradicted: boolean;
  since: string | null;
  is_changed_since: boolean;
};

export type ReviewFile = {
  id: string;
  slot: string;
  type: "pdf" | "jpg" | "png";
  size: number;
  uploaded_at: string;
};

type ReviewOwner = {
  name: string;
  date_of_birth: string | null;
  nationality: string | null;
  share: string | null;
};

type Proposed = {
  decision: string;
  label: string;
  comment: string;
  is_own: boolean;
  by: string | null;
};

export type Decision = { name: string; label: string; needs_comment: boolean };

export type Review = {
  account: { id: string; name: string };
  user: { id: string; beneficiary_type: "individual" | "business"; email: string };
  status: string;
  comment: string | null;
  swift: { usd: string; eur: string };
  submitted_at: string | null;
  fields: ReviewField[];
  /** Null: not asked for, or not answered. */
  owners: ReviewOwner[] | null;
  files: ReviewFile[];
  are_files_deleted: boolean;
  proposed: Proposed | null;
  void_summary: string | null;
  /** What reviewers did before, the newest first. */
  past: { at: string; by: string | null; label: string; comment: string | null }[];
  seen: string;
  decisions: Decision[];
};

/** Whom a reviewer has to decide on, or has decided on. */
export const QUEUES = [
  ...(["awaiting_manual_review", "retry_required", "approved", "suspended"] as const),
  ...(["failed", "retry_denied"] as const),
] satisfies IdentityStatus[];

/** Of another account, or no member any more. */
const UNNAMED = "Another reviewer";

export function nameOfReviewer(by: string | null): string {
  return by ?? UNNAMED;
}

type QueuePage = { reviews: QueueRow[]; has_more: boolean };

export function loadQueue(query: { status?: string; since?: string; after?: string } = {}) {
  return ask<QueuePage>("/reviews", query);
}

export function loadReview(account_id: string, user_id: string): Promise<Review> {
  return ask<Review>(`/reviews/${account_id}/${user_id}`);
}

/** Another version when anybody changed what the review shows; asking is no view of the data. */
export function loadVersion(account_id: string, user_id: string): Promise<{ version: string }> {
  return ask(`/reviews/${account_id}/${user_id}/version`);
}

export type Outcome = "decided" | "proposed" | "confirmed" | "returned";

export function decide(
  { account, user, seen }: Review,
  decision: string,
  comment: string,
): Promise<{ outcome: Outcome }> {
  return tell(`/reviews/${account.id}/${user.id}`, { decision, comment, seen });
}

export function reviewPath({ account_id, user_id }: { account_id: string; user_id: string }) {
  return `/people/reviews/${account_id}/${user_id}`;
}

/** Where the server sends the file itself; each view of it is recorded. */
export function filePath(review: Review, file: ReviewFile): string {
  return `/dashboard/api${apiPath(review, file)}`;
}

export function loadFile(review: Review, file: ReviewFile): Promise<Blob> {
  return load(apiPath(review, file));
}

function apiPath({ account, user }: Review, file: ReviewFile): string {
  return `/reviews/${account.id}/${user.id}/files/${file.id}`;
}

/** `controller_first_name` → `Controller first name`. */
export function inWords(name: string): string {
  const words = name.replaceAll("_", " ").replace(/(\d)$/, " $1");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The name of the person or company, as it was typed. */
export function nameIn({ fields, user }: Review): string {
  const value = (name: string) => fields.find((field) => field.name === name)?.value ?? "";
  const person = `${value("first_name")} ${value("last_name")}`.trim();
  return value("company_name") || person || user.email;
}
