import { Button, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { Amount } from "../../../parts/amount.tsx";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { proposeAmount, type Security } from "./security.ts";

/** From which amount on a second member must confirm. */
export function ApprovalCard({ approval }: { approval: Security["approval"] }) {
  const [isOpen, setOpen] = useState(false);
  const { above_usd, is_own } = approval;
  return (
    <section className="card facts" aria-labelledby="approval-title">
      <div className="card-head">
        <h2 id="approval-title">Approval amount</h2>
        {approval.may_propose && (
          <Button size="xs" variant="default" onClick={() => setOpen(true)}>
            Propose another
          </Button>
        )}
      </div>
      {above_usd === null ? (
        <p>No amount needs a second member.</p>
      ) : (
        <p>
          What is above <Amount value={above_usd} currency="usd" />, alone or together with what
          went without approval in 24 hours, needs two members.
        </p>
      )}
      <p className="quiet">
        {is_own ? "Set for this account." : "Set by the operator for all accounts."}
      </p>
      {isOpen && <AmountDialog above_usd={above_usd} onClose={() => setOpen(false)} />}
    </section>
  );
}

function AmountDialog(props: { above_usd: string | null; onClose: () => void }) {
  const [text, setText] = useState(props.above_usd?.replace(/\.00$/, "") ?? "");
  const [reason, setReason] = useState("");
  const isNumber = /^\d{1,9}$/.test(text.trim());
  const amount = text.trim() === "" ? null : Number(text);
  return (
    <FormDialog
      title="Propose another approval amount"
      act="Request approval"
      is_ready={(amount === null || isNumber) && reason.trim() !== ""}
      send={() => proposeAmount(amount, reason)}
      onClose={props.onClose}
    >
      <Text size="sm">It changes once two members have confirmed it.</Text>
      <TextInput
        label="Approval amount in USD"
        description="Whole dollars. Empty: the operator's amount."
        inputMode="numeric"
        data-autofocus
        value={text}
        error={text.trim() === "" || isNumber ? null : "Whole dollars, without separators."}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <TextInput
        label="Reason"
        required
        maxLength={200}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
