import { Group, Radio, Stack, Text, TextInput } from "@mantine/core";
import type { App } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, messageOf } from "../../../api.ts";
import { FormDialog } from "../../../parts/form-dialog.tsx";
import { refreshApp } from "./app.ts";

type Count = { count: number; is_more: boolean };

/** Sends the events of a period again; how many is said before anything is sent. */
export function ReplayDialog({ app, onClose }: { app: App; onClose: () => void }) {
  const [which, setWhich] = useState<"failed" | "all">("failed");
  const [from, setFrom] = useState(() => localText(new Date(Date.now() - 86_400_000)));
  const [to, setTo] = useState("");
  const range = { from: isoOf(from), to: isoOf(to), only_failed: which === "failed" };
  const counted = useQuery({
    queryKey: ["replay-count", app.id, range],
    queryFn: () => countReplay(app.id, range),
    enabled: range.from !== undefined,
  });
  const { data } = counted;
  return (
    <FormDialog
      title={`Replay events to ${app.name}`}
      act={data?.count ? `Send ${sayCount(data)} again` : "Send again"}
      is_ready={data !== undefined && data.count > 0}
      send={() =>
        api.apps.replay(app.id, {
          from: range.from ?? "",
          ...(range.to ? { to: range.to } : {}),
          only_failed: range.only_failed,
        })
      }
      onDone={() => {
        onClose();
        void refreshApp(app.id);
      }}
      onClose={onClose}
    >
      <Radio.Group
        label="Which events"
        value={which}
        onChange={(next) => setWhich(next as "failed" | "all")}
      >
        <Stack gap={6} mt="xs">
          <Radio value="failed" label="Those that failed or were skipped" />
          <Radio value="all" label="All, also those that were delivered" />
        </Stack>
      </Radio.Group>
      <Group grow>
        <TextInput
          type="datetime-local"
          label="From"
          required
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label="To (empty: now)"
          value={to}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
      </Group>
      <Text size="sm" role="status">
        {counted.isError && messageOf(counted.error)}
        {data?.count === 0 && "No event of this period would be sent."}
        {data && data.count > 0 && `${capitalised(sayCount(data))} of this period will be sent.`}
      </Text>
    </FormDialog>
  );
}

function countReplay(
  app_id: string,
  range: { from: string | undefined; to: string | undefined; only_failed: boolean },
): Promise<Count> {
  const { from, to, only_failed } = range;
  return ask<Count>(`/apps/${app_id}/replay_count`, { from, to, only_failed: String(only_failed) });
}

function sayCount({ count, is_more }: Count): string {
  if (is_more) return `more than ${count} events`;
  return count === 1 ? "1 event" : `${count} events`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The time that the field shows, in the zone of the reader. */
function localText(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

function isoOf(text: string): string | undefined {
  const time = new Date(text);
  return text === "" || Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
