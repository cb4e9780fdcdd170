/**
 * What to do about a payment that was rejected or returned:
 * - `other_account`: pay to another account
 * - `correct`: correct the payment detail, and pay again
 * - `later`: pay again as it is
 * - `own_fault`: the payment detail is right; the operator's file or settings are not
 * - `operator`: do not pay again before a person has looked at it; it may be paid already
 */
const ACTIONS = ["other_account", "correct", "later", "own_fault", "operator"] as const;
export type ReasonAction = (typeof ACTIONS)[number];

/** The clause that completes "The bank returned the payment because …". */
type Reason = { action: ReasonAction; because: string };

export type ReasonTable = ReadonlyMap<string, Reason>;

/** A table from lines of code and clause, under the action that they share. */
export function reasonTable(text: string): ReasonTable {
  const table = new Map<string, Reason>();
  for (const part of text.trim().split("\n\n")) {
    const [name, ...lines] = part.split("\n");
    const action = ACTIONS.find((known) => known === name);
    if (!action) throw new Error(`no such action: ${name}`);
    for (const line of lines) table.set(line.slice(0, CODE_LENGTH).trim(), clause(action, line));
  }
  return table;
}

const CODE_LENGTH = 4;

function clause(action: ReasonAction, line: string): Reason {
  return { action, because: line.slice(CODE_LENGTH).trim() };
}
