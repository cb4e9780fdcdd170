import { Button } from "@mantine/core";
import type { App } from "@sliproad/sdk";
import { useState } from "react";
import { api } from "../../../api.ts";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../../parts/record-table.tsx";
import { Empty } from "../../../parts/states.tsx";
import { may } from "../../../session.ts";
import { APPS_PATH, FLOWS } from "./app.ts";
import { CreateDialog } from "./create-dialog.tsx";
import { WebhookChip } from "./webhook-chip.tsx";

const COLUMNS: readonly Column<App>[] = [
  {
    name: "App",
    is_title: true,
    cell: (app) => (
      <div>
        <div className="strong">{app.name}</div>
        <div className="quiet">{FLOWS[app.flow].name}</div>
      </div>
    ),
  },
  {
    name: "Webhook",
    cell: ({ webhook }) =>
      webhook.url ? (
        <span className="breakable">{webhook.url}</span>
      ) : (
        <span className="none">None</span>
      ),
  },
  {
    name: "Events",
    cell: ({ webhook }) => (
      <div>
        <WebhookChip webhook={webhook} />
        {webhook.state !== "active" && webhook.reason && (
          <div className="quiet why">{webhook.reason}</div>
        )}
      </div>
    ),
  },
  {
    name: "First used",
    cell: ({ used_at }) =>
      used_at ? <Moment at={used_at} /> : <span className="none">Not yet</span>,
  },
  { name: "Created", cell: ({ created_at }) => <Moment at={created_at} /> },
];

/** The applications of the account. */
export function AppList() {
  const [isOpen, setOpen] = useState(false);
  const create = may("manage_apps") && (
    <Button leftSection={<Icon name="plus" size={16} />} onClick={() => setOpen(true)}>
      Create app
    </Button>
  );
  return (
    <>
      <PageHead title="Apps">{create}</PageHead>
      <p className="lead">
        An app receives webhooks, and can ask for access tokens with its client id and secret.
      </p>
      <RecordTable
        label="Apps, newest first"
        query_key={["apps"]}
        load={loadRows}
        columns={COLUMNS}
        pathOf={({ id }) => `${APPS_PATH}/${id}`}
        empty={
          <Empty title="No apps yet">
            Create one to be told about payouts and invoices as they change.
          </Empty>
        }
      />
      {isOpen && <CreateDialog onClose={() => setOpen(false)} />}
    </>
  );
}

async function loadRows(starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.apps.list({ ...after, limit: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
