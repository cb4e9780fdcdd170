import { Text } from "@mantine/core";
import type { Deposit } from "@sliproad/sdk";
import { useState } from "react";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { ReasonInput } from "../../parts/reason-input.tsx";
import { Candidates } from "./candidates.tsx";

export type Decision = {
  name: string;
  /** On the button, before the amount of the deposit. */
  act: string;
  means: string;
  takes_onramp: boolean;
  /** What is exact explains itself. */
  needs_reason: boolean;
  decide: (
    deposit_id: string,
    onramp: { onramp_id?: string },
    options: { idempotency_key: string; reason: string },
  ) => Promise<object>;
};

type DialogProps = { deposit: Deposit; decision: Decision; onClose: () => void };

/** Names the money that is decided on, what the decision does, and what became of it. */
export function DecisionDialog({ deposit, decision, onClose }: DialogProps) {
  const [onramp_id, setOnramp] = useState<string | null>(null);
  const [text, setText] = useState("");
  const reason = text.trim();
  const { currency } = deposit;
  const amount = `${formatAmount(deposit.amount, currency)} ${currency.toUpperCase()}`;
  const isChosen = !decision.takes_onramp || onramp_id !== null;
  const isExplained = !decision.needs_reason || reason !== "";
  const onramp = onramp_id ? { onramp_id } : {};
  return (
    <ActDialog
      title={decision.name}
      act={`${decision.act} ${amount}`}
      changes={["deposits", "overview"]}
      send={
        isChosen && isExplained
          ? (idempotency_key) => decision.decide(deposit.id, onramp, { idempotency_key, reason })
          : null
      }
      onClose={onClose}
    >
      <div className="subject">
        <div>
          <div className="strong">{deposit.payer_name || "Unknown payer"}</div>
          <div className="quiet">
            “{deposit.text}” · {deposit.bank_reference}
          </div>
        </div>
        <Amount value={deposit.amount} currency={currency} />
      </div>
      <Text size="sm">{decision.means}</Text>
      {decision.takes_onramp && (
        <Candidates deposit={deposit} value={onramp_id} onChange={setOnramp} />
      )}
      <ReasonInput value={text} onChange={setText} is_optional={!decision.needs_reason} />
    </ActDialog>
  );
}
