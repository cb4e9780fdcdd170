import { useQuery } from "@tanstack/react-query";
import { api } from "../../api.ts";

/** What every account of the chart stands at; accounts of single records as one sum. */
export function useBalances() {
  return useQuery({ queryKey: ["ledger", "balances"], queryFn: () => api.ledger.balances() });
}
