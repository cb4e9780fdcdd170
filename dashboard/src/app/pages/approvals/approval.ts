import { useInfiniteQuery } from "@tanstack/react-query";
import { ask } from "../../api.ts";
import { LOOK_EVERY_MS } from "../../parts/record-table.tsx";
import { may } from "../../session.ts";

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
  /** Whether this member's vote is missing. */
  is_mine: boolean;
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

export type ApprovalList = "mine" | "waiting" | "decided";

export type ApprovalPage = {
  approvals: Approval[];
  last_id: string | null;
  /** Who proposed what the whole list has. */
  proposers: { proposed_by: string; name: string; count: number }[];
};

export function loadApprovals(
  list: ApprovalList,
  by: string | undefined,
  starting_after: string | undefined,
): Promise<ApprovalPage> {
  return ask<ApprovalPage>("/approvals", { list, by, starting_after });
}

/** Newest first. Proposals send no events: what waits is looked at again. */
export function useApprovals(list: ApprovalList, by: string | undefined) {
  return useInfiniteQuery({
    queryKey: ["approvals", list, by],
    queryFn: ({ pageParam }) => loadApprovals(list, by, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ last_id }) => last_id ?? undefined,
    refetchInterval: list === "decided" ? false : LOOK_EVERY_MS,
  });
}

const PATHS: Readonly<Record<string, string>> = {
  "pay-quote": "/quotes/",
  "refund-balances": "/people/",
  "refund-offramps": "/payouts/",
  "reroute-offramps": "/payouts/",
};

const UNMATCHED = { name: "See unmatched deposits", path: "/deposits?tab=unmatched" };
/** Where what it is about is one of many. */
const PAGES: Readonly<Record<string, RecordLink>> = {
  "match-deposits": UNMATCHED,
  "accept-difference-deposits": UNMATCHED,
  "return-deposits": UNMATCHED,
  "dismiss-deposits": UNMATCHED,
  "resolve-bank-exceptions": { name: "See bank exceptions", path: "/deposits?tab=exceptions" },
  "change-members": { name: "See the team", path: "/settings/team" },
  "change-accounts": { name: "See the settings", path: "/settings/security" },
  "set-limits": { name: "See the limits", path: "/settings/security" },
  "book-treasury": { name: "See the ledger", path: "/ledger" },
};

type RecordLink = { name: string; path: string; is_outside?: boolean };

/** The pages of what it is about; of another account's record, the one that the operator has. */
export function linksOf(approval: Approval): RecordLink[] {
  const { kind, record_id, account_id, account_name, voters } = approval;
  if (voters === "reviewers") {
    return [{ name: "See the review", path: `/people/reviews/${account_id}/${record_id}` }];
  }
  if (kind === "review-documents" && may("review_documents")) {
    return [{ name: "See the document", path: `/documents/${record_id}` }];
  }
  return [...recordLinks(approval), ...payoutLinks(approval)].filter(
    ({ is_outside }) => !is_outside || (account_name !== null && may("see_records")),
  );
}

function recordLinks({ kind, record_id, account_id, account_name }: Approval): RecordLink[] {
  const path = PATHS[kind];
  if (path && account_name === null) {
    return [{ name: "See everything it is about", path: `${path}${record_id}` }];
  }
  const page = PAGES[kind];
  if (page && account_name === null) return [page];
  const query = new URLSearchParams({ account: account_id });
  const history = `/dashboard/records/${record_id}?${query}`;
  return [{ name: "See the record's history", path: history, is_outside: true }];
}

function payoutLinks({ id, kind, may_vote, account_name }: Approval): RecordLink[] {
  if (kind !== "pay-quote" || !may_vote) return [];
  const of = account_name === null ? "" : "?of=another_account";
  return [{ name: "All payouts, with new payees", path: `/approvals/${id}${of}` }];
}
