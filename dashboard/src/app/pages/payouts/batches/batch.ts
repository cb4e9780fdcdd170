import { useMutation, useQuery } from "@tanstack/react-query";
import { ask, queries, tell } from "../../../api.ts";
import type { CellName } from "./columns.ts";

export type CellProblem = {
  cell: CellName;
  severity: "error" | "warning" | "duplicate";
  code: string;
  message: string;
};

export type BatchRow = {
  n: number;
  cells: Partial<Record<CellName, string>>;
  is_excluded: boolean;
  is_acknowledged: boolean;
  payee: "known" | "new" | null;
  problems: CellProblem[];
  is_ready: boolean;
};

type Head = {
  id: string;
  user_id: string;
  status: "draft" | "creating" | "created";
  is_editable: boolean;
  is_file_acknowledged: boolean;
  deposit_token: string;
  deposit_token_chain: string;
  quote_id: string | null;
  file_name: string;
  row_count: number;
  digest: string;
  expires_at: string;
  progress: {
    payees: number;
    payees_created: number;
    payouts: number;
    payouts_created: number;
  } | null;
};

/** While rows can be changed: all of them, checked. */
export type Draft = {
  batch: Head;
  notes: Omit<CellProblem, "cell">[];
  sums: { currency: string; amount: string; count: number }[];
  token_amount: string;
  is_ready: boolean;
  rows: BatchRow[];
};

/** Afterwards: how far it is. */
export type Started = { batch: Head; rows?: undefined };

export type Summary = {
  id: string;
  user_id: string;
  status: Head["status"];
  row_count: number;
  quote_id: string | null;
  file_name: string;
  created_by: string;
  created_at: string;
  expires_at: string;
};

export type BatchList = {
  batches: Summary[];
  coins: { token: string; chain: string }[];
  /** Where the next page begins. */
  next: string | null;
};

export function useBatches() {
  return useQuery({ queryKey: ["batches"], queryFn: () => ask<BatchList>("/batches") });
}

const CREATING_LOOK_MS = 2_000;

export function useBatch(id: string) {
  return useQuery({
    queryKey: ["batch", id],
    queryFn: () => ask<Draft | Started>(`/batches/${id}`),
    // What somebody types must not be replaced while they type.
    refetchOnWindowFocus: false,
    // Payouts are created step by step, also by a colleague's page.
    refetchInterval: ({ state }) =>
      state.data?.batch.status === "creating" ? CREATING_LOOK_MS : false,
  });
}

export type RowChange = {
  n: number;
  cells?: BatchRow["cells"];
  is_excluded?: boolean;
  is_acknowledged?: boolean;
};
export type BatchChange = { rows?: RowChange[]; is_file_acknowledged?: boolean };

/** Changes rows, and shows the check of all of them. */
export async function changeBatch(id: string, batch: BatchChange): Promise<void> {
  const shown = await tell<Draft>(`/batches/${id}`, { batch }, "PATCH");
  queries.setQueryData(["batch", id], shown);
}

export type CreatePayouts = ReturnType<typeof useCreatePayouts>;

/** Creates what was shown: by its digest. */
export function useCreatePayouts(id: string) {
  return useMutation({ mutationFn: (digest: string) => createPayouts(id, digest) });
}

/** Goes through the steps until all payouts exist; each answer shows how far it is. */
async function createPayouts(id: string, digest: string): Promise<void> {
  for (;;) {
    const shown = await tell<Started>(`/batches/${id}/payouts`, { digest });
    queries.setQueryData(["batch", id], shown);
    if (shown.batch.status === "created") break;
  }
  queries.invalidateQueries({ queryKey: ["batches"] });
}
