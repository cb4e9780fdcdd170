import { Button, Group } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../../parts/record-table.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { Empty } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import { may } from "../../../session.ts";
import { CreateKeyDialog, RevokeDialog, RotateDialog } from "./dialogs.tsx";
import { type ApiKey, isEnded, loadKeys, type MadeKey, useScopes } from "./key.ts";

type Open = { act: "create" } | { act: "rotate" | "revoke"; key: ApiKey };

/** The keys that programs sign in with. */
export default function KeysPage() {
  const scopes = useScopes();
  const [open, setOpen] = useState<Open | null>(null);
  const [made, setMade] = useState<MadeKey | null>(null);
  const close = () => setOpen(null);
  const onMade = (key: MadeKey) => {
    close();
    setMade(key);
  };
  const mayManage = may("manage_keys");
  return (
    <>
      <PageHead title="API keys">
        {mayManage && (
          <Button
            leftSection={<Icon name="plus" size={16} />}
            disabled={!scopes}
            onClick={() => setOpen({ act: "create" })}
          >
            Create key
          </Button>
        )}
      </PageHead>
      <p className="lead">
        A key acts for the account. What it asks for counts as asked by who created it.
        {!mayManage && " Only admins create and revoke keys."}
      </p>
      <RecordTable
        label="API keys, newest first"
        query_key={["keys", "listed"]}
        load={loadKeys}
        columns={mayManage ? [...COLUMNS, changeColumn(setOpen)] : COLUMNS}
        empty={<Empty title="No keys yet">Programs need one to use the API.</Empty>}
      />
      {open?.act === "create" && scopes && (
        <CreateKeyDialog scopes={scopes} onMade={onMade} onClose={close} />
      )}
      {open?.act === "rotate" && <RotateDialog of={open.key} onMade={onMade} onClose={close} />}
      {open?.act === "revoke" && <RevokeDialog of={open.key} onClose={close} />}
      {made && (
        <SecretDialog
          title={`API key ${made.api_key.name}`}
          secrets={[{ name: "API key", value: made.key }]}
          onClose={() => setMade(null)}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<ApiKey>[] = [
  {
    name: "Key",
    is_title: true,
    cell: (key) => (
      <div>
        <div className="strong">{key.name || "No name"}</div>
        <code className="quiet">
          {key.prefix}…{key.last_four}
        </code>
      </div>
    ),
  },
  { name: "May do", cell: ({ scopes }) => scopes?.join(", ") ?? "Everything" },
  { name: "From", cell: ({ networks }) => networks?.join(", ") ?? "Anywhere" },
  {
    name: "Last used",
    cell: ({ used_at }) =>
      used_at ? <Moment at={used_at} /> : <span className="none">Never</span>,
  },
  {
    name: "Created",
    cell: (key) => (
      <div>
        <Moment at={key.created_at} />
        {key.created_by && <div className="quiet breakable">{key.created_by}</div>}
        {key.has_creator_left && <div>No longer a member: rotate or revoke this key.</div>}
      </div>
    ),
  },
  { name: "State", cell: stateOf },
];

function changeColumn(onAct: (open: Open) => void): Column<ApiKey> {
  return {
    name: "Change",
    cell: (key) =>
      !isEnded(key) && (
        <Group gap={6} wrap="nowrap">
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Rotate ${key.name}`}
            onClick={() => onAct({ act: "rotate", key })}
          >
            Rotate
          </Button>
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`Revoke ${key.name}`}
            onClick={() => onAct({ act: "revoke", key })}
          >
            Revoke
          </Button>
        </Group>
      ),
  };
}

function stateOf(key: ApiKey): ReactNode {
  if (key.revoked_at) return <StatusChip status="Revoked" family="failed" />;
  if (isEnded(key)) return <StatusChip status="Expired" family="failed" />;
  return (
    <div>
      <StatusChip status="Active" family="done" />
      {key.expires_at && (
        <div className="quiet">
          until <Moment at={key.expires_at} />
        </div>
      )}
    </div>
  );
}
