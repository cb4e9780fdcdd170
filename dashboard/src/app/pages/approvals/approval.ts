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

/** The page of what it is about; null where there is none in this program. */
export function recordPath({ kind, record_id, account_name }: Approval): string | null {
  const path = PATHS[kind];
  return path && account_name === null ? `${path}${record_id}` : null;
}
