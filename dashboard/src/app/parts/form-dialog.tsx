import { Alert, Button, Group, Modal, Stack } from "@mantine/core";
import { SliproadError } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { messageOf } from "../api.ts";
import { isProposal, Proposed } from "./act-dialog.tsx";

type FormDialogProps<Outcome> = {
  title: string;
  /** On the button: what happens, in words. */
  act: string;
  is_dangerous?: boolean;
  is_ready?: boolean;
  send: () => Promise<Outcome>;
  /** Gets what came of it; by default the dialog closes, unless others decide. */
  onDone?: (outcome: Outcome) => void;
  onClose: () => void;
  children: ReactNode;
};

/** Asks for what an act needs, sends it, and shows every problem of the answer. */
export function FormDialog<Outcome>(props: FormDialogProps<Outcome>) {
  const { title, act, send, onClose, onDone, is_ready = true } = props;
  const sending = useMutation({
    mutationFn: send,
    onSuccess: (outcome) => {
      if (onDone) onDone(outcome);
      else if (!isProposal(outcome)) onClose();
    },
  });
  const is_proposed = isProposal(sending.data);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    sending.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      {is_proposed ? (
        <Proposed onClose={onClose} />
      ) : (
        <form onSubmit={submit}>
          <Stack>
            {props.children}
            <ProblemAlert error={sending.error} />
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button
                type="submit"
                {...(props.is_dangerous ? { color: "red" } : {})}
                disabled={!is_ready}
                loading={sending.isPending}
              >
                {act}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}

/** What is wrong with a form, one line for each problem. */
export function ProblemAlert({ error }: { error: unknown }) {
  if (!error) return null;
  const problems = error instanceof SliproadError ? error.errors : [];
  return (
    <Alert color="red" variant="light" role="alert">
      {problems.length < 2
        ? messageOf(error)
        : problems.map(({ field, message }) => <div key={field}>{message}</div>)}
    </Alert>
  );
}
