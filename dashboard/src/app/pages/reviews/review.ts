import { ask, tell } from "../../api.ts";

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
  proposed: { decision: string; label: string; comment: string; is_own: boolean } | null;
  void_summary: string | null;
  notes: { created_at: string; action: string; comment: string }[];
  seen: string;
  decisions: Decision[];
};

export const QUEUES = [
  { value: "awaiting_manual_review", label: "To review" },
  { value: "retry_required", label: "Retry requested" },
  { value: "approved", label: "Approved" },
  { value: "suspended", label: "Suspended" },
] as const;

type QueuePage = { reviews: QueueRow[]; has_more: boolean };

export function loadQueue(query: { status?: string; since?: string; after?: string } = {}) {
  return ask<QueuePage>("/reviews", query);
}

export function loadReview(account_id: string, user_id: string): Promise<Review> {
  return ask<Review>(`/reviews/${account_id}/${user_id}`);
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
export function filePath({ account, user }: Review, file: ReviewFile): string {
  return `/dashboard/api/reviews/${account.id}/${user.id}/files/${file.id}`;
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
