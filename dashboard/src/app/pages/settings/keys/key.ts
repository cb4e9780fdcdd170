import { useQuery } from "@tanstack/react-query";
import { ask, queries, tell } from "../../../api.ts";

export type ApiKey = {
  id: string;
  name: string;
  prefix: string;
  last_four: string;
  /** Null: everything. */
  scopes: string[] | null;
  /** Null: from everywhere. */
  networks: string[] | null;
  created_by: string | null;
  /** Whoever created a key has seen it, and may still know it. */
  has_creator_left: boolean;
  created_at: string;
  used_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
};

export type Scope = { name: string; meaning: string };
type Keys = { keys: ApiKey[]; scopes: Scope[]; has_more: boolean };
export type MadeKey = { api_key: { id: string; name: string }; key: string };

export type NewKey = {
  name: string;
  scopes: string[] | null;
  networks: string[] | null;
  expires_in_days: number | null;
};

/** What a key can be restricted to. */
export function useScopes(): Scope[] | undefined {
  const query = { queryKey: ["keys", "scopes"], queryFn: () => ask<Keys>("/keys", { limit: "1" }) };
  return useQuery(query).data?.scopes;
}

/** Newest first. */
export async function loadKeys(starting_after: string | undefined) {
  const { keys, has_more } = await ask<Keys>("/keys", { starting_after, limit: "50" });
  return { rows: keys, has_more };
}

export function createKey(key: NewKey): Promise<MadeKey> {
  return refreshed(tell<MadeKey>("/keys", key));
}

export function rotateKey(
  { id }: ApiKey,
  rotation: { overlap_hours: number; expires_in_days: number | null },
): Promise<MadeKey> {
  return refreshed(tell<MadeKey>(`/keys/${id}/rotate`, rotation));
}

export function revokeKey({ id }: ApiKey): Promise<object> {
  return refreshed(tell<object>(`/keys/${id}/revoke`, {}));
}

async function refreshed<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const outcome = await answer;
  await queries.invalidateQueries({ queryKey: ["keys"] });
  return outcome;
}

export function isEnded({ revoked_at, expires_at }: ApiKey): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.now());
}

export const LIFETIMES = [
  { value: "90", label: "In 90 days" },
  { value: "30", label: "In 30 days" },
  { value: "365", label: "In a year" },
  { value: "0", label: "Never" },
];
