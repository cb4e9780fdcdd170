import { type Content, type Detail, NOT_DESCRIBED } from "../../approvals/model.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import type { Session } from "../../platform/db/database.ts";
import { minorToText } from "../../platform/money.ts";
import { nameOfUser } from "../../users/model.ts";
import { findUser, toUsers } from "../../users/store.ts";
import { awaitsDocument, type GatePolicy } from "../gates.ts";
import type { Quote } from "./model.ts";
import { type CurrencySum, listQuoteSums } from "./payee-store.ts";
import {
  countOf,
  digestTerms,
  loadTerms,
  marksOf,
  moneyOf,
  type NameSource,
  type PayoutTerms,
  sumByCurrency,
  sumByPayee,
  textOf,
} from "./quote-terms.ts";

export type QuoteDescription = Pick<Content, "details" | "digest"> & {
  /** Why nobody can confirm it yet. */
  waits_for: string | null;
  summary: string;
};

/** The page of a proposal lists all payouts; the proposal itself stays small. */
const PAYOUTS_SHOWN = 20;

/**
 * A quote with more payouts is described by a task: others wait for the command that pays it, and
 * for 5,000 payouts that would be seconds.
 */
const DESCRIBED_AT_ONCE_MAX = 500;

/** What is shown until the task is done. Nobody can confirm it before. */
const BEING_LISTED = "Its payouts are still being listed.";

export function isDescribedLater({ offramp_count }: Pick<Quote, "offramp_count">): boolean {
  return offramp_count > DESCRIBED_AT_ONCE_MAX;
}

/** What a new proposal to pay the quote shows. */
export async function describeNewQuote(
  session: Session,
  names: NameSource & { policy: GatePolicy },
  quote: Quote,
  now: Date,
): Promise<QuoteDescription> {
  if (!isDescribedLater(quote)) return describeQuote(session, names, quote, now);
  const sums = await listQuoteSums(session, quote);
  return {
    summary: summaryOf(sums),
    details: [...(await describeHead(session, names, quote, sums)), ["To", BEING_LISTED]],
    waits_for: BEING_LISTED,
    digest: NOT_DESCRIBED,
  };
}

/** What members need to judge a quote: who pays whom, how much, what for, and with what. */
async function describeQuote(
  session: Session,
  names: NameSource & { policy: GatePolicy },
  quote: Quote,
  now: Date,
): Promise<QuoteDescription> {
  return describeTerms(session, names, quote, await loadTerms(session, names, quote, now));
}

/** The same with payouts that are already loaded. */
export async function describeTerms(
  session: Session,
  names: NameSource & { policy: GatePolicy },
  quote: Quote,
  terms: readonly PayoutTerms[],
): Promise<QuoteDescription> {
  const live = terms.filter(({ offramp }) => offramp.status !== "failed");
  const sums = sumByCurrency(live);
  const documented = live.filter(({ offramp }) => offramp.document_hash !== null).length;
  return {
    summary: summaryOf(sums),
    details: [
      ...(await describeHead(session, names, quote, sums)),
      ...describePayees(live),
      ["Documents", `${documented} of ${live.length}`],
      ...describePayouts(live),
    ],
    waits_for: awaitedDocuments(names.policy, live),
    digest: digestTerms(terms),
  };
}

function summaryOf(sums: readonly CurrencySum[]): string {
  const count = countOf(sums);
  const counted = count === 1 ? "1 payout" : `${count} payouts`;
  return `Pay ${counted} of a quote, ${textOf(sums)}.`;
}

async function describeHead(
  session: Session,
  { keys }: NameSource,
  quote: Quote,
  sums: readonly CurrencySum[],
): Promise<Detail[]> {
  const { account_id, user_id } = quote;
  const user_row = await findUser(session, { account_id, user_id });
  const [user] = toUsers(user_row ? [user_row] : [], keys);
  return [
    ["User", user ? nameOfUser(user) : user_id],
    ["Paid with", paidWith(quote)],
    ["Payouts", `${countOf(sums)}, in total ${textOf(sums)}`],
  ];
}

/** Members judge the documents too: a vote counts for those it was given with. */
function awaitedDocuments(policy: GatePolicy, live: readonly PayoutTerms[]): string | null {
  const awaited = live.filter(({ offramp }) => awaitsDocument(policy, offramp)).length;
  if (awaited === 0) return null;
  return `Documents of ${awaited} of ${live.length} payouts are still missing or being fetched.`;
}

function paidWith({ token_amount, deposit_token, deposit_token_chain }: Quote): string {
  const tokens = minorToText(token_amount, TOKEN_DIGITS);
  return `${tokens} ${deposit_token} on ${deposit_token_chain}`;
}

function describePayees(live: readonly PayoutTerms[]): Detail[] {
  const sums = sumByPayee(live);
  const counted = (noticed: readonly PayoutTerms[]) => {
    const total = textOf(sumByCurrency(noticed)) || "nothing";
    return `${sumByPayee(noticed).length} of ${sums.length}, ${total}`;
  };
  return [
    ["Payees never paid before", counted(live.filter((one) => one.is_new_payee))],
    ["Payees added in the last 24 hours", counted(live.filter((one) => one.is_recent_payee))],
  ];
}

/** The largest, and after them others to payees that members have to notice. */
function describePayouts(live: readonly PayoutTerms[]): Detail[] {
  const sorted = live.toSorted((a, b) =>
    a.offramp.token_amount > b.offramp.token_amount ? -1 : 1,
  );
  const others = sorted.slice(PAYOUTS_SHOWN).filter((one) => marksOf(one) !== "");
  const shown = [...sorted.slice(0, PAYOUTS_SHOWN), ...others.slice(0, PAYOUTS_SHOWN)];
  const left = live.length - shown.length;
  return [
    ...shown.map((one): Detail => ["To", describePayout(one)]),
    ...(left > 0 ? [["And", `${left} more: see the list of all payouts`] as const] : []),
  ];
}

function describePayout(one: PayoutTerms): string {
  const { destination_amount, destination_currency, rails, details, invoice_id } = one.offramp;
  const amount = moneyOf(destination_amount, destination_currency);
  const marks = marksOf(one);
  return [
    `${one.payee}: ${amount} by ${rails}`,
    ...(details.reference ? [`reference “${details.reference}”`] : []),
    ...(invoice_id ? [`invoice ${invoice_id}`] : []),
    ...(marks ? [marks] : []),
  ].join(", ");
}
