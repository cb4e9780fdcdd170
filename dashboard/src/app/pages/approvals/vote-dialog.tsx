import { Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { tell } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import { plainText } from "../../parts/plain-text.ts";
import type { Approval } from "./approval.ts";

export type Verdict = "confirm" | "reject";

const REASON_LENGTH_MAX = 500;
const CHANGES = ["approvals", "overview", "payouts", "payout"];

/** Names what is decided once more; the vote is about exactly what the card showed. */
export function VoteDialog(props: { approval: Approval; verdict: Verdict; onClose: () => void }) {
  const { approval, verdict, onClose } = props;
  // What was shown when the dialog was opened: what changes behind it is not confirmed.
  const [digest] = useState(approval.digest);
  const [reason, setReason] = useState("");
  const vote = { verdict, ...(digest ? { digest } : {}), reason: reason.trim() };
  const isReject = verdict === "reject";
  const is_ready = isReject ? reason.trim() !== "" : digest !== null;
  const send = () => tell<object>(`/approvals/${approval.id}/votes`, vote);
  return (
    <ActDialog
      title={isReject ? "Reject" : "Approve"}
      act={isReject ? "Reject" : "Approve"}
      is_dangerous={isReject}
      changes={CHANGES}
      onClose={onClose}
      send={is_ready ? send : null}
    >
      <div className="subject">
        <div>
          <div className="strong">{plainText(approval.summary)}</div>
          <div className="quiet">asked by {approval.proposed_by}</div>
        </div>
        {approval.amount_usd !== null && <Amount value={approval.amount_usd} currency="usd" />}
      </div>
      {isReject ? (
        <Textarea
          label="Reason"
          description="Whoever asked reads it. One rejection ends the request."
          required
          maxLength={REASON_LENGTH_MAX}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          data-autofocus
        />
      ) : (
        <Text size="sm">
          {approval.confirmations + 1 >= approval.confirmations_needed
            ? "It is done at once. This cannot be taken back."
            : "Someone else must confirm it too; then it is done."}
        </Text>
      )}
    </ActDialog>
  );
}
