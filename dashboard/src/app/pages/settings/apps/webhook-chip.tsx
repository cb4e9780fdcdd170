import type { App } from "@sliproad/sdk";
import { StatusChip } from "../../../parts/status-chip.tsx";

/** Whether events are sent. */
export function WebhookChip({ webhook }: { webhook: App["webhook"] }) {
  const { state, failing_since } = webhook;
  if (state === "active") {
    return failing_since ? (
      <StatusChip status="Failing" family="needs_you" />
    ) : (
      <StatusChip status="Sending" family="done" />
    );
  }
  if (state === "paused") return <StatusChip status="Paused" family="waiting" />;
  if (state === "disabled") return <StatusChip status="Disabled" family="failed" />;
  return <StatusChip status="Nothing is sent" family="waiting" />;
}
