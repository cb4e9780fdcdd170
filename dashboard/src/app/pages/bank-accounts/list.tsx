import { Button } from "@mantine/core";
import type { PaymentDetail } from "@sliproad/sdk";
import { useState } from "react";
import { Link } from "wouter";
import { ask } from "../../api.ts";
import { serviceNow } from "../../clock.ts";
import { among, isRecordId, readFilters, useFilters } from "../../parts/filters.ts";
import { ChoiceFilter, ListFilters, PersonFilter } from "../../parts/list-filters.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { DeactivateDialog } from "./deactivate-dialog.tsx";

type Row = {
  id: string;
  user_id: string;
  holder: string;
  bank: string;
  account: string;
  currency: string;
  rails: string;
  status: string;
  payer: string;
  times_paid: number;
  last_paid_at: string | null;
  cooling_off_until: string | null;
};
type Listed = { bank_accounts: Row[]; has_more: boolean; next: string | null };

const STATES: readonly PaymentDetail["status"][] = [
  ...(["pending", "approved", "failed", "deactivated"] as const),
];
const KNOWN = { user_id: isRecordId, status: among(STATES) };
const HOUR_MS = 3_600_000;
const TIMES_MAX = 100;

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Holder",
    is_title: true,
    cell: (row) => (
      <div>
        <div className="strong">{row.holder}</div>
        <div className="quiet">
          {row.bank} ··{row.account}
        </div>
      </div>
    ),
  },
  { name: "Currency", cell: (row) => row.currency.toUpperCase() },
  { name: "Rail", cell: (row) => row.rails.toUpperCase() },
  { name: "State", cell: (row) => <StatusChip status={row.status} /> },
  { name: "Cooling off", cell: (row) => <CoolingOff until={row.cooling_off_until} /> },
  { name: "Last paid", cell: (row) => <LastPaid row={row} /> },
  { name: "Belongs to", cell: (row) => <Link href={`/people/${row.user_id}`}>{row.payer}</Link> },
];

/** Every account that money can be paid out to. */
export function BankAccountList() {
  const [chosen, choose] = useState<Row | null>(null);
  const { filters: given, setFilter, clearFilters } = useFilters();
  const { filters } = readFilters(given, KNOWN);
  const change: Column<Row> = {
    name: "Change",
    cell: (row) =>
      row.status !== "deactivated" && (
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Deactivate ${row.holder} ··${row.account}`}
          onClick={() => choose(row)}
        >
          Deactivate
        </Button>
      ),
  };
  return (
    <>
      <PageHead title="Bank accounts">
        {may("prepare_payouts") && (
          <Button component={Link} href="/bank-accounts/new">
            Add a bank account
          </Button>
        )}
      </PageHead>
      <ListFilters>
        <PersonFilter {...{ filters, setFilter }} label="Belongs to" />
        <ChoiceFilter
          {...{ filters, setFilter }}
          name="status"
          label="State"
          options={STATES.map((status) => [status, statusName(status)])}
        />
      </ListFilters>
      <RecordTable
        label="Bank accounts, newest first"
        query_key={["bank-accounts", filters]}
        load={async (starting_after) => {
          const query = { ...filters, limit: "50", starting_after };
          const page = await ask<Listed>("/bank_accounts", query);
          return { rows: page.bank_accounts, has_more: page.has_more, next: page.next };
        }}
        columns={may("prepare_payouts") ? [...COLUMNS, change] : COLUMNS}
        empty={
          Object.keys(filters).length > 0 ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No bank account yet">
              A bank account appears here as soon as somebody adds it.
            </Empty>
          )
        }
      />
      {chosen && (
        <DeactivateDialog
          user_id={chosen.user_id}
          id={chosen.id}
          name={`${chosen.holder}, ${chosen.bank} ··${chosen.account}`}
          onClose={() => choose(null)}
        />
      )}
    </>
  );
}

/** Until then it receives refunds and money from balances only after approval. */
function CoolingOff({ until }: { until: string | null }) {
  const left_ms = until === null ? 0 : new Date(until).getTime() - serviceNow();
  if (left_ms <= 0) return <span className="none">–</span>;
  return <>{Math.ceil(left_ms / HOUR_MS)} h left</>;
}

function LastPaid({ row: { last_paid_at, times_paid } }: { row: Row }) {
  if (last_paid_at === null) return <span className="none">Never</span>;
  const times = times_paid >= TIMES_MAX ? `${TIMES_MAX}+` : String(times_paid);
  return (
    <div>
      <Moment at={last_paid_at} />
      <div className="quiet">{times === "1" ? "paid once" : `paid ${times} times`}</div>
    </div>
  );
}
