import { Button, Group } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { DownloadAll } from "../../../parts/download-records.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { SecretDialog } from "../../../parts/secret-dialog.tsx";
import { Empty, Failure, Loading } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import { may } from "../../../session.ts";
import { CreateKeyDialog, RevokeDialog, RotateDialog } from "./dialogs.tsx";
import { type ApiKey, isEnded, type MadeKey, useKeys } from "./key.ts";

type Open = { act: "create" } | { act: "rotate" | "revoke"; key: ApiKey };

/** The keys that programs sign in with. */
export default function KeysPage() {
  const shown = useKeys();
  const [open, setOpen] = useState<Open | null>(null);
  const [made, setMade] = useState<MadeKey | null>(null);
  const close = () => setOpen(null);
  const onMade = (key: MadeKey) => {
    close();
    setMade(key);
  };
  const mayManage = may("manage_keys");
  const scopes = shown.data?.scopes ?? [];
  return (
    <>
      <PageHead title="API keys">
        {mayManage && (
          <Button
            leftSection={<Icon name="plus" size={16} />}
            disabled={!shown.data}
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
      {shown.isPending && <Loading />}
      {shown.isError && (
        <Failure
          error={shown.error}
          onRetry={() => shown.refetch()}
          is_update={shown.data !== undefined}
        />
      )}
      {shown.data?.keys.length === 0 && (
        <Empty title="No keys yet">Programs need one to use the API.</Empty>
      )}
      {shown.data && shown.data.keys.length > 0 && (
        <>
          <DownloadAll label="API keys" rows={shown.data.keys} />
          <KeyTable keys={shown.data.keys} onAct={mayManage ? setOpen : null} />
        </>
      )}
      {open?.act === "create" && (
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

function KeyTable(props: { keys: readonly ApiKey[]; onAct: ((open: Open) => void) | null }) {
  const { keys, onAct } = props;
  return (
    <table className="records" aria-label="API keys, newest first">
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">May do</th>
          <th scope="col">From</th>
          <th scope="col">Last used</th>
          <th scope="col">Created</th>
          <th scope="col">State</th>
          {onAct && <th scope="col">Change</th>}
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <Cells of={key} />
            {onAct && (
              <td data-label="Change">
                {!isEnded(key) && (
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
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cells({ of: key }: { of: ApiKey }) {
  return (
    <>
      <td data-label="Key" className="title">
        <div className="strong">{key.name || "No name"}</div>
        <code className="quiet">
          {key.prefix}…{key.last_four}
        </code>
      </td>
      <td data-label="May do">{key.scopes ? key.scopes.join(", ") : "Everything"}</td>
      <td data-label="From">{key.networks ? key.networks.join(", ") : "Anywhere"}</td>
      <td data-label="Last used">
        {key.used_at ? <Moment at={key.used_at} /> : <span className="none">Never</span>}
      </td>
      <td data-label="Created">
        <div>
          <Moment at={key.created_at} />
          {key.created_by && <div className="quiet breakable">{key.created_by}</div>}
        </div>
      </td>
      <td data-label="State">{stateOf(key)}</td>
    </>
  );
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
