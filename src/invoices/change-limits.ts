import type { Problem } from "../platform/errors.ts";
import type { ChangeInput, ChangeName, Invoice, InvoiceChange } from "./model.ts";

/** What a party can make again and again by itself; all else answers such a change, once. */
const REPEATED: readonly ChangeName[] = [
  "changePaymentOptions",
  "declareSentPayment",
  "declareReceivedPayment",
];
/** Nothing follows them, so that they are made once. */
const LAST: readonly ChangeName[] = ["reject", "cancel"];

const TIMES_MAX = 100;
/** In bytes: each change stores the invoice for both parties. */
const STORED_MAX = 5_000_000;
/** Of what one party has written into the history, which every answer and event contains. */
const WRITTEN_MAX = 100_000;

/** Whether something that stores an invoice of this size each time was done often enough. */
export function isOften(times: number, size: number): boolean {
  return times >= TIMES_MAX || times * size >= STORED_MAX;
}

type WantedAct = {
  name: ChangeName | null;
  input: ChangeInput | null;
  /** Null for a party without an account here. */
  actor_account_id: string | null;
};

/**
 * What can be repeated ends at a limit, for each party and change by itself: neither uses up the
 * other's. Whoever answers the other party is never refused: a seller can always declare that a
 * payment was received, or not, after the buyer has declared it sent.
 */
export function limitProblems(
  { document, status }: Pick<Invoice, "document" | "status">,
  history: readonly InvoiceChange[],
  { name, input, actor_account_id }: WantedAct,
): Problem[] {
  if (name === null || LAST.includes(name)) return [];
  const own = history.filter((change) => change.actor_account_id === actor_account_id);
  if (REPEATED.includes(name) && status !== "declaredPaid") {
    const times = own.filter(
      (change) => change.name === name && change.from_status !== "declaredPaid",
    ).length;
    if (isOften(times, Buffer.byteLength(JSON.stringify(document))))
      return [limited("type", TOO_OFTEN)];
  }
  const written = own.reduce(
    (sum, change) => sum + (change.input === null ? 0 : JSON.stringify(change.input).length),
    0,
  );
  if (input === null || written < WRITTEN_MAX) return [];
  return name === "changePaymentOptions"
    ? [limited("type", TOO_OFTEN)]
    : [limited("input", TOO_MUCH)];
}

const TOO_OFTEN = "You have changed this invoice too often for this change.";
const TOO_MUCH =
  "Your changes of this invoice contain too much text for another input; leave it out.";

function limited(field: string, message: string): Problem {
  return { field, code: "limit_exceeded", message };
}
