import { chainName } from "../../parts/chain-name.ts";
import { formatAmount } from "../../parts/format-amount.ts";
import { plainText } from "../../parts/plain-text.ts";
import { statusFamily } from "../../parts/status-chip.tsx";
import type { HistoryStep, Payout } from "./payout.ts";
import { actorOf, sentenceOf } from "./sentences.ts";

/** One line of the timeline. */
export type TimelineStep = {
  id: string;
  at: string;
  what: string;
  why: string | null;
  who: string | null;
  /** What is searched for elsewhere: at the bank, or on the chain. */
  copied: { name: string; text: string } | null;
  is_change: boolean;
  family: string;
};

type Attempt = Payout["attempts"][number];

const PLAIN = { why: null, who: null, copied: null, is_change: false, family: "quiet" };

/** Changes, postings, decisions, the coins that arrived, and each try to pay; newest first. */
export function stepsOf(payout: Payout): TimelineStep[] {
  const steps = [
    ...withoutRepeats(payout.history).map((item) => toStep(item, payout)),
    ...payout.attempts.map((attempt) => fromAttempt(attempt, payout)),
    ...payout.deposits.map(fromDeposit),
  ];
  return steps.sort((a, b) => b.at.localeCompare(a.at));
}

/** A change that leaves the state alone says why only if the reason is new. */
function withoutRepeats(history: readonly HistoryStep[]): HistoryStep[] {
  const events = history.filter(({ kind }) => kind === "event");
  return history.map((item) => {
    const before = events[events.indexOf(item) + 1];
    const isRepeated = item.kind === "event" && before !== undefined && before.why === item.why;
    return isRepeated && item.before === item.after ? { ...item, why: null } : item;
  });
}

function toStep(item: HistoryStep, { names }: Payout): TimelineStep {
  const { id, at, kind, before, after, why } = item;
  const is_change = kind === "event" && before !== after;
  const family = is_change && after ? statusFamily(after) : "quiet";
  const reason = kind === "posting" || why === null ? null : plainText(why);
  const what = sentenceOf(item);
  return { ...PLAIN, id, at, what, why: reason, who: actorOf(item, names), is_change, family };
}

const OUTCOMES: Readonly<Record<Attempt["status"], string>> = {
  recorded: "Not given to the bank yet.",
  submitting: "Being given to the bank.",
  sent: "The bank has it, and has not said yet that it was paid.",
  booked: "The bank paid it.",
  returned: "It came back.",
  rejected: "The bank refused it.",
};

function fromAttempt(tried: Attempt, { names, offramp }: Payout): TimelineStep {
  const { at, attempt, end_to_end_id, payment_detail_id, status, returned_amount } = tried;
  const detail = names.payment_details[payment_detail_id];
  const payee = detail ? `${detail.holder}, ${detail.bank} ··${detail.account}` : "Erased";
  const currency = offramp.destination_currency;
  const outcome =
    returned_amount === null
      ? OUTCOMES[status]
      : `${formatAmount(returned_amount, currency)} ${currency.toUpperCase()} came back.`;
  return {
    ...PLAIN,
    id: `attempt ${attempt}`,
    at,
    what: `Attempt ${attempt} to pay`,
    why: `To ${payee}. ${outcome}`,
    copied: { name: "End-to-end id", text: end_to_end_id },
  };
}

function fromDeposit(deposit: Payout["deposits"][number]): TimelineStep {
  const { id, at, amount, token, chain, tx_id } = deposit;
  const coins = `${formatAmount(amount, token)} ${token.toUpperCase()}`;
  return {
    ...PLAIN,
    id,
    at,
    what: `${coins} arrived for the quote on ${chainName(chain)}`,
    copied: { name: "Transaction", text: tx_id },
  };
}
