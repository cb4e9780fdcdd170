import { useQuery } from "@tanstack/react-query";
import { ask, queries, tell } from "../../../api.ts";

export type Member = {
  person_id: string;
  email: string;
  role: string;
  is_you: boolean;
  /** They have not chosen a password yet. */
  is_invited: boolean;
  has_factor: boolean;
  seen_at: string | null;
  created_at: string;
};

export type Role = { role: string; name: string; may: string[] };

export type Team = {
  members: Member[];
  roles: Role[];
  /** Who votes on a change; null while one admin decides alone. */
  voters: "members" | "with_operator" | null;
};

export function useTeam() {
  return useQuery({ queryKey: ["team"], queryFn: () => ask<Team>("/members") });
}

export function invite(body: { email: string; role: string; reason: string }) {
  return changed(tell<object>("/members", body));
}

export function changeMember(
  { person_id }: Member,
  body: { action: "set_role" | "remove" | "reset_factor"; role?: string; reason: string },
) {
  return changed(tell<object>(`/members/${person_id}/change`, body));
}

export function inviteAgain({ person_id }: Member) {
  return tell<object>(`/members/${person_id}/invite_again`, {});
}

async function changed(answer: Promise<object>): Promise<object> {
  const outcome = await answer;
  await queries.invalidateQueries({ queryKey: ["team"] });
  return outcome;
}
