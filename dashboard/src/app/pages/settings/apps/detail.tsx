import { Button } from "@mantine/core";
import type { App } from "@sliproad/sdk";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation } from "wouter";
import { api } from "../../../api.ts";
import { FormDialog, ProblemAlert } from "../../../parts/form-dialog.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { may, session } from "../../../session.ts";
import { APPS_PATH, refreshApp, useApp } from "./app.ts";
import { DeliveryLog } from "./delivery-log.tsx";
import { OAuthCard } from "./oauth-card.tsx";
import { ReplayDialog } from "./replay-dialog.tsx";
import { SetupCard } from "./setup-card.tsx";
import { TestDialog } from "./test-dialog.tsx";
import { WebhookCard } from "./webhook-card.tsx";

/** One application: whether events reach it, how it is set up, and what was sent. */
export function AppDetail({ id }: { id: string }) {
  const shown = useApp(id);
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href={APPS_PATH}>‹ Apps</Link>
      </nav>
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data && <Shown app={shown.data} />}
    </>
  );
}

function Shown({ app }: { app: App }) {
  return (
    <>
      <PageHead title={app.name}>{may("manage_apps") && <Actions app={app} />}</PageHead>
      <div className="settings-columns">
        <div className="settings-stack">
          <SetupCard app={app} />
          <OAuthCard app={app} />
        </div>
        <WebhookCard app={app} />
      </div>
      <DeliveryLog app={app} />
    </>
  );
}

type Dialog = "test" | "replay" | "delete";

function Actions({ app }: { app: App }) {
  const [open, setOpen] = useState<Dialog | null>(null);
  const close = () => setOpen(null);
  const { state } = app.webhook;
  const isReady = state === "active" || state === "paused";
  const switching = useMutation({
    mutationFn: () => (state === "active" ? api.apps.pause(app.id) : api.apps.resume(app.id)),
    onSuccess: () => refreshApp(app.id),
  });
  const dialogs: Record<Dialog, ReactNode> = {
    test: <TestDialog app={app} onClose={close} />,
    replay: <ReplayDialog app={app} onClose={close} />,
    delete: <DeleteDialog app={app} onClose={close} />,
  };
  return (
    <>
      {session.mode === "sandbox" && (
        <Button disabled={!isReady} onClick={() => setOpen("test")}>
          Send test event
        </Button>
      )}
      <Button variant="default" disabled={!isReady} onClick={() => setOpen("replay")}>
        Replay
      </Button>
      {(isReady || state === "disabled") && (
        <Button variant="default" loading={switching.isPending} onClick={() => switching.mutate()}>
          {state === "active" ? "Pause" : "Resume"}
        </Button>
      )}
      <Button variant="default" onClick={() => setOpen("delete")}>
        Delete
      </Button>
      <ProblemAlert error={switching.error} />
      {open && dialogs[open]}
    </>
  );
}

function DeleteDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const [, navigate] = useLocation();
  return (
    <FormDialog
      title={`Delete ${app.name}`}
      act="Delete permanently"
      is_dangerous
      send={() => api.apps.delete(app.id)}
      onDone={() => {
        navigate(APPS_PATH, { replace: true });
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <p className="dialog-text">
        Its tokens and the consents of people end at once, and it receives no more events. This
        cannot be taken back.
      </p>
    </FormDialog>
  );
}
