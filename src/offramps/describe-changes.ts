import type { Detail } from "../approvals/model.ts";
import type { Describe } from "../approvals/with-approval.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import { minorDigits } from "../catalogue/currencies.ts";
import { payeeOf } from "../payment-details/payee.ts";
import { findPaymentDetails, toPaymentDetails } from "../payment-details/store.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import { findUserName } from "../users/find-user-name.ts";
import type { LoadedOfframps, OfframpChange } from "./change-offramps.ts";
import type { Review } from "./documents/review-documents.ts";
import type { Offramp } from "./model.ts";
import { findReturn, type Payout } from "./payouts/model.ts";
import type { RefundExtra } from "./refund-offramps.ts";
import type { NewRoute, RerouteExtra } from "./reroute-offramps.ts";

type DescribeDeps = { keyring: Keyring; catalogue: Catalogue };

type DescribeChange<Requested, Extra> = (
  deps: DescribeDeps,
) => Describe<OfframpChange<Requested>, LoadedOfframps<Extra>>;

/** Money of an offramp's attempts; a later return changes what a refund or a re-route costs. */
type Payouts = ReadonlyMap<string, readonly Payout[]>;

export const describeRefund: DescribeChange<null, RefundExtra> =
  (deps) =>
  async (session, { offramps, extra }, { account_id, input }) => {
    const { offramp } = offramps.get(account_id, input.offramp_id) ?? {};
    if (!offramp) return null;
    const { deposit_token, deposit_token_chain } = offramp;
    return {
      details: [
        ...(await describePayout(session, deps, offramp)),
        ...describeReturn(offramp, extra.facts.payouts),
        ["To", `The user's balance in ${deposit_token} on ${deposit_token_chain}`],
        ...describeReason(input),
      ],
      state: stateOf(offramp, extra.facts.payouts),
    };
  };

export const describeReroute: DescribeChange<NewRoute, RerouteExtra> =
  (deps) =>
  async (session, { offramps, extra }, { account_id, input }) => {
    const { offramp } = offramps.get(account_id, input.offramp_id) ?? {};
    const { payment_detail_id } = input.requested;
    if (!offramp || payment_detail_id === null) return null;
    const created_at = extra.details.get(account_id, payment_detail_id)?.created_at;
    return {
      details: [
        ...(await describePayout(session, deps, offramp, "Old account")),
        ["New account", await findPayee(session, deps, offramp, payment_detail_id)],
        [
          "New account since",
          created_at?.toISOString().slice(0, 16).replace("T", " ") ?? "unknown",
        ],
        ...describeReturn(offramp, extra.payouts),
        ...describeReason(input),
      ],
      state: [payment_detail_id, ...stateOf(offramp, extra.payouts)],
    };
  };

export const describeReview: DescribeChange<Review, unknown> =
  (deps) =>
  async (session, { offramps }, { account_id, input }) => {
    const { offramp } = offramps.get(account_id, input.offramp_id) ?? {};
    if (!offramp) return null;
    const { document_hash, document_type, document_status } = offramp;
    const { status, comment } = input.requested;
    const hash = document_hash?.toString("hex") ?? null;
    return {
      details: [
        ...(await describePayout(session, deps, offramp)),
        ["File", hash ? `${document_type}, SHA-256 ${hash}` : "None yet"],
        ["Judgement", `${document_status?.replaceAll("_", " ")} → ${status}`],
        ...(comment ? [["Comment", comment] as const] : []),
      ],
      // Members approve the file that they reviewed, not one uploaded later.
      state: [offramp.payment_detail_id, hash],
    };
  };

async function describePayout(
  session: Session,
  deps: DescribeDeps,
  offramp: Offramp,
  account_name = "Account",
): Promise<Detail[]> {
  const { destination_amount, token_amount, deposit_token, rails } = offramp;
  const { reference } = offramp.details;
  const amount = amountOf(destination_amount, offramp);
  const tokens = `${minorToText(token_amount, TOKEN_DIGITS)} ${deposit_token}`;
  const with_reference = reference ? `, reference “${reference}”` : "";
  return [
    ["User", await findUserName(session, deps.keyring, offramp)],
    ["Payout", `${amount} by ${rails} for ${tokens}${with_reference}`],
    [account_name, await findPayee(session, deps, offramp, offramp.payment_detail_id)],
  ];
}

/** What the bank gave back of the last attempt; nothing is shown while no money has left. */
function describeReturn(offramp: Offramp, payouts: Payouts): Detail[] {
  const came_back = findReturn(offramp, payouts.get(offramp.id) ?? []);
  return came_back ? [["Came back", amountOf(came_back.returned, offramp)]] : [];
}

function describeReason({ reason }: Pick<OfframpChange<unknown>, "reason">): Detail[] {
  return reason ? [["Reason", reason]] : [];
}

function stateOf(offramp: Offramp, payouts: Payouts): (string | number | bigint | null)[] {
  const attempts = payouts.get(offramp.id) ?? [];
  return [
    offramp.status,
    offramp.attempt,
    offramp.payment_detail_id,
    ...attempts.flatMap(({ status, returned_amount }) => [status, returned_amount]),
  ];
}

async function findPayee(
  session: Session,
  { keyring, catalogue }: DescribeDeps,
  { account_id, user_id, rails: rail }: Offramp,
  id: string,
): Promise<string> {
  const rows = await findPaymentDetails(session, [{ account_id, id }]);
  const keys = await keyring.openUserKeys(session, [{ account_id, user_id }]);
  const [detail] = toPaymentDetails(rows, keys);
  return detail ? payeeOf(catalogue, { fields: detail.fields, rail }) : "Unknown";
}

function amountOf(amount: bigint, { destination_currency: currency }: Offramp): string {
  return `${minorToText(amount, minorDigits(currency)!)} ${currency}`;
}
