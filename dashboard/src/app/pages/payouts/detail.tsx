import { useEffect } from "react";
import { Link } from "wouter";
import { formatAmount } from "../../parts/format-amount.ts";
import { Failure, Loading } from "../../parts/states.tsx";
import { StatusChip } from "../../parts/status-chip.tsx";
import { PayoutActions } from "./actions.tsx";
import { PayoutDocument } from "./document.tsx";
import { PayoutFacts } from "./facts.tsx";
import { type Payout, usePayout } from "./payout.ts";
import { explain } from "./sentences.ts";
import { PayoutTabs } from "./timeline.tsx";

/** One payout: where it is and why, who is paid, what happened, and what can be done. */
export function PayoutDetail({ id }: { id: string }) {
  const shown = usePayout(id);
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/payouts">‹ Payouts</Link>
      </nav>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown payout={shown.data} />}
    </>
  );
}

function Shown({ payout }: { payout: Payout }) {
  return (
    <>
      <Head payout={payout} />
      <div className="detail">
        <div className="detail-side">
          <PayoutFacts payout={payout} />
          <PayoutDocument payout={payout} />
        </div>
        <PayoutTabs payout={payout} />
      </div>
    </>
  );
}

function Head({ payout }: { payout: Payout }) {
  const { offramp, names } = payout;
  const { destination_amount, destination_currency, status } = offramp;
  const amount = formatAmount(destination_amount, destination_currency);
  const currency = destination_currency.toUpperCase();
  const payee = names.payment_details[offramp.payment_detail_id]?.holder;
  const title = `${amount} ${currency}${payee ? ` to ${payee}` : ""}`;
  useEffect(() => {
    document.title = `${title} · Sliproad`;
  }, [title]);
  return (
    <header className="card detail-head">
      <div className="detail-title">
        <h1>
          {amount} <span className="currency">{currency}</span>
          {payee && <span className="detail-to"> to {payee}</span>}
        </h1>
        <StatusChip status={status} />
        <p className="detail-why">{explain(offramp)}</p>
      </div>
      <div className="detail-actions">
        <PayoutActions payout={payout} />
      </div>
    </header>
  );
}
