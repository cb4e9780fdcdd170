import { Alert, Anchor, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { messageOf, queries } from "../api.ts";
import { newKey } from "./new-key.ts";

/** What an act answers: done, or waiting for the votes of other members. */
export type Outcome = object | undefined;

export type ActDialogProps = {
  title: string;
  /** On the button: what happens, in words. */
  act: string;
  is_dangerous?: boolean;
  /** Null while something must still be chosen. */
  send: ((idempotency_key: string) => Promise<Outcome>) | null;
  /** The first words of the queries that show what is changed. */
  changes: readonly string[];
  onClose: () => void;
  onDone?: () => void;
  children: ReactNode;
};

/** Says what will happen, does it once, and says what came of it. */
export function ActDialog(props: ActDialogProps) {
  const { title, act, send, onClose } = props;
  // One for each opened dialog: a second press repeats the same act.
  const [idempotency_key] = useState(newKey);
  const sending = useMutation({
    mutationFn: async () => send?.(idempotency_key),
    onSuccess: (outcome) => {
      for (const name of props.changes) queries.invalidateQueries({ queryKey: [name] });
      if (isProposal(outcome)) return;
      onClose();
      props.onDone?.();
    },
  });
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      {isProposal(sending.data) ? (
        <Proposed onClose={onClose} />
      ) : (
        <Stack>
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

/** A proposal, or a quote whose payouts wait for the votes. */
export function isProposal(outcome: unknown): boolean {
  if (typeof outcome !== "object" || outcome === null) return false;
  const { approval } = outcome as { approval?: { status: string } };
  return "proposal" in outcome || approval?.status === "pending";
}

export function Proposed({ onClose }: { onClose: () => void }) {
  return (
    <Stack>
      <Text>
        Nothing is paid or changed yet: other members must confirm this first. It waits under{" "}
        <Anchor component={Link} href="/approvals">
          Approvals
        </Anchor>
        .
      </Text>
      <Group justify="flex-end">
        <Button onClick={onClose}>Close</Button>
      </Group>
    </Stack>
  );
}
