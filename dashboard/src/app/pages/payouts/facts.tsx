import { Link } from "wouter";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Copied, Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { RecordId } from "../../parts/record-id.tsx";
import type { Payout } from "./payout.ts";

/** Who is paid by whom, and on which terms. */
export function PayoutFacts({ payout }: { payout: Payout }) {
  const { offramp, names, deposit_token, deposit_token_chain } = payout;
  const detail = names.payment_details[offramp.payment_detail_id];
  const currency = offramp.destination_currency.toUpperCase();
  return (
    <section className="card facts" aria-label="Details">
      <h2>Payee</h2>
      {detail ? (
        <div className="payee">
          <div className="strong">{detail.holder}</div>
          <div>
            {detail.bank} ··{detail.account}
          </div>
        </div>
      ) : (
        <p className="none">Erased</p>
      )}
      <h2>Payment</h2>
      <dl>
        <Fact name="Paid by">
          <Link href={`/people/${offramp.user_id}`}>
            {names.users[offramp.user_id]?.name ?? "Erased"}
          </Link>
        </Fact>
        <Fact name="Reference">
          {offramp.reference ? <Copied text={offramp.reference} label="reference" /> : <None />}
        </Fact>
        <Fact name="Rail">{offramp.rails.toUpperCase()}</Fact>
        <Fact name="Rate">
          1 {deposit_token.toUpperCase()} = {offramp.rate} {currency}
        </Fact>
        <Fact name="Fee">
          <Amount value={offramp.fee} currency={offramp.destination_currency} />
        </Fact>
        <Fact name="Paid with">
          {deposit_token.toUpperCase()} on {chainName(deposit_token_chain)}
        </Fact>
        <Fact name="Quote">
          <Link href={`/quotes/${offramp.quote_id}`}>Open the quote</Link>
        </Fact>
        <Fact name="Created">
          <Moment at={offramp.created_at} />
        </Fact>
        <Fact name="Id">
          <RecordId id={offramp.id} />
        </Fact>
      </dl>
      <BankTrace offramp={offramp} />
    </section>
  );
}

/** What the receiving bank finds the payment by. */
function BankTrace({ offramp: { payout_reference } }: Pick<Payout, "offramp">) {
  if (!payout_reference) return null;
  const { end_to_end_id, trace_number, uetr } = payout_reference;
  return (
    <>
      <h2>Bank trace</h2>
      <dl>
        <Fact name="End-to-end id">
          <Copied text={end_to_end_id} label="end-to-end id" />
        </Fact>
        {trace_number && (
          <Fact name="Trace number">
            <Copied text={trace_number} label="trace number" />
          </Fact>
        )}
        {uetr && (
          <Fact name="UETR">
            <Copied text={uetr} label="UETR" />
          </Fact>
        )}
      </dl>
    </>
  );
}

function None() {
  return <span className="none">–</span>;
}
