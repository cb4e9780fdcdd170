import type { PaymentDetail } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api.ts";
import { AccountSelect, numberOf } from "../../parts/account-select.tsx";
import { ReasonInput } from "../../parts/reason-input.tsx";
import { Failure } from "../../parts/states.tsx";
import { statusName } from "../../parts/status-chip.tsx";
import { ActionDialog } from "./action-dialog.tsx";
import type { Payout } from "./payout.ts";

/** Sends money that came back to another account: the old and the new one stand side by side. */
export function RerouteDialog({ payout, onClose }: { payout: Payout; onClose: () => void }) {
  const { offramp } = payout;
  const { user_id, destination_currency } = offramp;
  const [chosen, choose] = useState<PaymentDetail | null>(null);
  const [text, setText] = useState("");
  const reason = text.trim();
  const { payment_detail_id } = offramp;
  const old = useQuery({
    queryKey: ["bank-accounts", user_id, payment_detail_id],
    queryFn: () => api.paymentDetails.show(user_id, payment_detail_id),
  });
  const send =
    chosen && reason
      ? (idempotency_key: string) =>
          api.offramps.reroute(user_id, offramp.id, chosen.id, { idempotency_key, reason })
      : null;
  return (
    <ActionDialog title="Send to another account" act="Send again" {...{ payout, send, onClose }}>
      <AccountSelect
        label="Account"
        placeholder="Choose an account of the same payer"
        user_id={user_id}
        value={chosen}
        onChange={choose}
        isOffered={({ currency }) => currency === destination_currency}
        isDisabled={({ status }) => status !== "approved"}
        noteOf={({ id, status }) => {
          const same = id === payment_detail_id ? " (the same again)" : "";
          return status === "approved" ? same : `${same}, ${statusName(status).toLowerCase()}`;
        }}
      />
      {old.isError && <Failure error={old.error} onRetry={() => old.refetch()} />}
      <div className="side-by-side">
        <Account title="Came back from" detail={old.data} />
        <Account title="Goes to" detail={chosen ?? undefined} />
      </div>
      <ReasonInput value={text} onChange={setText} />
    </ActionDialog>
  );
}

function Account({ title, detail }: { title: string; detail: PaymentDetail | undefined }) {
  return (
    <section className="account" aria-label={title}>
      <h3>{title}</h3>
      {detail ? (
        <>
          <div className="strong">{detail.account_name}</div>
          <div>{detail.bank_name}</div>
          <div className="account-number">{inFours(numberOf(detail))}</div>
        </>
      ) : (
        <div className="none">Nothing chosen</div>
      )}
    </section>
  );
}

function inFours(text: string): string {
  return text.replaceAll(/(.{4})(?=.)/g, "$1 ");
}
