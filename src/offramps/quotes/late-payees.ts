import { findKeyCreators } from "../../accounts/api-key-store.ts";
import { listLastAuditRows } from "../../accounts/audit-store.ts";
import { isCoolingOff } from "../../approvals/cooling-off.ts";
import { NOT_DESCRIBED, runProposalKind } from "../../approvals/model.ts";
import { newProposal, recordProposals } from "../../approvals/record-proposals.ts";
import type { NewProposal } from "../../approvals/store.ts";
import type { ApprovalRules } from "../../approvals/with-approval.ts";
import { hasGoneBack } from "../../balances/sender-store.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { Transaction } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import type { GatePolicy } from "../gates.ts";
import { describeNewQuote } from "./describe-quote.ts";
import type { Quote } from "./model.ts";
import { findNewestPayee } from "./payee-store.ts";

/** The kind of proposals to pay the offramps of a quote. */
export const PAY_QUOTE = "pay-quote";

export const COOLING_OFF = "It pays a payment detail that was created recently.";

export type LatePayeeDeps = {
  approvals: ApprovalRules;
  catalogue: Catalogue;
  policy: GatePolicy;
  keyring: Keyring;
};

/**
 * When the newest payee was created to whom a payout was added after coins had come. Such coins
 * are money that was there, as in a balance: whoever adds a payee after the deposit names a new
 * destination for it. Once the quote's own coins went back to their sender, other coins of the
 * balance pay it, and so all of its payees count.
 */
export async function findLatePayees(
  tx: Transaction,
  { cooling_off_ms, index_key }: ApprovalRules,
  quote: Quote,
): Promise<Date[]> {
  if (cooling_off_ms === 0 || quote.received === 0n) return [];
  const { deposit_token: token, deposit_token_chain: chain, received, token_amount } = quote;
  const excess = received > token_amount ? received - token_amount : 0n;
  const money = { ...quote, token, chain, excess };
  const is_from_others = await hasGoneBack(tx, index_key, quote.id, money);
  const newest_at = await findNewestPayee(tx, quote, is_from_others);
  return newest_at ? [newest_at] : [];
}

export function isAnyCoolingOff(rules: ApprovalRules, times: readonly Date[]): boolean {
  return times.some((time) => isCoolingOff(rules, time, rules.now()));
}

/**
 * Coins may be credited long after they were mined, and the quote executed in between without them:
 * that a payee was added after them shows only now. Records the proposal that the execution did not
 * need yet, and returns the quote with it.
 */
export async function proposeLatePayees(
  tx: Transaction,
  { approvals, catalogue, policy, keyring }: LatePayeeDeps,
  quote: Quote,
  now: Date,
): Promise<Quote> {
  if (quote.proposal_id !== null) return quote;
  if (!isAnyCoolingOff(approvals, await findLatePayees(tx, approvals, quote))) return quote;
  const { account_id, user_id, deposit_token: currency } = quote;
  const keys = await keyring.openUserKeys(tx, [{ account_id, user_id }]);
  const names = { catalogue, policy, keyring, keys };
  const { summary, ...described } = await describeNewQuote(tx, names, quote, now);
  const toUsd = await approvals.usdValue(tx);
  const amount = quote.token_amount - quote.token_fees;
  const amount_usd = toUsd({ amount, currency, is_paid_out: true });
  const proposed = { account_id, kind: PAY_QUOTE, record_id: quote.id, amount_usd, summary };
  const made = newProposal({ ...proposed, voters: "members" }, "worker", null, now);
  const proposal = { ...made, proposed_by_person: await findWhoAsked(tx, quote) };
  const content = { ...described, input: null, why: COOLING_OFF };
  const key = keys.get(account_id, user_id)!;
  const added = { proposal, proposer: null, content, subject_id: user_id, key };
  recordQuoteProposals(tx, [added], now);
  return { ...quote, proposal_id: proposal.id, approval_status: "pending" };
}

/** Those that are not described yet have a task that does it. */
export function recordQuoteProposals(
  tx: Transaction,
  added: readonly NewProposal[],
  now: Date,
): void {
  recordProposals(tx, added, now);
  const later = added.filter(({ content }) => content.digest === NOT_DESCRIBED);
  const proposals = later.map(({ proposal }) => proposal);
  enqueueTasks(tx, runProposalKind(PAY_QUOTE), proposals, now);
}

/** The member who executed or funded the quote, or created the key that did: never votes last. */
async function findWhoAsked(tx: Transaction, { account_id, id }: Quote): Promise<string | null> {
  const records = [{ account_id, record: `quote:${id}` }];
  const [asked] = await listLastAuditRows(tx, records, ["quote.execute", "quote.fund"]);
  const [kind, actor_id = ""] = asked?.actor.split(":") ?? [];
  if (kind === "member") return actor_id;
  return (await findKeyCreators(tx, [actor_id])).get(actor_id) ?? null;
}
