import type { Detail } from "../../approvals/model.ts";
import type { Catalogue } from "../../catalogue/catalogue.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { payeeOf } from "../../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../../payment-details/store.ts";
import type { Session } from "../../platform/db/database.ts";
import type { SubjectKeys } from "../../platform/encryption/keyring.ts";
import { minorToText } from "../../platform/money.ts";
import { digestOf } from "../../platform/sealing/seal.ts";
import { nameOfUser } from "../../users/model.ts";
import { findUser, toUsers } from "../../users/store.ts";
import { listQuoteTerms, type OfframpTerms } from "../store.ts";
import type { Quote } from "./model.ts";

export type QuoteDescription = {
  summary: string;
  details: Detail[];
  /** Covers who gets how much: what the members approve. */
  digest: string;
};

const PAYEES_SHOWN = 20;

/** What members need to judge a quote: who pays whom, how much, and with what. */
export async function describeQuote(
  session: Session,
  catalogue: Catalogue,
  keys: SubjectKeys,
  quote: Quote,
): Promise<QuoteDescription> {
  const { account_id, id, user_id, deposit_token, deposit_token_chain } = quote;
  const terms = await listQuoteTerms(session, account_id, id);
  const live = terms.filter(({ status }) => status !== "failed");
  const shown = live.toSorted((a, b) => (a.token_amount > b.token_amount ? -1 : 1));
  const largest = shown.slice(0, PAYEES_SHOWN);
  const [user_row, detail_rows] = await Promise.all([
    findUser(session, { account_id, user_id }),
    findPaymentDetails(
      session,
      largest.map(({ payment_detail_id }) => ({ account_id, id: payment_detail_id })),
    ),
  ]);
  const [user] = toUsers(user_row ? [user_row] : [], keys);
  const details_by_id = new Map(toPaymentDetails(detail_rows, keys).map((row) => [row.id, row]));
  const payeeIn = ({ payment_detail_id, rails: rail }: OfframpTerms): string => {
    const detail = details_by_id.get(payment_detail_id);
    return detail ? payeeOf(catalogue, { fields: detail.fields, rail }) : "unknown";
  };
  const tokens = `${minorToText(quote.token_amount, TOKEN_DIGITS)} ${deposit_token}`;
  const details: Detail[] = [
    ["User", user ? nameOfUser(user) : user_id],
    ["Paid with", `${tokens} on ${deposit_token_chain}`],
    ["Payouts", `${live.length}, in total ${totalOf(live)}`],
    ...largest.map((one): Detail => ["To", `${payeeIn(one)}: ${amountOf(one)}`]),
    ...(live.length > PAYEES_SHOWN
      ? [["And", `${live.length - PAYEES_SHOWN} smaller payouts`] as const]
      : []),
  ];
  const summary = `Pay ${live.length} payouts of a quote, ${totalOf(live)}.`;
  return { summary, details, digest: digestTerms(terms) };
}

/** All offramps of a quote, also those given up since: who gets how much never changes. */
export function digestTerms(terms: readonly OfframpTerms[]): string {
  const facts = terms.flatMap(({ id, payment_detail_id, destination_amount, ...one }) => [
    id,
    payment_detail_id,
    destination_amount,
    one.destination_currency,
  ]);
  return digestOf(...facts).toString("hex");
}

function totalOf(terms: readonly OfframpTerms[]): string {
  const by_currency = Map.groupBy(terms, (one) => one.destination_currency);
  return [...by_currency]
    .map(([destination_currency, ones]) => {
      const destination_amount = ones.reduce((sum, one) => sum + one.destination_amount, 0n);
      return amountOf({ destination_amount, destination_currency });
    })
    .join(", ");
}

function amountOf(one: Pick<OfframpTerms, "destination_amount" | "destination_currency">): string {
  const digits = minorDigits(one.destination_currency)!;
  return `${minorToText(one.destination_amount, digits)} ${one.destination_currency}`;
}
