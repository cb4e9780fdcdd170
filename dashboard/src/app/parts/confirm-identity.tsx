import { Anchor, Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useEffect, useState } from "react";
import { onConfirmationNeeded } from "../api.ts";
import { renewCsrf, session } from "../session.ts";
import { askForPasskey, CAN_USE_PASSKEY } from "./passkey.ts";

type Waiting = { resolve: (isConfirmed: boolean) => void };

/** Asks for the password, a code or a passkey where an act needs it, then lets that act go on. */
export function ConfirmIdentity() {
  const [waiting, setWaiting] = useState<Waiting | null>(null);
  useEffect(() => {
    onConfirmationNeeded(() => new Promise((resolve) => setWaiting({ resolve })));
  }, []);
  const end = (isConfirmed: boolean) => {
    waiting?.resolve(isConfirmed);
    setWaiting(null);
  };
  return (
    <Modal
      opened={waiting !== null}
      onClose={() => end(false)}
      title="Confirm that it is you"
      zIndex={400}
    >
      {waiting && <ConfirmForm onConfirmed={() => end(true)} onCancel={() => end(false)} />}
    </Modal>
  );
}

function ConfirmForm(props: { onConfirmed: () => void; onCancel: () => void }) {
  const [way, setWay] = useState<"password" | "code">("password");
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isSending, setSending] = useState(false);

  const send = async (proof: () => Promise<string | null>) => {
    setSending(true);
    const found = await proof();
    setSending(false);
    if (found === null) props.onConfirmed();
    else setProblem(found);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send(() => confirm(way, text));
  };
  const common = {
    value: text,
    error: problem,
    required: true,
    "data-autofocus": true,
    onChange: (event: { currentTarget: HTMLInputElement }) => setText(event.currentTarget.value),
  };
  const change = (next: "password" | "code") => {
    setWay(next);
    setText("");
    setProblem(null);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm">
          {way === "password" ? "Enter your password to go on." : "Enter a code to go on."}
        </Text>
        {way === "password" ? (
          <PasswordInput label="Password" autoComplete="current-password" {...common} />
        ) : (
          <TextInput label="Code" autoComplete="one-time-code" inputMode="numeric" {...common} />
        )}
        <Group justify="space-between">
          <Group gap="md">
            {session.has_factor && (
              <Anchor
                component="button"
                type="button"
                size="sm"
                onClick={() => change(way === "password" ? "code" : "password")}
              >
                {way === "password" ? "Use a code of your second factor" : "Use your password"}
              </Anchor>
            )}
            {CAN_USE_PASSKEY && (
              <Anchor
                component="button"
                type="button"
                size="sm"
                onClick={() => void send(confirmByPasskey)}
              >
                Use a passkey
              </Anchor>
            )}
          </Group>
          <Group gap="xs">
            <Button variant="default" onClick={props.onCancel}>
              Cancel
            </Button>
            <Button type="submit" loading={isSending}>
              Confirm
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

async function confirmByPasskey(): Promise<string | null> {
  const credential = await askForPasskey().catch(() => null);
  if (credential === null) return "No passkey was used. Try again, or choose another way.";
  return confirm("credential", credential);
}

const NAMES = { password: "password", code: "code", credential: "passkey" } as const;

/** The page of the same name takes the form; success is its redirect. Null, or what is wrong. */
async function confirm(way: keyof typeof NAMES, text: string): Promise<string | null> {
  try {
    const answer = await fetch("/confirm", {
      method: "POST",
      redirect: "manual",
      headers: { accept: "text/html" },
      body: new URLSearchParams({ csrf: session.csrf, [way]: text, next: "/dashboard" }),
    });
    if (answer.status === 429) return "Too many attempts. Wait a minute, then try again.";
    if (answer.status >= 500) return NOT_SENT;
    if (answer.type !== "opaqueredirect") return `The ${NAMES[way]} is not correct.`;
    await renewCsrf();
    return null;
  } catch {
    return NOT_SENT;
  }
}

const NOT_SENT = "This could not be sent. Try again.";
