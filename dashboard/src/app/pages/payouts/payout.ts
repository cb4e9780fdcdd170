import type { HistoryItem, Offramp } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";

/** An item of the history, told apart from others of the same time. */
export type HistoryStep = HistoryItem & { id: string };

export type Payout = {
  offramp: Offramp;
  /** Each try to pay. */
  attempts: {
    attempt: number;
    payment_detail_id: string;
    end_to_end_id: string;
    status: "recorded" | "submitting" | "sent" | "booked" | "returned" | "rejected";
    /** What came back of it. */
    returned_amount: string | null;
    at: string;
  }[];
  /** Coins that arrived for its quote. */
  deposits: {
    id: string;
    token: string;
    chain: string;
    amount: string;
    tx_id: string;
    at: string;
  }[];
  deposit_token: string;
  deposit_token_chain: string;
  /** Null while there is no file. */
  document_type: "pdf" | "jpg" | "png" | null;
  /** SHA-256 of the file. */
  document_hash: string | null;
  /** True where this account checks its documents itself. */
  reviews_documents: boolean;
  history: HistoryStep[];
  names: Names;
};

/** A payout with everything that its page shows. */
export function usePayout(id: string) {
  return useQuery({ queryKey: ["payout", id], queryFn: () => loadPayout(id) });
}

async function loadPayout(id: string): Promise<Payout> {
  const [shown, history] = await Promise.all([
    ask<Omit<Payout, "history" | "names">>(`/payouts/${encodeURIComponent(id)}`),
    api.records.history(id),
  ]);
  const { user_id, payment_detail_id } = shown.offramp;
  const tried = shown.attempts.map((attempt) => attempt.payment_detail_id);
  const names = await loadNames({
    users: [user_id],
    payment_details: [...new Set([payment_detail_id, ...tried])],
    actors: history.flatMap(({ who }) => referencesIn(who).map(({ id: actor }) => actor)),
  });
  const steps = history.map((item, at) => ({ ...item, id: `${item.what} ${history.length - at}` }));
  return { ...shown, history: steps, names };
}

/** Who acted: `kind:id`, several with commas between them. */
export function referencesIn(who: string | null): { kind: string; id: string }[] {
  return (who?.split(",") ?? []).map((one) => {
    const [kind = "", id = ""] = one.split(":");
    return { kind, id };
  });
}
