import { Alert, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { messageOf, queries } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import type { Payout } from "./payout.ts";

/** What an act answers: done, or waiting for the votes of other members. */
type Outcome = object | undefined;

type DialogProps = {
  title: string;
  payout: Payout;
  /** On the button: what happens, in words. */
  act: string;
  is_dangerous?: boolean;
  /** Null while something must still be chosen. */
  send: ((idempotency_key: string) => Promise<Outcome>) | null;
  onClose: () => void;
  onDone?: () => void;
  children: ReactNode;
};

/** Names the payout, says what will happen, does it once, and says what came of it. */
export function ActionDialog(props: DialogProps) {
  const { title, payout, act, send, onClose } = props;
  // One for each opened dialog: a second press repeats the same act.
  const [idempotency_key] = useState(newKey);
  const sending = useMutation({
    mutationFn: async () => send?.(idempotency_key),
    onSuccess: (outcome) => {
      queries.invalidateQueries({ queryKey: ["payout", payout.offramp.id] });
      queries.invalidateQueries({ queryKey: ["payouts"] });
      if (isProposal(outcome)) return;
      onClose();
      props.onDone?.();
    },
  });
  const is_proposed = isProposal(sending.data);
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      {is_proposed ? (
        <Proposed onClose={onClose} />
      ) : (
        <Stack>
          <Subject payout={payout} />
          {props.children}
          {sending.isError && (
            <Alert color="red" variant="light" role="alert">
              {messageOf(sending.error)}
            </Alert>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              {...(props.is_dangerous ? { color: "red" } : {})}
              disabled={send === null}
              loading={sending.isPending}
              onClick={() => sending.mutate()}
            >
              {act}
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}

function isProposal(outcome: Outcome): boolean {
  return outcome !== undefined && "proposal" in outcome;
}

function Subject({ payout: { offramp, names } }: { payout: Payout }) {
  const detail = names.payment_details[offramp.payment_detail_id];
  return (
    <div className="subject">
      <div>
        <div className="strong">{detail?.holder ?? "Erased"}</div>
        <div className="quiet">{offramp.reference || "No reference"}</div>
      </div>
      <Amount value={offramp.destination_amount} currency={offramp.destination_currency} />
    </div>
  );
}

function Proposed({ onClose }: { onClose: () => void }) {
  return (
    <Stack>
      <Text>
        Nothing has happened yet: other members must confirm this first. It waits under{" "}
        <a href="/dashboard/proposals">Approvals</a>.
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose}>Close</Button>
      </Group>
    </Stack>
  );
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
