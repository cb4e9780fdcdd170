import type { QuoteWithOfframps } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";

/** Payouts of a quote with one state and currency. */
export type Progress = { status: string; currency: string; payouts: number; amount: string };

export type QuoteOnPage = Omit<QuoteWithOfframps, "offramps"> & {
  /** In tokens: what counts for its payouts, and what is still to be paid. */
  received: string;
  missing: string;
  is_funded: boolean;
  rest_until: string;
  payouts: number;
  progress: Progress[];
  names: Names;
};

/** A quote with everything that its page shows. */
export function useQuote(id: string) {
  return useQuery({
    // Payouts of the quote change what it shows.
    queryKey: ["payouts", "quote", id],
    queryFn: async (): Promise<QuoteOnPage> => {
      const shown = await ask<Omit<QuoteOnPage, "names">>(`/quotes/${encodeURIComponent(id)}`);
      return { ...shown, names: await loadNames({ users: [shown.quote.user_id] }) };
    },
  });
}

export function nameOfPayer({ quote, names }: QuoteOnPage): string {
  return names.users[quote.user_id]?.name ?? "Erased";
}

/** One sentence: where the quote is, and what comes next. */
export function explainQuote(shown: QuoteOnPage): string {
  const { quote, approval, crypto_transfer, is_funded, payouts } = shown;
  if (quote.status === "expired") {
    return "It expired before it was paid. Create a new quote for its payouts.";
  }
  if (quote.status === "failed") {
    return "Not paid in time: its payouts have failed, and what arrived is owed to the payer.";
  }
  if (approval?.status === "pending") {
    return "Paid out as soon as other members have approved it.";
  }
  if (is_funded) return explainPaid(shown);
  if (quote.status === "executed") {
    const named = crypto_transfer ? "The transfer is named" : "It is partly paid from the balance";
    return `${named}; the payouts begin when the whole amount has arrived.`;
  }
  return payouts === 0
    ? "Its rates are locked. Add payouts, then pay for them before it expires."
    : "Its rates are locked. Send the coins and name the transfer, or pay from the balance.";
}

/** Payouts that will not change by themselves. */
export function countEnded({ progress }: Pick<QuoteOnPage, "progress">): number {
  return ["fiat_sent", "failed", "bounced"].reduce(
    (sum, status) => sum + countOf(progress, status),
    0,
  );
}

/** Paid for, and every payout has ended. */
export function isFinished(shown: Pick<QuoteOnPage, "is_funded" | "payouts" | "progress">) {
  return shown.is_funded && shown.payouts > 0 && countEnded(shown) === shown.payouts;
}

function explainPaid(shown: QuoteOnPage): string {
  const { progress } = shown;
  const held = countOf(progress, "ongoing_checks");
  const returned = countOf(progress, "bounced");
  const open = [
    ...(held > 0 ? [`${held} ${held === 1 ? "is" : "are"} held`] : []),
    ...(returned > 0 ? [`${returned} came back`] : []),
  ];
  if (open.length === 0) {
    return isFinished(shown)
      ? "Paid, and all its payouts have ended."
      : "Paid. Its payouts are on their way to their banks.";
  }
  return `Paid. Of its payouts ${open.join(", and ")}: open them to see why.`;
}

function countOf(progress: readonly Progress[], status: string): number {
  const counts = progress.filter((one) => one.status === status).map(({ payouts }) => payouts);
  return counts.reduce((sum, count) => sum + count, 0);
}
