import { Button } from "@mantine/core";
import { Link } from "wouter";
import { ask } from "../../../api.ts";
import { loadNames, type Names } from "../../../names.ts";
import { Moment } from "../../../parts/moment.tsx";
import { PageHead } from "../../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../../parts/record-table.tsx";
import { Empty } from "../../../parts/states.tsx";
import { StatusChip } from "../../../parts/status-chip.tsx";
import type { BatchList as Listed, Summary } from "./batch.ts";

type Row = Summary & { names: Names };

const STATES = {
  draft: ["needs_you", "Not created"],
  creating: ["needs_you", "Partly created"],
  created: ["done", "Created"],
} as const;

const COLUMNS: readonly Column<Row>[] = [
  { name: "File", cell: (row) => <span className="strong">{row.file_name}</span>, is_title: true },
  { name: "Rows", cell: (row) => row.row_count, is_amount: true },
  { name: "State", cell: (row) => <State status={row.status} /> },
  { name: "Payer", cell: (row) => row.names.users[row.user_id]?.name ?? "Erased" },
  { name: "Uploaded by", cell: (row) => row.names.actors[idOf(row.created_by)] ?? "A member" },
  { name: "Uploaded", cell: (row) => <Moment at={row.created_at} /> },
  { name: "Kept until", cell: (row) => <Moment at={row.expires_at} /> },
];

/** Files of payouts that were uploaded in the last days. */
export function BatchList() {
  const create = (
    <Button component={Link} href="/payouts/batches/new">
      New batch
    </Button>
  );
  return (
    <>
      <nav aria-label="Back" className="back">
        <Link href="/payouts">‹ Payouts</Link>
      </nav>
      <PageHead title="Batches">{create}</PageHead>
      <RecordTable
        label="Batches, newest first"
        query_key={["batches", "listed"]}
        load={loadRows}
        columns={COLUMNS}
        pathOf={(row) => `/payouts/batches/${row.id}`}
        empty={
          <Empty title="No files yet" action={create}>
            Upload a file of payouts: you see every problem before anything is created.
          </Empty>
        }
      />
    </>
  );
}

async function loadRows(starting_after: string | undefined) {
  const { batches, next } = await ask<Listed>("/batches", { starting_after });
  const names = await loadNames({
    users: batches.map((row) => row.user_id),
    actors: batches.map((row) => idOf(row.created_by)),
  });
  return { rows: batches.map((row) => ({ ...row, names })), has_more: next !== null, next };
}

function idOf(actor: string): string {
  return actor.split(":")[1] ?? "";
}

function State({ status }: { status: Summary["status"] }) {
  const [family, name] = STATES[status];
  return <StatusChip status={name} family={family} />;
}
