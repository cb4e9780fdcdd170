import { useInfiniteQuery } from "@tanstack/react-query";
import { ask } from "../../api.ts";

export type Approval = {
  id: string;
  kind: string;
  record_id: string;
  summary: string;
  status: string;
  outcome: string | null;
  confirmations: number;
  confirmations_needed: number;
  voters: "members" | "with_operator" | "reviewers";
  may_vote: boolean;
  amount_usd: string | null;
  account_id: string;
  /** Of another account, on which the operator's members vote too. */
  account_name: string | null;
  proposed_by: string;
  is_own: boolean;
  has_voted: boolean;
  votes: { by: string; verdict: "confirm" | "reject"; at: string }[];
  why: string | null;
  details: { label: string; value: string }[] | null;
  digest: string | null;
  waits_for: string | null;
  created_at: string;
  updated_at: string;
  lapses_at: string;
};

type Approvals = { pending: Approval[]; ended: Approval[]; last_id: string | null };

/** Proposals send no events: they are looked at again while the page is open. */
const LOOK_EVERY_MS = 5_000;

export function useApprovals() {
  return useInfiniteQuery({
    queryKey: ["approvals"],
    queryFn: ({ pageParam }) => {
      return ask<Approvals>("/approvals", pageParam ? { starting_after: pageParam } : {});
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ last_id }) => last_id ?? undefined,
    refetchInterval: LOOK_EVERY_MS,
  });
}

/** Whether this member can do something about it now. */
export function isMine({ may_vote, has_voted, voters, is_own, confirmations }: Approval): boolean {
  if (!may_vote || has_voted || voters === "reviewers") return false;
  // Who asked may agree first, and never decides.
  return !is_own || confirmations === 0;
}

const PATHS: Readonly<Record<string, string>> = {
  "pay-quote": "/quotes/",
  "refund-offramps": "/payouts/",
  "reroute-offramps": "/payouts/",
  "review-documents": "/payouts/",
};

/** The pages of what it is about, as far as they are in this program. */
export function linksOf(approval: Approval): { name: string; path: string }[] {
  const { id, kind, record_id, account_id, account_name, voters, may_vote } = approval;
  if (voters === "reviewers") {
    return [{ name: "See the review", path: `/people/reviews/${account_id}/${record_id}` }];
  }
  const path = PATHS[kind];
  if (!path || account_name !== null) return [];
  const record = { name: "See everything it is about", path: `${path}${record_id}` };
  if (kind !== "pay-quote" || !may_vote) return [record];
  return [record, { name: "All payouts, with new payees", path: `/approvals/${id}` }];
}
