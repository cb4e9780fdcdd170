import { createContext, useContext } from "react";
import type { Problem } from "./api.ts";
import type { Change } from "./server-state.ts";
import type { KycState } from "./state.ts";
import type { PlaceName } from "./step-list.ts";
import { texts } from "./texts.ts";

/** What every step uses. */
export type Session = {
  state: KycState;
  change: Change;
  is_lost: boolean;
  go: (place: PlaceName) => void;
  /** Saves run one after another, in the order of the calls. */
  save: (identity: Record<string, string | null>) => Promise<void>;
  /** The server's problems after submitting, by field or file, until the value changes. */
  problems: Record<string, string>;
  setProblems: (problems: Record<string, string>) => void;
  /** Ends the session on the page: the link has expired or was replaced. */
  fail: (error: unknown) => void;
  /** Announces a text to screen readers. */
  announce: (text: string) => void;
};

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("A step stands outside of a session.");
  return session;
}

/** The server's message, unless the page has a simpler one. */
export function wordsFor({ code, message }: Problem): string {
  if (code === "too_many_requests") return texts.problems.busy;
  return message || texts.problems.unknown;
}

export function inWords(problems: Readonly<Record<string, Problem>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(problems).map(([name, problem]) => [name, wordsFor(problem)]),
  );
}
