import type { SimulatedBank } from "./installation.ts";

/** `text`, which must stand exactly once in the file, is replaced. */
type Change = { file: string; text: string; instead: string };

/** A bug that is planted to show that the simulation finds it. */
export type Bug = Change & {
  name: string;
  also?: Change;
  /** It is found where payments go by files. */
  bank?: SimulatedBank;
};

export function changesOf({ also, bank: _, ...change }: Bug): Change[] {
  return also ? [change, also] : [change];
}

const lines = (...texts: readonly string[]) => texts.join("\n");

export const BUGS: readonly Bug[] = [
  {
    name: "rows are locked without a lock (quotes, onramps)",
    file: "src/platform/db/rows.ts",
    text: "const rest = `order by account_id, id for no key update of $",
    instead: "const rest = `order by account_id, id -- $",
  },
  {
    name: "the cursor moves before the page is handled",
    file: "src/partners/read-on.ts",
    text: lines(
      "    if (items.length > 0) await take(items, now, keepCursor);",
      "    if (cursor === null || cursor === before) return;",
      "    reached = cursor;",
      "    if (!is_kept) await updateCursor(database, cursor_name, cursor, now);",
    ),
    instead: lines(
      "    if (cursor !== null && cursor !== before)",
      "      await updateCursor(database, cursor_name, cursor, now);",
      "    if (items.length > 0) await take(items, now, keepCursor);",
      "    if (cursor === null || cursor === before) return;",
      "    reached = cursor;",
    ),
  },
  {
    name: "the idempotency key is not stored",
    file: "src/platform/commands/store.ts",
    text: "idempotency_index: command.idempotency?.index ?? null,",
    instead: "idempotency_index: null,",
  },
  {
    name: "a failed refund is not posted back",
    file: "src/balances/refund-task.ts",
    text: "  postEntries(tx, [refundFailed(refund)], now);\n",
    instead: "",
  },
  {
    name: "a refund that failed is owed twice",
    file: "src/ledger/balance-postings.ts",
    text: lines(
      "    [refundPending(refund.id), refund.token, refund.amount],",
      "    [owedTo(refund.user_id, refund.chain), refund.token, -refund.amount],",
    ),
    instead: lines(
      '    ["write_offs", refund.token, refund.amount],',
      "    [refundPending(refund.id), refund.token, refund.amount],",
      "    [owedTo(refund.user_id, refund.chain), refund.token, -2n * refund.amount],",
    ),
  },
  {
    name: "the fee has the wrong sign",
    file: "src/ledger/offramp-postings.ts",
    text: lines(
      '    ["fx_position", currency, offramp.destination_amount + offramp.fee],',
      "    [payoutPending(offramp.id), currency, -offramp.destination_amount],",
      '    ["fees", currency, -offramp.fee],',
    ),
    instead: lines(
      '    ["fx_position", currency, offramp.destination_amount - offramp.fee],',
      "    [payoutPending(offramp.id), currency, -offramp.destination_amount],",
      '    ["fees", currency, offramp.fee],',
    ),
  },
  {
    name: "the fee is rounded down",
    file: "src/prices/fees-and-minimums.ts",
    text: "  return roundUp(\n    share.numerator",
    instead: "  return ((a: bigint, b: bigint) => a / b)(\n    share.numerator",
  },
  {
    name: "the price in tokens is rounded down",
    file: "src/prices/fees-and-minimums.ts",
    text: "divideByRate(minor, digits, rate, TOKEN_DIGITS, roundUp);",
    instead: "divideByRate(minor, digits, rate, TOKEN_DIGITS, (a, b) => a / b);",
  },
  {
    name: "a refund is sent again after a crash",
    file: "src/balances/refund-task.ts",
    text: "  const key = refundKey({ account_id, id: record_id });\n",
    instead: lines(
      "  const again = task.attempts > 0 ? ':again' : '';",
      "  const key = refundKey({ account_id, id: record_id }) + again;",
      "",
    ),
  },
  {
    name: "an onramp is delivered again after a crash",
    file: "src/onramps/deliver-onramps.ts",
    text: "key: deliveryKey(onramp), ...paymentOf(onramp) });",
    instead: lines(
      'key: deliveryKey(onramp) + (onramp.delivery === "sending" ? ":2" : ""),',
      "    ...paymentOf(onramp) });",
    ),
  },
  {
    name: "a payout is submitted again under a new id",
    file: "src/offramps/payouts/send-payouts.ts",
    text: "      end_to_end_id: payout.end_to_end_id,",
    instead: lines(
      '      end_to_end_id: payout.status === "submitting"',
      '        ? payout.end_to_end_id.replace(/.$/, "9") : payout.end_to_end_id,',
    ),
  },
  {
    name: "the gate of identity is skipped before sending",
    file: "src/offramps/gates.ts",
    text: "    kycGate(policy, offramp, kyc, own?.kyc_review_by_account) ??\n",
    instead: "",
  },
  {
    name: "a frozen user is not held",
    file: "src/users/clearance.ts",
    text: "  if (kyc.is_frozen) return [frozenProblem(field)];\n",
    instead: "",
  },
  {
    name: "approval by two members is not awaited",
    file: "src/offramps/gates.ts",
    text: '  if (facts.approval_status !== null && facts.approval_status !== "done") {',
    instead: '  if (facts.approval_status === ("never" as never)) {',
  },
  {
    name: "reserved coins can be refunded",
    file: "src/balances/refund-balances.ts",
    text: "  if (amount > balance - reserved) {",
    instead: "  if (amount > balance) {",
  },
  {
    name: "a millionth more than is owed can be refunded",
    file: "src/balances/refund-balances.ts",
    text: "  const balance = balances.get(owed_key!) - (taken.get(name) ?? 0n);",
    instead: "  const balance = balances.get(owed_key!) - (taken.get(name) ?? 0n) + 1n;",
  },
  {
    name: "a quote can be executed after its expiry",
    file: "src/offramps/quotes/execute-quotes.ts",
    text: "(quote.tx_id === null && now >= quote.expires_at)",
    instead: "(quote.tx_id === null && now > new Date(quote.expires_at.getTime() + 3_600_000))",
  },
  {
    name: "a deposit that came late keeps the rate",
    file: "src/offramps/quotes/fund-from-deposits.ts",
    text: "    (had + deposited.in_time) * 100n >= quote",
    instead: "    (had + deposited.in_all) * 100n >= quote",
  },
  {
    name: "what came back of a return is given back in full",
    file: "src/offramps/give-up.ts",
    text: "came_back ? refundWorth(offramp, came_back.returned, rate!) : offramp.token_amount;",
    instead: "offramp.token_amount;",
  },
  {
    name: "the shortfall is never deducted",
    file: "src/offramps/give-up.ts",
    text: "  const deducted = minOf(quote.shortfall, worth);",
    instead: "  const deducted = minOf(0n, worth);",
  },
  {
    name: "a deposit before the execution is forgotten",
    file: "src/offramps/quotes/execute-quotes.ts",
    text: "    enqueueTasks(tx, FUND_QUOTE_TASK, quotes, now);\n",
    instead: "",
  },
  {
    name: "a change writes no event",
    file: "src/offramps/record-changes.ts",
    text: "  offrampEvents(tx, renderer, changes, now);\n  recordPayments",
    instead: "  offrampEvents(tx, renderer, changes.slice(1), now);\n  recordPayments",
  },
  {
    name: "events of a record come out of order",
    file: "src/webhooks/fan-out.ts",
    text: "own.sort((a, b) => a.sequence - b.sequence);",
    instead: "own.sort((a, b) => b.sequence - a.sequence);",
  },
  {
    name: "a failed delivery counts as delivered",
    file: "src/webhooks/delivery/outcome.ts",
    text: lines(
      '    status: is_success ? "delivered" : next_attempt_at ? "pending" : "failed",',
      "    reason: error,",
      "    next_attempt_at,",
    ),
    instead: '    status: "delivered",\n    reason: error,\n    next_attempt_at: null,',
  },
  {
    name: "a block of events is skipped",
    file: "src/webhooks/fan-out.ts",
    text: lines(
      "    handOver(",
      "      tx,",
      "      deliveries.filter((delivery) => delivery.account_id === account_id),",
      "      now,",
      "    );",
    ),
    instead: lines(
      "    if (block.number % 3n !== 0n)",
      "      handOver(",
      "        tx,",
      "        deliveries.filter((delivery) => delivery.account_id === account_id),",
      "        now,",
      "      );",
    ),
  },
  {
    name: "a short payment pays an onramp",
    file: "src/onramps/model.ts",
    text: "  if (amount === onramp.deposit_amount) return null;",
    instead: "  if (amount >= onramp.deposit_amount - 1n) return null;",
  },
  {
    name: "a second payment of an onramp is taken, too",
    file: "src/onramps/model.ts",
    text: '  if (onramp.status !== "initiated") return "double";',
    instead: '  if (onramp.status === "crypto_sent" && deposit.amount < 0n) return "double";',
  },
  {
    name: "a return is booked without the bank's amount",
    file: "src/ledger/offramp-postings.ts",
    text: "  const credited = minOf(returned, destination_amount);",
    instead: "  const credited = destination_amount;\n  returned = destination_amount;",
  },
  {
    name: "neither account nor user is locked before a balance is read",
    file: "src/users/store.ts",
    text: "order by account_id, id for no key update of users`",
    instead: "order by account_id, id`",
    also: {
      file: "src/accounts/controls-store.ts",
      text: "order by account_id for no key update`",
      instead: "order by account_id`",
    },
  },
  {
    name: "a file is called written before the bank can take it",
    bank: "files",
    file: "src/partners/bank/file-bank/write-files.ts",
    text: lines(
      "  await outbox.place(temporary_name, nameOf(file));",
      "  await updateToWritten(deps.database, file.id, now);",
    ),
    instead: lines(
      "  await updateToWritten(deps.database, file.id, now);",
      "  await outbox.place(temporary_name, nameOf(file));",
    ),
  },
  {
    name: "what a statement says came back is taken as all of it",
    bank: "files",
    file: "src/partners/bank/file-bank/match-entry.ts",
    text: "  const { amount, currency, reasons, bank_account } = entry;",
    instead: lines(
      "  const { currency, reasons, bank_account } = entry;",
      "  const { amount } = payment;",
    ),
  },
  {
    name: "what is on hold leaves in a file",
    bank: "files",
    file: "src/partners/bank/file-bank/close-files.ts",
    text: "  if (stopped.length === 0) return false;",
    instead: "  if (stopped.length >= 0) return false;",
  },
  {
    name: "a booking of a statement is taken for a rejection",
    bank: "files",
    file: "src/partners/bank/file-bank/match-entry.ts",
    text: 'const answer = { ...answerTo(payment, "booked"), bank_reference: lineName(entry) };',
    instead:
      'const answer = { ...answerTo(payment, "rejected"), bank_reference: lineName(entry) };',
  },
  {
    name: "what a statement says came back counts as paid",
    bank: "files",
    file: "src/partners/bank/file-bank/match-entry.ts",
    text: 'const answer = { ...answerTo(payment, "returned"), bank_account, amount, currency, reasons };',
    instead:
      'const answer = { ...answerTo(payment, "booked"), bank_account, amount, currency, reasons };',
  },
  {
    name: "the rejection of one payment rejects its file",
    bank: "files",
    file: "src/partners/bank/file-bank/match-entry.ts",
    text: '  if (status.level === "payment") return find.byIds(status);',
    instead: '  if (status.level === "payment") return find.ofFile(status.message_id ?? "");',
  },
];
