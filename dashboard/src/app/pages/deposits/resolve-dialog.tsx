import { Radio, Stack, Text, TextInput } from "@mantine/core";
import type { BankException } from "@sliproad/sdk";
import { useState } from "react";
import { api } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import { ReasonInput } from "../../parts/reason-input.tsx";

type Resolution = NonNullable<BankException["resolution"]>;

const RESOLUTIONS: readonly (readonly [Resolution, name: string, means: string])[] = [
  ["assign", "It is about a payout", "The answer is applied to this payout."],
  ["return", "Send the money back", "The bank gets back what it sent without reason."],
  ["write_off", "Write it off", "The operator takes the loss or the gain."],
  ["dismiss", "Nothing to do", "No money moved, for example an answer that came twice."],
];

/** Decides what an answer of the bank means. */
export function ResolveDialog(props: {
  exception: BankException;
  what: string;
  onClose: () => void;
}) {
  const { exception, what, onClose } = props;
  const [resolution, setResolution] = useState<Resolution | null>(null);
  const [offramp_id, setOfframp] = useState(exception.offramp_id ?? "");
  const [reason, setReason] = useState("");
  const assigned =
    resolution === "assign" && offramp_id ? { offramp_id: toPayoutId(offramp_id.trim()) } : {};
  return (
    <ActDialog
      title="Resolve a bank exception"
      act="Resolve"
      changes={["deposits", "overview", "payouts", "payout"]}
      onClose={onClose}
      send={
        resolution && reason.trim()
          ? (idempotency_key) =>
              api.deposits.resolveBankException(
                exception.id,
                { resolution, reason: reason.trim(), ...assigned },
                { idempotency_key },
              )
          : null
      }
    >
      <div className="subject">
        <div>
          <div className="strong">{what}</div>
          <div className="quiet">{exception.bank_reference || exception.end_to_end_id}</div>
        </div>
        <Amount value={exception.amount} currency={exception.currency} />
      </div>
      <Radio.Group
        label="What it means"
        value={resolution}
        onChange={(next) => setResolution(next as Resolution)}
      >
        <Stack gap="xs" mt="xs">
          {RESOLUTIONS.map(([value, name, means]) => (
            <Radio key={value} value={value} label={name} description={means} />
          ))}
        </Stack>
      </Radio.Group>
      {resolution === "assign" && (
        <TextInput
          label="The payout"
          description="Its id, or the end-to-end id of its payment as the bank knows it."
          value={offramp_id}
          onChange={(event) => setOfframp(event.currentTarget.value)}
        />
      )}
      <ReasonInput value={reason} onChange={setReason} />
      <Text size="sm" c="dimmed">
        {Number(exception.held_amount) > 0
          ? "The money waits in suspense until this is resolved."
          : "No money waits because of it."}
      </Text>
    </ActDialog>
  );
}

/** An end-to-end id begins with the payout's id without its hyphens; the attempt follows. */
function toPayoutId(text: string): string {
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})\d{3}$/i;
  return parts.exec(text)?.slice(1).join("-") ?? text;
}
