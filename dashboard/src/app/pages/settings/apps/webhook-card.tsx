import { Alert, Button, Group, PasswordInput, Select, Switch, TextInput } from "@mantine/core";
import type { App, AppWithSecrets } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api.ts";
import { FormDialog, ProblemAlert } from "../../../parts/form-dialog.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { may } from "../../../session.ts";
import { RAMP_EVENTS, refreshApp } from "./app.ts";
import { EventChoice } from "./event-choice.tsx";
import { secretsOf } from "./secrets.ts";

/** Where events go, which, and what signs them. */
export function WebhookCard({ app }: { app: App }) {
  const [open, setOpen] = useState<"edit" | "secret" | null>(null);
  const [made, setMade] = useState<AppWithSecrets | null>(null);
  const { webhook } = app;
  const close = () => setOpen(null);
  return (
    <section className="card facts" aria-labelledby="webhook-title">
      <div className="card-head">
        <h2 id="webhook-title">Webhook</h2>
        {may("manage_apps") && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => setOpen("edit")}>
              {webhook.url ? "Edit webhook" : "Set webhook URL"}
            </Button>
            <Button size="xs" variant="default" onClick={() => setOpen("secret")}>
              {webhook.has_secret ? "Rotate secret" : "Set secret"}
            </Button>
          </Group>
        )}
      </div>
      <dl>
        <div>
          <dt>URL</dt>
          <dd>{webhook.url ?? "Not set"}</dd>
        </div>
        <div>
          <dt>Secret</dt>
          <dd>{webhook.has_secret ? "Set" : "Not set"}</dd>
        </div>
        <div>
          <dt>Events</dt>
          <dd>
            <div>All of invoices</div>
            {webhook.events.map((name) => (
              <div key={name}>{RAMP_EVENTS[name]}</div>
            ))}
          </dd>
        </div>
        <div>
          <dt>Order</dt>
          <dd>{webhook.is_ordered ? "One event of a record after another" : "Any"}</dd>
        </div>
        <div>
          <dt>Your headers</dt>
          <dd>{webhook.headers.join(", ") || "None"}</dd>
        </div>
      </dl>
      {webhook.secret_switch_at && <Overlap app={app} until={webhook.secret_switch_at} />}
      {open === "edit" && <WebhookDialog app={app} onClose={close} />}
      {open === "secret" && (
        <RotateDialog
          app={app}
          onDone={(answer) => {
            close();
            setMade(answer);
            void refreshApp(app.id);
          }}
          onClose={close}
        />
      )}
      {made && (
        <SecretDialog
          title="New webhook secret"
          secrets={secretsOf(made)}
          onClose={() => setMade(null)}
        />
      )}
    </section>
  );
}

const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** During a rotation both secrets sign; the receiver changes over in this time. */
function Overlap({ app, until }: { app: App; until: string }) {
  const ending = useMutation({
    mutationFn: () => api.apps.switchWebhookSecret(app.id),
    onSuccess: () => refreshApp(app.id),
  });
  return (
    <Alert color="yellow" variant="light" mt="md" title="Two secrets sign">
      Until {moment.format(new Date(until))}, <code>X-Webhook-Signature</code> is made with the old
      secret and <code>webhook-signature</code> carries both. Then only the new one signs.
      {may("manage_apps") && (
        <div>
          <Button
            mt="xs"
            size="xs"
            variant="default"
            loading={ending.isPending}
            onClick={() => ending.mutate()}
          >
            End the overlap now
          </Button>
        </div>
      )}
      <ProblemAlert error={ending.error} />
    </Alert>
  );
}

const HEADERS_STAY = " Another host does not get the custom headers: set them again by the API.";

function WebhookDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const { webhook } = app;
  const [url, setUrl] = useState(webhook.url ?? "");
  const [events, setEvents] = useState<string[]>(webhook.events);
  const [isOrdered, setOrdered] = useState(webhook.is_ordered);
  const webhook_url = url.trim() || null;
  return (
    <FormDialog
      title={`Webhook of ${app.name}`}
      act="Save"
      send={() => api.apps.update(app.id, { webhook_url, events, is_ordered: isOrdered })}
      onDone={() => {
        onClose();
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <TextInput
        label="Webhook URL"
        description={`Empty: nothing is sent.${webhook.headers.length > 0 ? HEADERS_STAY : ""}`}
        inputMode="url"
        spellCheck={false}
        data-autofocus
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <EventChoice chosen={events} onChange={setEvents} />
      <Switch
        label="Send the events of a record one after another"
        description="The next one waits until the one before was delivered or given up."
        checked={isOrdered}
        onChange={(event) => setOrdered(event.currentTarget.checked)}
      />
    </FormDialog>
  );
}

const OVERLAPS = [
  { value: "24", label: "24 hours" },
  { value: "1", label: "1 hour" },
  { value: "72", label: "3 days" },
  { value: "168", label: "7 days" },
  { value: "0", label: "None: the old one ends at once" },
];

function RotateDialog(props: {
  app: App;
  onDone: (answer: AppWithSecrets) => void;
  onClose: () => void;
}) {
  const { app, onDone, onClose } = props;
  const [secret, setSecret] = useState("");
  const [hours, setHours] = useState("24");
  const isFirst = !app.webhook.has_secret;
  const rotation = {
    ...(secret ? { webhook_secret: secret } : {}),
    ...(isFirst ? {} : { grace_hours: Number(hours) }),
  };
  return (
    <FormDialog
      title={isFirst ? "Set the webhook secret" : "Rotate the webhook secret"}
      act={isFirst ? "Set secret" : "Rotate secret"}
      send={() => api.apps.rotateWebhookSecret(app.id, rotation)}
      onDone={onDone}
      onClose={onClose}
    >
      <PasswordInput
        label="New secret"
        description="Leave it empty to have one generated."
        autoComplete="off"
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      {!isFirst && (
        <Select
          label="Overlap"
          description="How long the old secret still signs beside the new one."
          data={OVERLAPS}
          allowDeselect={false}
          value={hours}
          onChange={(next) => setHours(next ?? "24")}
        />
      )}
    </FormDialog>
  );
}
