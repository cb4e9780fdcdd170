import { useQuery } from "@tanstack/react-query";
import { ask, queries, tell } from "../../../api.ts";
import { session } from "../../../session.ts";

export type SignedIn = {
  id: string;
  device: string;
  network: string;
  account_name: string;
  created_at: string;
  used_at: string;
  is_this: boolean;
};

export type Consent = {
  app_id: string;
  account_id: string;
  person_id: string;
  app_name: string;
  owner_name: string;
  account_name: string;
  email: string;
  created_at: string;
  is_yours: boolean;
};

export type Security = {
  /** When the authenticator app was set up; null without one. */
  app_since: string | null;
  passkeys: number;
  is_factor_needed: boolean;
  recovery_codes_left: number;
  sessions: SignedIn[];
  consents: Consent[];
  approval: { above_usd: string | null; is_own: boolean; may_propose: boolean };
};

export function useSecurity() {
  return useQuery({ queryKey: ["security"], queryFn: () => ask<Security>("/security") });
}

/** The server's own page takes the form; success is its redirect. */
export async function endSessions(which: { id: string } | "others"): Promise<void> {
  const path = which === "others" ? "end-others" : "end";
  const fields: Record<string, string> = which === "others" ? {} : { session_id: which.id };
  const answer = await fetch(`/dashboard/security/sessions/${path}`, {
    method: "POST",
    redirect: "manual",
    headers: { accept: "text/html" },
    body: new URLSearchParams({ csrf: session.csrf, ...fields }),
  });
  if (answer.type !== "opaqueredirect") throw new Error("The session was not ended.");
  await queries.invalidateQueries({ queryKey: ["security"] });
}

export async function revokeConsent(consent: Consent): Promise<void> {
  const { app_id, account_id, person_id } = consent;
  await tell("/consents/revoke", { app_id, account_id, person_id });
  await queries.invalidateQueries({ queryKey: ["security"] });
}

export function proposeAmount(above_usd: number | null, reason: string): Promise<object> {
  return tell<object>("/approval_amount", { above_usd, reason });
}
