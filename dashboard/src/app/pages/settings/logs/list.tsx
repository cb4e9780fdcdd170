import { Button, Group, SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { useFilters } from "../../../parts/filters.ts";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { RecordId } from "../../../parts/record-id.tsx";
import {
  type Column,
  LOOK_EVERY_MS,
  NothingMatches,
  RecordTable,
} from "../../../parts/record-table.tsx";
import { Empty } from "../../../parts/states.tsx";
import { nameActor } from "../audit/sentences.ts";
import { StatusCode } from "./detail.tsx";
import { type LoggedRequest, loadRequests, type RequestFilters } from "./request.ts";

const LOGS_PATH = "/settings/developer/logs";
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

type Row = LoggedRequest & { who: string };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Request",
    is_title: true,
    cell: ({ method, path }) => (
      <code className="breakable">
        <span className="strong">{method}</span> {shorten(path)}
      </code>
    ),
  },
  {
    name: "Answer",
    cell: (row) => <StatusCode request={row} />,
  },
  { name: "Who", cell: ({ who }) => <span className="breakable">{who}</span> },
  { name: "Took", is_amount: true, cell: ({ duration_ms }) => `${duration_ms} ms` },
  { name: "Id", cell: ({ id }) => <RecordId id={id} /> },
  { name: "Time", cell: ({ at }) => <Moment at={at} /> },
];

/** Ids by their ends, which is enough to tell them apart. */
function shorten(path: string): string {
  return path.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{4}([0-9a-f]{8})/g, "…$1");
}

/** Every write and every refused request, newest first. */
export function RequestList() {
  const { filters, setFilter, clearFilters } = useFilters();
  const wanted: RequestFilters = {
    refused: filters.refused === "true" ? "true" : undefined,
    error_code: filters.error_code,
    actor: filters.actor,
  };
  const is_filtered = Object.values(wanted).some(Boolean);
  return (
    <>
      <PageHead title="Logs" />
      <Lead />
      <Group align="end" mb="md">
        <FindById />
        <SegmentedControl
          aria-label="Which requests"
          data={[
            { value: "all", label: "All" },
            { value: "refused", label: "Refused" },
          ]}
          value={wanted.refused || wanted.error_code ? "refused" : "all"}
          onChange={(next) => {
            if (next === "all") clearFilters();
            else setFilter("refused", "true");
          }}
        />
      </Group>
      <Refusals chosen={wanted.error_code} onChoose={(code) => setFilter("error_code", code)} />
      <RecordTable<Row>
        label="Requests, newest first"
        query_key={["requests", "list", wanted]}
        look_every_ms={LOOK_EVERY_MS}
        load={async (starting_after) => {
          const { requests, names, has_more } = await loadRequests(wanted, starting_after);
          const rows = requests.map((one) => ({ ...one, who: nameActor(one, { names }) }));
          return { rows, has_more };
        }}
        columns={COLUMNS}
        pathOf={({ id }) => `${LOGS_PATH}/${id}`}
        empty={
          is_filtered ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No request yet">
              Every change that is sent to the API, and everything it refuses, is listed here a
              second later.
            </Empty>
          )
        }
      />
    </>
  );
}

function useFirstPage() {
  return useQuery({
    queryKey: ["requests", "first"],
    queryFn: () => loadRequests({}),
    refetchInterval: LOOK_EVERY_MS,
  }).data;
}

function Lead() {
  const page = useFirstPage();
  if (!page) return null;
  if (page.days === 0) return <p className="lead">The operator has turned off this log.</p>;
  return (
    <p className="lead">
      Changes that were sent to the API, and everything that it refused, for {page.days} days.
      Bodies are not kept.
    </p>
  );
}

/** The most frequent reasons of the last 24 hours, as filters. */
function Refusals(props: { chosen: string | undefined; onChoose: (code: string | null) => void }) {
  const { chosen, onChoose } = props;
  const refusals = useFirstPage()?.refusals ?? [];
  if (refusals.length === 0 && !chosen) return null;
  const codes = refusals.map(({ error_code }) => error_code);
  const shown =
    chosen && !codes.includes(chosen) ? [...refusals, { error_code: chosen, count: 0 }] : refusals;
  return (
    <Group gap="xs" mb="md">
      <span className="quiet">Refused in the last 24 hours:</span>
      {shown.map(({ error_code, count }) => (
        <Button
          key={error_code}
          size="compact-sm"
          variant={chosen === error_code ? "filled" : "default"}
          aria-pressed={chosen === error_code}
          onClick={() => onChoose(chosen === error_code ? null : error_code)}
        >
          {error_code} · {count}
        </Button>
      ))}
    </Group>
  );
}

function FindById() {
  const [text, setText] = useState("");
  const [, navigate] = useLocation();
  const id = text.trim();
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (ID.test(id)) navigate(`${LOGS_PATH}/${id.toLowerCase()}`);
  };
  return (
    <form className="filter-wide" onSubmit={onSubmit}>
      <TextInput
        label="Request id"
        placeholder="From the header X-Request-Id"
        error={id !== "" && !ID.test(id) ? "Paste the whole id, 36 characters." : undefined}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
