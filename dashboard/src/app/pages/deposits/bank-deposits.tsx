import { Button, Menu, Select } from "@mantine/core";
import type { Deposit } from "@sliproad/sdk";
import { useState } from "react";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { useFilters } from "../../parts/filters.ts";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { plainText } from "../../parts/plain-text.ts";
import {
  type Column,
  LOOK_EVERY_MS,
  NothingMatches,
  RecordTable,
} from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may, session } from "../../session.ts";
import { type Decision, DecisionDialog } from "./decision-dialog.tsx";

const DECISIONS: readonly Decision[] = [
  {
    name: "Match",
    act: "Match",
    means: "The deposit pays this onramp. The amount must be exact.",
    takes_onramp: true,
    needs_reason: false,
    decide: (id, onramp, options) => api.deposits.match(id, onramp, options),
  },
  {
    name: "Accept difference",
    act: "Accept",
    means:
      "The onramp is delivered in full. The operator pays for what is missing; what is too much " +
      "waits here as a deposit of its own.",
    takes_onramp: true,
    needs_reason: true,
    decide: (id, onramp, options) => api.deposits.acceptDifference(id, onramp, options),
  },
  {
    name: "Return",
    act: "Return",
    means: "The bank sends the money back to its payer.",
    takes_onramp: false,
    needs_reason: true,
    decide: (id, _, options) => api.deposits.return(id, options),
  },
  {
    name: "Dismiss",
    act: "Dismiss",
    means: "This was no money of its own, for example a line that was reported twice.",
    takes_onramp: false,
    needs_reason: true,
    decide: (id, _, options) => api.deposits.dismiss(id, options),
  },
];

const WAITING = "unmatched";
const STATES = [
  ...[WAITING, "matching", "matched", "releasing", "returning", "returned"],
  ...["dismissed", "kept"],
] as const satisfies Deposit["status"][];
type State = (typeof STATES)[number] | "all";

const COLUMNS: readonly Column<Deposit>[] = [
  {
    name: "Payer",
    cell: (row) => (
      <div>
        <div className="strong">{row.payer_name || "Unknown payer"}</div>
        <div className="quiet">“{row.text}”</div>
      </div>
    ),
    is_title: true,
  },
  {
    name: "Amount",
    cell: (row) => <Amount value={row.amount} currency={row.currency} />,
    is_amount: true,
  },
  { name: "State", cell: (row) => <DepositState row={row} /> },
  { name: "Pays for", cell: (row) => <PaidOnramp row={row} /> },
  { name: "Bank reference", cell: (row) => row.bank_reference },
  { name: "Booked", cell: (row) => <Moment at={row.booked_at} /> },
];

/** What the bank credited: first what waits for a decision of the operator. */
export function BankDeposits() {
  const { filters, setFilter } = useFilters();
  const all = filters.state === "all" ? filters.state : null;
  const state: State = all ?? STATES.find((known) => known === filters.state) ?? WAITING;
  const [chosen, choose] = useState<{ deposit: Deposit; decision: Decision } | null>(null);
  const decide: Column<Deposit> = {
    name: "Decide",
    cell: (row) =>
      row.status === WAITING && (
        <Decide deposit={row} onChoose={(decision) => choose({ deposit: row, decision })} />
      ),
  };
  return (
    <>
      <Select
        className="filter"
        label="State"
        mb="md"
        data={[
          ...STATES.map((value) => ({ value: value as string, label: statusName(value) })),
          { value: "all", label: "All" },
        ]}
        value={state}
        allowDeselect={false}
        onChange={(next) => setFilter("state", next === WAITING ? null : next)}
      />
      <RecordTable
        label="Bank deposits, newest first"
        query_key={["deposits", "bank", state]}
        look_every_ms={LOOK_EVERY_MS}
        load={(starting_after) => loadDeposits(state, starting_after)}
        columns={may("operate") ? [...COLUMNS, decide] : COLUMNS}
        empty={
          state === WAITING ? (
            <Empty title="Nothing waits">Every deposit was matched to what it pays for.</Empty>
          ) : (
            <NothingMatches onClear={() => setFilter("state", null)} />
          )
        }
      />
      {chosen && <DecisionDialog {...chosen} onClose={() => choose(null)} />}
    </>
  );
}

function DepositState({ row }: { row: Deposit }) {
  return (
    <div>
      <StatusChip status={row.status} />
      {row.message && <div className="quiet">{plainText(row.message)}</div>}
    </div>
  );
}

/** Only onramps of the account that is open can be opened. */
function PaidOnramp({ row }: { row: Deposit }) {
  if (!row.onramp_id) return <span className="none">–</span>;
  if (row.account_id !== session.account.id) return "Of another account";
  return <Link href={`/deposits/${row.onramp_id}`}>Its onramp</Link>;
}

function Decide(props: { deposit: Deposit; onChoose: (decision: Decision) => void }) {
  const { deposit, onChoose } = props;
  const amount = formatAmount(deposit.amount, deposit.currency);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          size="compact-sm"
          variant="default"
          aria-label={`Decide on ${amount} ${deposit.currency.toUpperCase()}`}
        >
          Decide
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {DECISIONS.map((decision) => (
          <Menu.Item key={decision.name} onClick={() => onChoose(decision)}>
            {decision.name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

async function loadDeposits(state: State, starting_after?: string) {
  const query = {
    ...(state === "all" ? {} : { status: state }),
    ...(starting_after ? { starting_after } : {}),
  };
  const page = await api.deposits.list({ ...query, limit: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
