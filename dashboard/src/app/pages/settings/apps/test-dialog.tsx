import { Select, Text } from "@mantine/core";
import type { App } from "@sliproad/sdk";
import { useState } from "react";
import { tell } from "../../../api.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { INVOICE_EVENTS, RAMP_EVENTS, refreshApp } from "./app.ts";

/** Sends an invented event, signed like a real one. */
export function TestDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const chosen = app.webhook.events.map((name) => ({
    value: name as string,
    label: `${name}: ${RAMP_EVENTS[name]}`,
  }));
  const invoices = Object.entries(INVOICE_EVENTS).map(([value, means]) => ({
    value,
    label: `${value}: ${means}`,
  }));
  const events = [...chosen, ...invoices];
  const [event, setEvent] = useState(events[0]?.value ?? "paid");
  return (
    <FormDialog
      title="Send test event"
      act="Send test event"
      send={() => tell(`/apps/${app.id}/test_event`, { event })}
      onDone={() => {
        onClose();
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <Text size="sm">
        An invented record is sent to <code className="breakable">{app.webhook.url}</code>, signed
        with the webhook secret. The delivery log shows the answer.
      </Text>
      <Select
        label="Event"
        data={events}
        allowDeselect={false}
        value={event}
        onChange={(next) => setEvent(next ?? event)}
      />
    </FormDialog>
  );
}
