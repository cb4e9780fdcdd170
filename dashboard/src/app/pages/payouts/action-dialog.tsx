import { ActDialog, type ActDialogProps } from "../../parts/act-dialog.tsx";
import { Amount } from "../../parts/amount.tsx";
import type { Payout } from "./payout.ts";

type DialogProps = Omit<ActDialogProps, "changes"> & { payout: Payout };

/** An act on a payout, which the dialog names. */
export function ActionDialog({ payout, children, ...act }: DialogProps) {
  return (
    <ActDialog changes={["payout", "payouts"]} {...act}>
      <Subject payout={payout} />
      {children}
    </ActDialog>
  );
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
