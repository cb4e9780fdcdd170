import type { HistoryItem, Offramp } from "@sliproad/sdk";
import type { Names } from "../../names.ts";
import { plainText } from "../../parts/plain-text.ts";
import { statusName } from "../../parts/status-chip.tsx";
import { referencesIn } from "./payout.ts";

type Status = Offramp["status"];

/** What a state means where the payout itself does not say more. */
const MEANINGS: Record<Status, string> = {
  initiated: "Nothing is reserved yet. It is paid once its quote is executed.",
  pending_internal_assessment:
    "Its quote is executed. It goes on by itself as soon as the coins have arrived.",
  ongoing_checks: "It is checked before any money leaves. It goes on by itself.",
  sending_fiat: "The bank has been asked to pay. Its confirmation comes next.",
  fiat_sent: "The bank confirmed the payment. The receiving bank can still return it for weeks.",
  bounced: "The money came back. Send it to another account, or refund it.",
  failed: "It ended without being paid.",
};

/** Why the payout is where it is, and what comes next. */
export function explain({ status, status_message }: Offramp): string {
  return status_message === null ? MEANINGS[status] : plainText(status_message);
}

const BECAME: Record<Status, string> = {
  initiated: "Created",
  pending_internal_assessment: "Its quote was executed",
  ongoing_checks: "Held for checks",
  sending_fiat: "Given to the bank",
  fiat_sent: "The bank confirmed the payment",
  bounced: "The bank sent the money back",
  failed: "Ended without being paid",
};

const ACTS: Readonly<Record<string, string>> = {
  "document.attach": "Document attached",
  "document.approved": "Document approved",
  "document.rejected": "Document rejected",
  "document.read": "Document opened",
  "quote.execute": "Quote executed",
  "quote.fund": "Quote paid from the balance",
  "offramp.reroute": "Sent to another account",
  "offramp.refund": "Refunded",
  "offramp.remove": "Removed from its quote",
  "payout.unanswered": "The bank has not answered in time",
  "rate.confirm": "Rate confirmed",
  "proposal.create": "Approval asked for",
};

const PROPOSALS: Readonly<Record<string, string>> = {
  "pay-quote": "Approval asked for: pay the quote",
  "refund-offramps": "Approval asked for: refund",
  "reroute-offramps": "Approval asked for: send to another account",
  "review-documents": "Approval asked for: document",
};

const POSTINGS: Readonly<Record<string, string>> = {
  quote_funded: "Coins set aside for the quote",
  offramp_funded: "Coins set aside for this payout",
  payout_instructed: "Coins exchanged, fee taken",
  payout_funded: "Coins set aside and exchanged, fee taken",
  payout_booked: "Money left the bank account",
  payout_returned: "Money back in the bank account",
  payout_rerouted: "Cost of the return covered",
  offramp_failed_before_instruction: "Coins given back to the payer's balance",
  offramp_failed_after_instruction: "Coins given back to the payer's balance",
  offramp_failed_after_return: "Value given back to the payer's balance",
};

/** One item of the history as a sentence. */
export function sentenceOf({ kind, what, before, after }: HistoryItem): string {
  if (kind === "posting") return POSTINGS[what] ?? inWords(what);
  if (kind === "proposal") return PROPOSALS[what] ?? inWords(what);
  if (kind === "vote") return what === "confirm" ? "Confirmed by a member" : inWords(what);
  if (kind === "act") return ACTS[what] ?? inWords(what);
  if (after === null) return inWords(what);
  if (before === after) return "Details changed";
  return BECAME[after as Status] ?? `Became ${statusName(after)}`;
}

/** Who did it, by name; null where only the books changed. */
export function actorOf({ who, kind }: HistoryItem, names: Names): string | null {
  if (who === null) return kind === "posting" ? null : "Sliproad";
  return referencesIn(who)
    .map(({ kind: actor, id }) => names.actors[id] ?? describe(actor, id))
    .join(" or ");
}

function describe(kind: string, id: string): string {
  if (kind === "worker") return "Sliproad";
  const name = kind === "api_key" ? "API key" : inWords(kind);
  return id ? `${name} …${id.slice(-8)}` : name;
}

/** `offramp.remove` → Offramp remove. */
function inWords(name: string): string {
  const words = name.replaceAll(/[._-]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
