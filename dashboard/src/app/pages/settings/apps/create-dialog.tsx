import { PasswordInput, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import type { App, AppWithSecrets, NewApp } from "@sliproad/sdk";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, queries } from "../../../api.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { APPS_PATH, FLOWS, linesOf } from "./app.ts";
import { EventChoice } from "./event-choice.tsx";
import { secretsOf } from "./secrets.ts";

type Flow = App["flow"];

/** A new application; its secrets are shown right after. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [made, setMade] = useState<AppWithSecrets | null>(null);
  const [name, setName] = useState("");
  const [flow, setFlow] = useState<Flow>("client_credentials");
  const [redirects, setRedirects] = useState("");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [events, setEvents] = useState<string[]>([]);
  if (made) {
    return (
      <SecretDialog
        title={`Secrets of ${made.app.name}`}
        secrets={secretsOf(made)}
        onClose={() => navigate(`${APPS_PATH}/${made.app.id}`)}
      />
    );
  }
  const isForPeople = flow === "authorization_code";
  const app: NewApp = {
    name,
    flow,
    events,
    ...(isForPeople ? { redirect_uris: linesOf(redirects) } : {}),
    ...(url.trim() ? { webhook_url: url.trim() } : {}),
    ...(secret ? { webhook_secret: secret } : {}),
  };
  return (
    <FormDialog
      title="Create app"
      act="Create app"
      is_ready={name.trim() !== "" && (!isForPeople || linesOf(redirects).length > 0)}
      send={() => api.apps.create(app)}
      onDone={(created) => {
        queries.invalidateQueries({ queryKey: ["apps"] });
        setMade(created);
      }}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="People see it when they authorize the app."
        required
        maxLength={100}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Radio.Group label="Flow" value={flow} onChange={(next) => setFlow(next as Flow)}>
        <Stack gap={6} mt="xs">
          {Object.entries(FLOWS).map(([value, { name: label, means }]) => (
            <Radio key={value} value={value} label={label} description={means} />
          ))}
        </Stack>
      </Radio.Group>
      {isForPeople && (
        <Textarea
          label="Redirect URLs"
          description="One on each line. https, or http on localhost."
          required
          rows={3}
          spellCheck={false}
          value={redirects}
          onChange={(event) => setRedirects(event.currentTarget.value)}
        />
      )}
      <TextInput
        label="Webhook URL"
        description="Where events are sent. It can be set later."
        inputMode="url"
        spellCheck={false}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <PasswordInput
        label="Webhook secret"
        description="Signs every event. Leave it empty to have one generated."
        autoComplete="off"
        value={secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      <EventChoice chosen={events} onChange={setEvents} />
    </FormDialog>
  );
}
