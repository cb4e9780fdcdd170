import { PasswordInput, Radio, Stack, Textarea, TextInput } from "@mantine/core";
import type { App, AppWithSecrets, NewApp } from "@sliproad/sdk";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, queries } from "../../../api.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { APPS_PATH, FLOWS, linesOf, mayHoldSecret } from "./app.ts";
import { EventChoice } from "./event-choice.tsx";
import { secretsOf } from "./secrets.ts";

type Form = {
  name: string;
  flow: App["flow"];
  redirects: string;
  url: string;
  secret: string;
  events: string[];
};

const BLANK = { name: "", redirects: "", url: "", secret: "", events: [] };

function blankForm(): Form {
  const may_write = mayHoldSecret("client_credentials");
  return { ...BLANK, flow: may_write ? "client_credentials" : "authorization_code" };
}

/** A new application; its secrets are shown right after. */
export function CreateDialog({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation();
  const [made, setMade] = useState<AppWithSecrets | null>(null);
  const [form, setForm] = useState(blankForm);
  if (made) {
    return (
      <SecretDialog
        title={`Secrets of ${made.app.name}`}
        secrets={secretsOf(made)}
        onClose={() => navigate(`${APPS_PATH}/${made.app.id}`)}
      />
    );
  }
  return (
    <FormDialog
      title="Create app"
      act="Create app"
      is_ready={form.name.trim() !== ""}
      send={() => api.apps.create(appOf(form))}
      onDone={(created) => {
        queries.invalidateQueries({ queryKey: ["apps"] });
        setMade(created);
      }}
      onClose={onClose}
    >
      <Fields form={form} onChange={(changes) => setForm({ ...form, ...changes })} />
    </FormDialog>
  );
}

function isForPeople({ flow }: Form): boolean {
  return flow === "authorization_code";
}

function appOf(form: Form): NewApp {
  const { name, flow, events, secret } = form;
  const url = form.url.trim();
  return {
    name,
    flow,
    events,
    ...(isForPeople(form) ? { redirect_uris: linesOf(form.redirects) } : {}),
    ...(url ? { webhook_url: url } : {}),
    ...(secret ? { webhook_secret: secret } : {}),
  };
}

function Fields(props: { form: Form; onChange: (changes: Partial<Form>) => void }) {
  const { form, onChange } = props;
  return (
    <>
      <TextInput
        label="Name"
        description="People see it when they authorize the app."
        required
        maxLength={100}
        data-autofocus
        value={form.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Radio.Group
        label="Flow"
        value={form.flow}
        onChange={(next) => onChange({ flow: next as Form["flow"] })}
      >
        <Stack gap={6} mt="xs">
          {Object.entries(FLOWS).map(([value, { name, means }]) => (
            <Radio
              key={value}
              value={value}
              label={name}
              description={means}
              disabled={!mayHoldSecret(value as Form["flow"])}
            />
          ))}
        </Stack>
      </Radio.Group>
      {isForPeople(form) && (
        <Textarea
          label="Redirect URLs"
          description="One on each line. https, or http on localhost. None for webhooks only."
          rows={3}
          spellCheck={false}
          value={form.redirects}
          onChange={(event) => onChange({ redirects: event.currentTarget.value })}
        />
      )}
      <TextInput
        label="Webhook URL"
        description="Where events are sent. It can be set later."
        inputMode="url"
        spellCheck={false}
        value={form.url}
        onChange={(event) => onChange({ url: event.currentTarget.value })}
      />
      <PasswordInput
        label="Webhook secret"
        description="Signs every event. Leave it empty to have one generated."
        autoComplete="off"
        value={form.secret}
        onChange={(event) => onChange({ secret: event.currentTarget.value })}
      />
      <EventChoice chosen={form.events} onChange={(events) => onChange({ events })} />
    </>
  );
}
