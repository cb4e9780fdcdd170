import { Select } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api.ts";
import { ReasonInput } from "../../parts/reason-input.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { statusName } from "../../parts/status-chip.tsx";
import { ActionDialog } from "./action-dialog.tsx";
import type { Payout } from "./payout.ts";

const ACCOUNTS_MAX = 100;

/** Sends money that came back to another account: the old and the new one stand side by side. */
export function RerouteDialog({ payout, onClose }: { payout: Payout; onClose: () => void }) {
  const { offramp } = payout;
  const { user_id, destination_currency } = offramp;
  const [chosen_id, choose] = useState<string | null>(null);
  const [text, setText] = useState("");
  const reason = text.trim();
  const listed = useQuery({
    queryKey: ["bank-accounts", user_id],
    queryFn: () => api.paymentDetails.list(user_id, { limit: ACCOUNTS_MAX }).page(),
  });
  const details = (listed.data?.records ?? []).filter(
    ({ currency }) => currency === destination_currency,
  );
  const old = details.find(({ id }) => id === offramp.payment_detail_id);
  const chosen = details.find(({ id }) => id === chosen_id);
  const send =
    chosen && reason
      ? (idempotency_key: string) =>
          api.offramps.reroute(user_id, offramp.id, chosen.id, { idempotency_key, reason })
      : null;
  return (
    <ActionDialog title="Send to another account" act="Send again" {...{ payout, send, onClose }}>
      {listed.isPending && <Loading />}
      {listed.isError && <Failure error={listed.error} onRetry={() => listed.refetch()} />}
      {listed.isSuccess && (
        <>
          <Select
            label="Account"
            placeholder="Choose an account of the same payer"
            searchable
            data-autofocus
            nothingFoundMessage="No such account"
            value={chosen_id}
            onChange={choose}
            data={details.map((detail) => ({
              value: detail.id,
              label: optionOf(detail, detail.id === offramp.payment_detail_id),
              disabled: detail.status !== "approved",
            }))}
          />
          <div className="side-by-side">
            <Account title="Came back from" detail={old} />
            <Account title="Goes to" detail={chosen} />
          </div>
          <ReasonInput value={text} onChange={setText} />
        </>
      )}
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

function optionOf(detail: PaymentDetail, is_same: boolean): string {
  const { account_name, bank_name, status } = detail;
  const why = status === "approved" ? "" : `, ${statusName(status).toLowerCase()}`;
  const same = is_same ? " (the same again)" : "";
  return `${account_name} · ${bank_name} ··${numberOf(detail).slice(-4)}${same}${why}`;
}

function numberOf({ iban, account_number, rib_number }: PaymentDetail): string {
  return iban ?? account_number ?? rib_number ?? "";
}

function inFours(text: string): string {
  return text.replaceAll(/(.{4})(?=.)/g, "$1 ");
}
