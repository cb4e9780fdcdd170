import { Button, Group, Select, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { toCsv } from "../../../parts/csv.ts";
import { useFilters } from "../../../parts/filters.ts";
import { ProblemAlert } from "../../../parts/form-dialog.tsx";
import { Icon } from "../../../parts/icons.tsx";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { NothingMatches } from "../../../parts/record-table.tsx";
import { saveFile } from "../../../parts/save-file.ts";
import { ShowMore } from "../../../parts/show-more.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { type AuditFilters, loadAudit, loadForExport } from "./audit.ts";
import type { Entry, Known } from "./entry.ts";
import { pathOfEntry } from "./links.ts";
import { factsOf, nameActor, partsOfAction, sayAction } from "./sentences.ts";

const KINDS = [
  { value: "session", label: "Signing in and out" },
  { value: "second_factor", label: "Second factors" },
  { value: "member", label: "Members" },
  { value: "api_key", label: "API keys" },
  { value: "app", label: "Apps" },
  { value: "proposal", label: "Approvals" },
  { value: "account", label: "The account" },
  { value: "quote", label: "Quotes" },
  { value: "offramp", label: "Payouts" },
  { value: "payout_batch", label: "Files of payouts" },
  { value: "refund", label: "Refunds" },
  { value: "deposit", label: "Deposits" },
  { value: "bank_exception", label: "Bank exceptions" },
  { value: "payment_detail", label: "Bank accounts" },
  { value: "document", label: "Documents" },
  { value: "kyc", label: "Identity reviews" },
  { value: "user", label: "Users" },
];

/** Who did what in the account, as sentences. */
export default function AuditPage() {
  const { filters, setFilter, clearFilters } = useFilters();
  const since = /^\d{4}-\d{2}-\d{2}$/.test(filters.since ?? "") ? filters.since : undefined;
  const wanted: AuditFilters = {
    actor: filters.actor,
    kind: filters.kind,
    created_after: since && `${since}T00:00:00Z`,
  };
  const listed = useInfiniteQuery({
    queryKey: ["audit", wanted],
    queryFn: ({ pageParam }) => loadAudit(wanted, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const pages = listed.data?.pages ?? [];
  const entries = pages.flatMap((page) => page.entries);
  const known: Known = {
    names: Object.assign({}, ...pages.map((page) => page.names)),
    records: Object.assign({}, ...pages.map((page) => page.records)),
  };
  return (
    <>
      <PageHead title="Audit log">
        <ExportButton filters={wanted} />
      </PageHead>
      <Group align="end" mb="md">
        <Select
          label="About"
          className="filter"
          placeholder="Everything"
          clearable
          data={KINDS}
          value={filters.kind ?? null}
          onChange={(next) => setFilter("kind", next)}
        />
        <TextInput
          label="Since"
          className="filter"
          type="date"
          value={since ?? ""}
          onChange={(event) => setFilter("since", event.currentTarget.value)}
        />
        {filters.actor && (
          <Button variant="default" onClick={() => setFilter("actor", null)}>
            Only one person: show all
          </Button>
        )}
      </Group>
      {listed.isPending && <Loading />}
      {listed.isError && (
        <Failure
          error={listed.error}
          onRetry={() => listed.refetch()}
          is_update={listed.data !== undefined}
        />
      )}
      {listed.data && entries.length === 0 && <NothingMatches onClear={clearFilters} />}
      {entries.length > 0 && (
        <AuditTable {...{ entries, known }} onActor={(actor) => setFilter("actor", actor)} />
      )}
      <ShowMore listed={listed} />
    </>
  );
}

function AuditTable(props: {
  entries: readonly Entry[];
  known: Known;
  onActor: (actor: string) => void;
}) {
  const { entries, known, onActor } = props;
  return (
    <table className="records" aria-label="Audit log, newest first">
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Reason</th>
          <th scope="col">Set to</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id}>
            <td data-label="What" className="title">
              <div>
                <button
                  type="button"
                  className="unfold strong"
                  title="Show only what they did"
                  onClick={() => onActor(entry.actor)}
                >
                  {nameActor(entry, known)}
                </button>{" "}
                <Action {...{ entry, known }} />
              </div>
            </td>
            <td data-label="Reason" className="breakable">
              {entry.reason || <span className="none">–</span>}
            </td>
            <td data-label="Set to">
              <Detail facts={factsOf(entry, known)} />
            </td>
            <td data-label="Time">
              <Moment at={entry.at} is_exact />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Action({ entry, known }: { entry: Entry; known: Known }) {
  const [before, it, after] = partsOfAction(entry, known);
  const path = pathOfEntry(entry, known);
  return (
    <span className="breakable">
      {before}
      {path && it ? <Link href={path}>{it}</Link> : it}
      {after}
    </span>
  );
}

function Detail({ facts }: { facts: ReturnType<typeof factsOf> }) {
  if (facts.length === 0) return <span className="none">–</span>;
  return (
    <div>
      {facts.map(([name, value]) => (
        <div key={name} className="quiet breakable">
          {name}: {value}
        </div>
      ))}
    </div>
  );
}

function ExportButton({ filters }: { filters: AuditFilters }) {
  const [count, setCount] = useState(0);
  const exporting = useMutation({
    mutationFn: () => loadForExport(filters, setCount),
    onSuccess: ({ entries, ...known }) => {
      const rows = entries.map((entry) => [
        ...[entry.at, nameActor(entry, known), entry.actor, entry.action],
        ...[sayAction(entry, known), entry.record, entry.reason, JSON.stringify(entry.detail)],
        entry.id,
      ]);
      const heads = ["time", "who", "actor", "action", "what", "record", "reason", "detail", "id"];
      saveFile("audit-log.csv", toCsv([heads, ...rows]));
    },
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon name="download" size={16} />}
        disabled={exporting.isPending}
        onClick={() => exporting.mutate()}
      >
        {exporting.isPending ? `${count} entries…` : "Export CSV"}
      </Button>
      <ProblemAlert error={exporting.error} />
    </>
  );
}
