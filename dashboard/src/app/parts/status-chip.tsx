import { Icon, type IconName } from "./icons.tsx";

/** What a state means for the reader; each has its icon, so that colour is never the only sign. */
type Family = "waiting" | "working" | "needs_you" | "done" | "came_back" | "failed";

const ICONS: Record<Family, IconName> = {
  waiting: "wait",
  working: "work",
  needs_you: "needs",
  done: "done",
  came_back: "back",
  failed: "failed",
};

const STATES: Readonly<Record<string, readonly [Family, string]>> = {
  initiated: ["waiting", "Not executed"],
  pending_internal_assessment: ["waiting", "Waiting for coins"],
  ongoing_checks: ["needs_you", "Held"],
  sending_fiat: ["working", "Being sent"],
  fiat_sent: ["done", "Sent"],
  bounced: ["came_back", "Came back"],
  failed: ["failed", "Failed"],
  pending: ["waiting", "Pending"],
  sending: ["working", "Being sent"],
  sent: ["done", "Sent"],
  approved: ["done", "Approved"],
  rejected: ["failed", "Rejected"],
  deactivated: ["failed", "Deactivated"],
  not_checked: ["waiting", "Not checked"],
  not_started: ["waiting", "Not started"],
  started: ["waiting", "Started"],
  pending_assessment: ["working", "Being assessed"],
  prechecks_completed: ["working", "First checks done"],
  application_queued: ["working", "Queued for a check"],
  awaiting_manual_review: ["needs_you", "To review"],
  retry_required: ["needs_you", "Must try again"],
  retry_denied: ["failed", "Denied"],
  suspended: ["failed", "Suspended"],
  awaiting_fiat: ["waiting", "Waiting for the deposit"],
  awaiting_funds: ["waiting", "Waiting for the deposit"],
  fiat_received: ["working", "Deposit received"],
  crypto_sent: ["done", "Coins sent"],
  unmatched: ["needs_you", "To decide"],
  matching: ["working", "Being matched"],
  matched: ["done", "Matched"],
  releasing: ["working", "Being released"],
  returning: ["working", "Being returned"],
  dismissed: ["done", "Dismissed"],
  kept: ["done", "The operator's own"],
  returned: ["came_back", "Returned"],
  open: ["waiting", "Open"],
  executed: ["working", "Executed"],
  expired: ["failed", "Expired"],
  completed: ["done", "Completed"],
};

/** A state as icon, word and colour. Unknown ones are shown as they are. */
export function StatusChip({ status, family: given }: { status: string; family?: Family }) {
  const [family, name] = STATES[status] ?? [given ?? "waiting", inWords(status)];
  return (
    <span className={`chip chip-${given ?? family}`}>
      <Icon name={ICONS[given ?? family]} size={14} />
      {name}
    </span>
  );
}

/** The name of a state, for filters. */
export function statusName(status: string): string {
  return STATES[status]?.[1] ?? inWords(status);
}

/** What a state means for the reader. */
export function statusFamily(status: string): Family {
  return STATES[status]?.[0] ?? "waiting";
}

function inWords(status: string): string {
  const words = status.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
