import { Alert, Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import type { Deposit } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { messageOf, queries } from "../../api.ts";
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
  const { mutate, isPending, error, data } = useMutation({
    mutationFn: () => decision.decide(deposit.id, onramp_id ? { onramp_id: onramp_id.trim() } : {}),
    onSuccess: async (answer) => {
      await Promise.all(
        ["deposits", "overview"].map((name) => queries.invalidateQueries({ queryKey: [name] })),
      );
      if (!("proposal" in answer)) onClose();
    },
  });
  const { currency } = deposit;
  const amount = `${formatAmount(deposit.amount, currency)} ${currency.toUpperCase()}`;
  return (
    <Modal
      opened
      onClose={onClose}
      title={`${decision.name}: ${amount}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <Stack gap="sm">
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
        {error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        {data ? (
          <Alert color="blue" variant="light" role="status">
            A second member must approve this. It waits under Approvals.
          </Alert>
        ) : (
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button loading={isPending} onClick={() => mutate()}>
              {decision.name} {amount}
            </Button>
          </Group>
        )}
      </Stack>
    </Modal>
  );
}
