import { createContext, useContext } from "react";
import type { Problem } from "./api.ts";
import type { Run } from "./connection.ts";
import type { KycState } from "./state.ts";
import type { PlaceName } from "./step-list.ts";
import { texts } from "./texts.ts";

/** What every step works with. */
export type Session = {
  state: KycState;
  /** Takes over what the server answered. */
  update: (state: KycState) => void;
  run: Run;
  is_lost: boolean;
  go: (place: PlaceName) => void;
  /** Saves one after the other, in the order in which they were asked for. */
  save: (identity: Record<string, string | null>) => Promise<void>;
  /** What the server found wrong when all was sent, by field or file, until it is changed. */
  problems: Record<string, string>;
  setProblems: (problems: Record<string, string>) => void;
  /** Ends the session on the page: the link has expired or was replaced. */
  fail: (error: unknown) => void;
  /** Says something to those who listen to the page. */
  announce: (text: string) => void;
};

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("A step stands outside of a session.");
  return session;
}

/** The server's words, except where the page has plainer ones. */
export function wordsFor({ code, message }: Problem): string {
  if (code === "too_many_requests") return texts.problems.busy;
  return message || texts.problems.unknown;
}

export function inWords(problems: Readonly<Record<string, Problem>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(problems).map(([name, problem]) => [name, wordsFor(problem)]),
  );
}
