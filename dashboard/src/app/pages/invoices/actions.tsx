import { Button, Text, Textarea } from "@mantine/core";
import type { Invoice, InvoiceChange } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, messageOf } from "../../api.ts";
import { ActDialog } from "../../parts/act-dialog.tsx";
import { formatAmount, fromMinor } from "../../parts/format-amount.ts";
import { Icon } from "../../parts/icons.tsx";
import { may } from "../../session.ts";
import { nameOfParty, otherParty, type Status, saveAsPdf, symbolOf } from "./invoice.ts";

type Party = "buyer" | "seller" | "issuer";
type Action = {
  name: string;
  /** Undefined: makes a draft payable. */
  change?: InvoiceChange["type"];
  by: Party;
  from: readonly Status[];
  means: string;
  needs_note?: boolean;
  is_dangerous?: boolean;
};

const ACTIONS: readonly Action[] = [
  {
    name: "Make payable",
    by: "issuer",
    from: ["draft"],
    means: "The other side sees it and can pay. It cannot be edited any more.",
  },
  {
    name: "Accept",
    change: "accept",
    by: "buyer",
    from: ["open"],
    means: "You agree to pay this invoice. No money moves by it.",
  },
  {
    name: "I have paid",
    change: "declareSentPayment",
    by: "buyer",
    from: ["open", "accepted"],
    means: "The seller is told that you paid outside Sliproad, and confirms it.",
  },
  {
    name: "Payment arrived",
    change: "declareReceivedPayment",
    by: "seller",
    from: ["open", "accepted", "declaredPaid"],
    means: "The invoice becomes paid.",
  },
  {
    name: "Mark as not paid",
    change: "markUnpaid",
    by: "seller",
    from: ["paid"],
    means: "The invoice is open again.",
  },
  {
    name: "Reject",
    change: "reject",
    by: "buyer",
    from: ["open", "accepted"],
    means: "The seller reads why. It cannot be taken back.",
    needs_note: true,
    is_dangerous: true,
  },
  {
    name: "Cancel invoice",
    change: "cancel",
    by: "issuer",
    from: ["draft", "scheduled", "open", "accepted"],
    means: "Nobody can pay it any more. It cannot be taken back.",
    is_dangerous: true,
  },
];

/** What this side can do about the invoice in its state. */
export function InvoiceActions({ invoice }: { invoice: Invoice }) {
  const [chosen, choose] = useState<Action | null>(null);
  const actions = may("manage_invoices")
    ? ACTIONS.filter(({ by, from }) => isOurs(invoice, by) && from.includes(invoice.status))
    : [];
  return (
    <>
      {actions.map((action, at) => (
        <Button
          key={action.name}
          variant={at === 0 && !action.is_dangerous ? "filled" : "default"}
          onClick={() => choose(action)}
        >
          {action.name}
        </Button>
      ))}
      <Download invoice={invoice} />
      {chosen && <ChangeDialog invoice={invoice} action={chosen} onClose={() => choose(null)} />}
    </>
  );
}

/** The issuer is the seller, or the employer of a salary. */
function isOurs({ role, meta }: Invoice, by: Party): boolean {
  if (by !== "issuer") return role === by;
  return role === (meta.format === "svc_salary" ? "buyer" : "seller");
}

type DialogProps = { invoice: Invoice; action: Action; onClose: () => void };

function ChangeDialog({ invoice, action, onClose }: DialogProps) {
  const [note, setNote] = useState("");
  const { change } = action;
  const symbol = symbolOf(invoice.currency);
  const input = note.trim() ? { input: { note: note.trim() } } : {};
  const send = (idempotency_key: string) =>
    change === undefined
      ? api.invoices.convert(invoice.id, { idempotency_key })
      : api.invoices.change(invoice.id, { type: change, ...input }, { idempotency_key });
  return (
    <ActDialog
      title={`${action.name}: ${invoice.invoiceNumber}`}
      act={action.name}
      is_dangerous={action.is_dangerous ?? false}
      changes={["invoices", "overview"]}
      onClose={onClose}
      send={action.needs_note && !note.trim() ? null : send}
    >
      <div className="subject">
        <span className="strong">{nameOfParty(otherParty(invoice))}</span>
        <span className="amount">
          {formatAmount(fromMinor(invoice.total, symbol), symbol)} {symbol.toUpperCase()}
        </span>
      </div>
      <Text size="sm">{action.means}</Text>
      {change !== undefined && (
        <Textarea
          label={action.needs_note ? "Why" : "Note"}
          description="The other side reads it."
          maxLength={2000}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
      )}
    </ActDialog>
  );
}

function Download({ invoice }: { invoice: Invoice }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: () => saveAsPdf(invoice) });
  return (
    <>
      <Button
        variant="default"
        loading={isPending}
        leftSection={<Icon name="download" size={14} />}
        onClick={() => mutate()}
      >
        PDF
      </Button>
      {error && <div role="alert">{messageOf(error)}</div>}
    </>
  );
}
