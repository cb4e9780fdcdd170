import { Text, TextInput } from "@mantine/core";
import type { Deposit } from "@sliproad/sdk";
import { useState } from "react";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { formatAmount } from "../../parts/amount.tsx";

export type Decision = {
  name: string;
  means: string;
  takes_onramp: boolean;
  decide: (deposit_id: string, onramp: { onramp_id?: string }) => Promise<object>;
};

type DialogProps = { deposit: Deposit; decision: Decision; onClose: () => void };

/** Names the money that is decided on, what the decision does, and what became of it. */
export function DecisionDialog({ deposit, decision, onClose }: DialogProps) {
  const [onramp_id, setOnramp] = useState("");
  const { currency } = deposit;
  const amount = `${formatAmount(deposit.amount, currency)} ${currency.toUpperCase()}`;
  return (
    <ActDialog
      title={`${decision.name}: ${amount}`}
      act={`${decision.name} ${amount}`}
      changes={["deposits", "overview"]}
      send={() => decision.decide(deposit.id, onramp_id ? { onramp_id: onramp_id.trim() } : {})}
      onClose={onClose}
    >
      <Text size="sm">{decision.means}</Text>
      <Text size="sm" c="dimmed">
        From {deposit.payer_name || "an unknown payer"}, “{deposit.text}”, bank reference{" "}
        {deposit.bank_reference}.
      </Text>
      {decision.takes_onramp && (
        <TextInput
          label="Id of the onramp"
          description="Empty: the one whose code is in the text of the transfer."
          value={onramp_id}
          onChange={(event) => setOnramp(event.currentTarget.value)}
        />
      )}
    </ActDialog>
  );
}
