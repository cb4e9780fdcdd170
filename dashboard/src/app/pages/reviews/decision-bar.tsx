import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { messageOf } from "../../api.ts";
import {
  type Decision,
  decide,
  nameIn,
  nameOfReviewer,
  type Outcome,
  type Review,
} from "./review.ts";

/** Starting points; the reviewer changes the text as needed. */
const REASONS: Readonly<Record<string, string>> = {
  "Picture not readable":
    "The picture of your document is blurred or cut off. Take it again in daylight, with all " +
    "four corners in view.",
  "Document expired": "Your document has expired. Send one that is still valid.",
  "Name differs":
    "The name that you typed differs from the one in your document. Correct it, or send a " +
    "document with this name.",
  "Selfie does not fit":
    "Your selfie does not show clearly that you are the person in the document. Take it again, " +
    "with your face in the middle and no glasses.",
  "Address not proved": "Your address could not be confirmed. Check it and send it again.",
};
const COMMENT_LENGTH_MAX = 500;

type BarProps = { review: Review; onDecided: (outcome: Outcome) => void; onStale: () => void };

/** Always in view: what can be decided now, and by whom. */
export function DecisionBar({ review, onDecided, onStale }: BarProps) {
  const [chosen, choose] = useState<Decision | null>(null);
  const { proposed, void_summary, decisions } = review;
  return (
    <section className="review-bar" aria-label="Decision">
      <div className="review-bar-text">
        {proposed && (
          <Text size="sm">
            {proposed.is_own ? "You" : nameOfReviewer(proposed.by)} proposed:{" "}
            <strong>{proposed.label}</strong>
            {proposed.comment && ` (“${proposed.comment}”)`}.{" "}
            {proposed.is_own
              ? "Another member must confirm it."
              : "The same decision confirms it; any other cancels it."}
          </Text>
        )}
        {void_summary && (
          <Text size="sm" role="alert">
            <strong>{void_summary}</strong> This proposal is void, because the data has changed
            since. Your decision becomes a new proposal.
          </Text>
        )}
        {decisions.length === 0 && !proposed && (
          <Text size="sm">Nothing is to be decided now.</Text>
        )}
      </div>
      <Group gap="xs">
        {decisions.map((decision) => (
          <Button
            key={decision.name}
            {...(decision.needs_comment
              ? { variant: "default" as const }
              : { color: "green", variant: "filled" as const })}
            onClick={() => choose(decision)}
          >
            {proposed && proposed.decision === decision.name
              ? `Confirm: ${decision.label}`
              : decision.label}
          </Button>
        ))}
      </Group>
      {chosen && (
        <DecisionDialog
          key={chosen.name}
          {...{ review, onDecided, onStale }}
          decision={chosen}
          onClose={() => choose(null)}
        />
      )}
    </section>
  );
}

function DecisionDialog(props: BarProps & { decision: Decision; onClose: () => void }) {
  const { review, decision, onClose, onDecided, onStale } = props;
  const [comment, setComment] = useState("");
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => decide(review, decision.name, comment.trim()),
    onSuccess: ({ outcome }) => {
      onClose();
      onDecided(outcome);
    },
    // What was shown may be out of date: the next attempt needs what is there now.
    onError: onStale,
  });
  return (
    <Modal opened onClose={onClose} title={`${decision.label}: ${nameIn(review)}`}>
      <Stack gap="sm">
        {decision.needs_comment && (
          <NativeSelect
            label="Begin with a reason"
            data={[{ value: "", label: "Own words" }, ...Object.keys(REASONS)]}
            onChange={({ currentTarget }) => setComment(REASONS[currentTarget.value] ?? "")}
          />
        )}
        <Textarea
          label={decision.needs_comment ? "What the person reads" : "Note for reviewers"}
          rows={4}
          maxLength={COMMENT_LENGTH_MAX}
          data-autofocus
          value={comment}
          onChange={({ currentTarget }) => setComment(currentTarget.value)}
        />
        {decision.needs_comment && (
          <Text size="sm" c="dimmed">
            The person reads: “{comment.trim() || "…"}” So does everybody with the link: write
            nothing personal.
          </Text>
        )}
        {error && (
          <Alert color="red" variant="light" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            color={decision.needs_comment ? "red" : "green"}
            loading={isPending}
            disabled={decision.needs_comment && comment.trim() === ""}
            onClick={() => mutate()}
          >
            {decision.label}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
