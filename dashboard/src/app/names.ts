import { useQuery } from "@tanstack/react-query";
import { ask } from "./api.ts";

/** How records are shown instead of by their ids. */
export type Names = {
  users: Record<string, { name: string; kyc_status: string }>;
  payment_details: Record<string, { holder: string; bank: string; account: string }>;
  /** Of members and API keys. */
  actors: Record<string, string>;
};

const NOBODY: Names = { users: {}, payment_details: {}, actors: {} };

type Ids = {
  users?: readonly string[];
  payment_details?: readonly string[];
  actors?: readonly string[];
};

/** The names of these records; empty until they are known. */
export function useNames(ids: Ids): Names {
  const query = {
    users: listOf(ids.users),
    payment_details: listOf(ids.payment_details),
    actors: listOf(ids.actors),
  };
  const isAny = Object.values(query).some((text) => text !== undefined);
  const { data } = useQuery({
    queryKey: ["names", query],
    queryFn: () => ask<Names>("/names", query),
    enabled: isAny,
    placeholderData: (before) => before,
  });
  return data ?? NOBODY;
}

export function loadNames(ids: Ids): Promise<Names> {
  return ask<Names>("/names", {
    users: listOf(ids.users),
    payment_details: listOf(ids.payment_details),
    actors: listOf(ids.actors),
  });
}

function listOf(ids: readonly string[] | undefined): string | undefined {
  const distinct = [...new Set(ids)].sort();
  return distinct.length > 0 ? distinct.join(",") : undefined;
}
