import { useQuery } from "@tanstack/react-query";
import { ask, load } from "../../api.ts";

/** A payout's document with all that is needed to judge it; by the id of the payout. */
export type ReviewedDocument = {
  id: string;
  status: string;
  amount: string;
  currency: string;
  rails: string;
  reference: string;
  document_status: "not_checked" | "approved" | "rejected";
  /** Null while there is no file. */
  document_type: "pdf" | "jpg" | "png" | null;
  hash: string | null;
  /** Why it was rejected. */
  comment: string | null;
  rejected_at: string | null;
  /** Its approval waits for the votes of other members. */
  is_proposed: boolean;
  /** Of another account, whose documents the operator checks. */
  account_name: string | null;
  payer: string | null;
  payee: { holder: string; bank: string; account: string } | null;
  created_at: string;
};

export type DocumentState = "to_check" | "rejected";
type Listed = { is_reviewer: boolean; documents: ReviewedDocument[]; next: string | null };
type Shown = { is_reviewer: boolean; document: ReviewedDocument };

export async function loadDocuments(state: DocumentState, starting_after?: string) {
  const { documents, next } = await ask<Listed>("/documents", { state, starting_after });
  return { rows: documents, has_more: next !== null, next };
}

/** The file with this hash, and no later one: the approval names it. */
export function loadFile(id: string, hash: string): Promise<Blob> {
  return load(`/documents/${encodeURIComponent(id)}/file?hash=${hash}`);
}

/** Whether this account checks its documents itself. */
export function useIsReviewer() {
  return useQuery({
    queryKey: ["documents", "reviewer"],
    queryFn: async () => (await ask<Listed>("/documents", { limit: "1" })).is_reviewer,
  });
}

export function useDocument(id: string) {
  const path = `/documents/${encodeURIComponent(id)}`;
  return useQuery({ queryKey: ["documents", id], queryFn: () => ask<Shown>(path) });
}
