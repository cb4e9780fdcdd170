import { Button, Text } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../../api.ts";
import { ReasonInput } from "../../parts/reason-input.tsx";
import { may } from "../../session.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { ReviewDialog, UploadDialog } from "./document-dialogs.tsx";
import type { Payout } from "./payout.ts";
import { RerouteDialog } from "./reroute-dialog.tsx";

type DialogProps = { payout: Payout; onClose: () => void };
type Action = {
  name: string;
  permission: string;
  is_possible: (payout: Payout) => boolean;
  /** False where nobody comes for it. */
  is_main?: (payout: Payout) => boolean;
  dialog: (props: DialogProps) => React.ReactNode;
};

const BEFORE_PAYOUT = ["initiated", "pending_internal_assessment", "ongoing_checks"];

/** The first that is possible is what the reader most likely came for. */
const ACTIONS: readonly Action[] = [
  {
    name: "Send to another account",
    permission: "move_money",
    is_possible: ({ offramp }) => offramp.status === "bounced",
    dialog: RerouteDialog,
  },
  {
    name: "Check document",
    permission: "review_documents",
    is_possible: ({ offramp, reviews_documents }) =>
      reviews_documents &&
      offramp.supporting_document?.status === "not_checked" &&
      BEFORE_PAYOUT.includes(offramp.status),
    dialog: ReviewDialog,
  },
  {
    name: "Attach document",
    permission: "prepare_payouts",
    is_possible: () => true,
    is_main: ({ offramp }) =>
      BEFORE_PAYOUT.includes(offramp.status) && offramp.supporting_document?.status !== "approved",
    dialog: UploadDialog,
  },
  {
    name: "Refund",
    permission: "move_money",
    is_possible: ({ offramp: { status, status_message } }) =>
      ["bounced", "ongoing_checks"].includes(status) ||
      (status === "sending_fiat" && status_message !== null),
    dialog: RefundDialog,
  },
  {
    name: "Remove",
    permission: "prepare_payouts",
    is_possible: ({ offramp }) => offramp.status === "initiated",
    is_main: () => false,
    dialog: RemoveDialog,
  },
];

/** What this member can do about the payout now; nothing else is shown. */
export function PayoutActions({ payout }: { payout: Payout }) {
  const [open, setOpen] = useState<Action | null>(null);
  const actions = ACTIONS.filter(
    ({ permission, is_possible }) => may(permission) && is_possible(payout),
  );
  const Dialog = open?.dialog;
  return (
    <>
      {actions.map((action, at) => (
        <Button
          key={action.name}
          variant={at === 0 && action.is_main?.(payout) !== false ? "filled" : "default"}
          onClick={() => setOpen(action)}
        >
          {action.name}
        </Button>
      ))}
      {Dialog && <Dialog payout={payout} onClose={() => setOpen(null)} />}
    </>
  );
}

function RefundDialog({ payout, onClose }: DialogProps) {
  const { user_id, id } = payout.offramp;
  const payer = payout.names.users[user_id]?.name ?? "the payer";
  const [text, setText] = useState("");
  const reason = text.trim();
  return (
    <ActionDialog
      title="Refund this payout"
      act="Refund"
      is_dangerous
      send={
        reason
          ? (idempotency_key) => api.offramps.refund(user_id, id, { idempotency_key, reason })
          : null
      }
      {...{ payout, onClose }}
    >
      <Text size="sm">
        The payout ends. What was paid for it is added to the balance of {payer}, in{" "}
        {payout.deposit_token.toUpperCase()}. This cannot be taken back.
      </Text>
      <ReasonInput value={text} onChange={setText} />
    </ActionDialog>
  );
}

function RemoveDialog({ payout, onClose }: DialogProps) {
  const { user_id, quote_id, id } = payout.offramp;
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const reason = text.trim();
  const remove = async () => {
    await api.offramps.remove(user_id, quote_id, id, { reason });
    return undefined;
  };
  return (
    <ActionDialog
      title="Remove this payout"
      act="Remove"
      is_dangerous
      send={reason ? remove : null}
      onDone={() => navigate("/payouts", { replace: true })}
      {...{ payout, onClose }}
    >
      <Text size="sm">It leaves its quote, whose total becomes smaller. Nothing is paid.</Text>
      <ReasonInput value={text} onChange={setText} />
    </ActionDialog>
  );
}
