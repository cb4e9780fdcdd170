import { isPayment, perDayMax, type Spending, spendingOf } from "./check-request.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import type { SignerChain } from "./load-signer.ts";
import { SigningRefused, type SignRequest } from "./port.ts";
import { actionText, parseAction } from "./request-text.ts";
import { senderOf } from "./transaction.ts";

type Spent = { at_ms: number; amount: bigint };

/** What was signed: one action for each nonce, one nonce for each payment, the last 24 hours. */
type History = {
  /** Whether this is the action of its nonce. */
  has(request: SignRequest): boolean;
  /**
   * Writes the action of a new nonce to the journal; then it may be signed. Throws SigningRefused
   * where the nonce has another action, the payment has another nonce, or the limit of a day would
   * be exceeded.
   */
  record(chain: SignerChain, request: SignRequest, now: Date): void;
};

const DAY_MS = 24 * 60 * 60 * 1000;
const KEPT_DAYS = 30;
const CANCEL = actionText({ kind: "cancel" });

export function openHistory(journal: Journal, treasury: string): History {
  const actions = new Map<string, { action: string; reference: string | null }>();
  const nonces = new Map<string, JournalEntry>();
  const spent = new Map<string, Spent[]>();

  const remember = (entry: JournalEntry) => {
    const key = nonceKey(entry);
    const is_new = !actions.has(key);
    if (is_new || entry.action === CANCEL) actions.set(key, entry);
    if (entry.reference !== null) nonces.set(entry.reference, entry);
    const spending = spendingOf(entry.from, treasury, parseAction(entry.action));
    if (!is_new || !spending) return;
    const list = spent.get(spentKey(entry, spending)) ?? [];
    list.push({ at_ms: entry.at.getTime(), amount: spending.amount });
    spent.set(spentKey(entry, spending), list);
  };

  const checkDay = (chain: SignerChain, spending: Spending, now: Date) => {
    const key = spentKey(chain, spending);
    const since = (days: number) => {
      const since_ms = now.getTime() - days * DAY_MS;
      return (spent.get(key) ?? []).filter(({ at_ms }) => at_ms > since_ms);
    };
    const recent = since(1);
    // Longer than a day: a clock that is ahead for a while must not end the day for good.
    spent.set(key, since(KEPT_DAYS));
    const { of, amount } = spending;
    const sum = recent.reduce((total, one) => total + one.amount, amount);
    const max = perDayMax(chain, of);
    if (sum <= max) return;
    throw new SigningRefused(
      `${sum} of ${of} on chain ${chain.chain_id} within 24 hours is more than the limit, ${max}.`,
    );
  };

  const toEntry = (request: SignRequest, at: Date): JournalEntry => {
    const { chain_id, nonce } = request;
    const from = senderOf(request, treasury);
    const reference = isPayment(request) ? request.reference : null;
    return { at, chain_id, from, nonce, action: actionText(request.action), reference };
  };

  for (const entry of journal.entries) remember(entry);
  return {
    has: (request) => {
      const entry = toEntry(request, new Date(0));
      const known = actions.get(nonceKey(entry));
      return known?.action === entry.action && known.reference === entry.reference;
    },
    record: (chain, request, now) => {
      const entry = toEntry(request, now);
      const { chain_id, from, nonce, action, reference } = entry;
      if (actions.has(nonceKey(entry)) && action !== CANCEL) {
        throw new SigningRefused(
          `Nonce ${nonce} of ${from} on chain ${chain_id} was already used for another action.`,
          true,
        );
      }
      const paid = reference === null ? undefined : nonces.get(reference);
      if (paid) {
        throw new SigningRefused(
          `${reference} was signed on ${paid.at.toISOString()} with nonce ${paid.nonce} of chain ` +
            `${paid.chain_id}: it may be paid. See docs/guides/chains.md.`,
        );
      }
      const spending = spendingOf(from, treasury, request.action);
      if (spending) checkDay(chain, spending, now);
      journal.append(entry);
      remember(entry);
    },
  };
}

function nonceKey({ chain_id, from, nonce }: JournalEntry): string {
  return `${chain_id} ${from} ${nonce}`;
}

function spentKey({ chain_id }: { chain_id: number }, { of }: Spending): string {
  return `${chain_id} ${of}`;
}
