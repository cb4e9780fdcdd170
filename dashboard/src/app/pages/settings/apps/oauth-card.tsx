import { Button, Group, Textarea, TextInput } from "@mantine/core";
import type { App, AppWithSecrets } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../../api.ts";
import { FormDialog, ProblemAlert } from "../../../parts/form-dialog.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { Copy } from "../../../parts/record-id.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { may } from "../../../session.ts";
import { FLOWS, linesOf, mayHoldSecret, refreshApp } from "./app.ts";
import { secretsOf } from "./secrets.ts";

/** How the application asks for access tokens. */
export function OAuthCard({ app }: { app: App }) {
  const [open, setOpen] = useState<"edit" | "rotate" | null>(null);
  const [made, setMade] = useState<AppWithSecrets | null>(null);
  const close = () => setOpen(null);
  return (
    <section className="card facts" aria-labelledby="oauth-title">
      <div className="card-head">
        <h2 id="oauth-title">OAuth client</h2>
        {may("manage_apps") && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={() => setOpen("edit")}>
              Edit
            </Button>
            {mayHoldSecret(app.flow) && (
              <Button size="xs" variant="default" onClick={() => setOpen("rotate")}>
                New client secret
              </Button>
            )}
          </Group>
        )}
      </div>
      <dl>
        <div>
          <dt>Flow</dt>
          <dd>{FLOWS[app.flow].name}</dd>
        </div>
        <div>
          <dt>Client ID</dt>
          <dd>
            <span className="copied">
              <code>{app.client_id}</code>
              <Copy text={app.client_id} label="Copy client ID" />
            </span>
          </dd>
        </div>
        <div>
          <dt>Client secret</dt>
          <dd>
            <code>…{app.client_secret_last_four}</code>
          </dd>
        </div>
        {app.flow === "authorization_code" && (
          <div>
            <dt>Redirect URLs</dt>
            <dd>
              {app.redirect_uris.map((uri) => (
                <div key={uri}>{uri}</div>
              ))}
              {app.redirect_uris.length === 0 && "None"}
            </dd>
          </div>
        )}
        <FirstUsed app={app} />
      </dl>
      {open === "edit" && <EditDialog app={app} onClose={close} />}
      {open === "rotate" && (
        <RotateDialog
          app={app}
          onDone={(answer) => {
            close();
            setMade(answer);
          }}
          onClose={close}
        />
      )}
      {made && (
        <SecretDialog
          title="New client secret"
          secrets={secretsOf(made)}
          onClose={() => setMade(null)}
        />
      )}
    </section>
  );
}

function RotateDialog(props: {
  app: App;
  onDone: (answer: AppWithSecrets) => void;
  onClose: () => void;
}) {
  const { app, onDone, onClose } = props;
  return (
    <FormDialog
      title="New client secret"
      act="Create new secret"
      is_dangerous
      send={() => api.apps.rotateClientSecret(app.id)}
      onDone={(answer) => {
        onDone(answer);
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <p className="dialog-text">
        The current client secret of {app.name} stops working at once; tokens that it asked for
        before stay valid until they expire.
      </p>
    </FormDialog>
  );
}

/** A used application is told about fewer invoices; an admin can reset that. */
function FirstUsed({ app }: { app: App }) {
  const resetting = useMutation({
    mutationFn: () => api.apps.resetUsed(app.id),
    onSuccess: () => refreshApp(app.id),
  });
  return (
    <div>
      <dt>First used</dt>
      <dd>
        {app.used_at ? <Moment at={app.used_at} /> : "Not yet: it is told about all invoices"}
        {app.used_at && may("reset_app_used") && (
          <div>
            <Button
              size="compact-xs"
              variant="subtle"
              loading={resetting.isPending}
              onClick={() => resetting.mutate()}
            >
              Reset, so that it is told about all invoices
            </Button>
          </div>
        )}
        <ProblemAlert error={resetting.error} />
      </dd>
    </div>
  );
}

function EditDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const [name, setName] = useState(app.name);
  const [redirects, setRedirects] = useState(app.redirect_uris.join("\n"));
  const isForPeople = app.flow === "authorization_code";
  const changes = { name, ...(isForPeople ? { redirect_uris: linesOf(redirects) } : {}) };
  return (
    <FormDialog
      title={`Edit ${app.name}`}
      act="Save"
      is_ready={name.trim() !== ""}
      send={() => api.apps.update(app.id, changes)}
      onDone={() => {
        onClose();
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        maxLength={100}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {isForPeople && (
        <Textarea
          label="Redirect URLs"
          description="One on each line. https, or http on localhost."
          rows={4}
          spellCheck={false}
          value={redirects}
          onChange={(event) => setRedirects(event.currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}
