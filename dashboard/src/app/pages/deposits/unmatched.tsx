import { Button, Menu } from "@mantine/core";
import type { Deposit } from "@sliproad/sdk";
import { useState } from "react";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { plainText } from "../../parts/plain-text.ts";
import { type Column, LOOK_EVERY_MS, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { may } from "../../session.ts";
import { type Decision, DecisionDialog } from "./decision-dialog.tsx";

const DECISIONS: readonly Decision[] = [
  {
    name: "Match",
    means: "The deposit pays this onramp. The amount must be exact.",
    takes_onramp: true,
    needs_reason: false,
    decide: (id, onramp, options) => api.deposits.match(id, onramp, options),
  },
  {
    name: "Accept difference",
    means: "The onramp is delivered in full; the operator pays for what is missing.",
    takes_onramp: true,
    needs_reason: true,
    decide: (id, onramp, options) => api.deposits.acceptDifference(id, onramp, options),
  },
  {
    name: "Return",
    means: "The bank sends the money back to its payer.",
    takes_onramp: false,
    needs_reason: true,
    decide: (id, _, options) => api.deposits.return(id, options),
  },
  {
    name: "Dismiss",
    means: "This was no money of its own, for example a line that was reported twice.",
    takes_onramp: false,
    needs_reason: true,
    decide: (id, _, options) => api.deposits.dismiss(id, options),
  },
];

/** Deposits that wait for a decision of the operator. */
export function UnmatchedDeposits() {
  const [chosen, choose] = useState<{ deposit: Deposit; decision: Decision } | null>(null);
  const columns: Column<Deposit>[] = [
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
    { name: "Why it waits", cell: (row) => (row.message ? plainText(row.message) : "–") },
    { name: "Bank reference", cell: (row) => row.bank_reference },
    { name: "Booked", cell: (row) => <Moment at={row.booked_at} /> },
  ];
  if (may("operate")) {
    columns.push({
      name: "Decide",
      cell: (row) => (
        <Decide deposit={row} onChoose={(decision) => choose({ deposit: row, decision })} />
      ),
    });
  }
  return (
    <>
      <RecordTable
        label="Unmatched deposits, newest first"
        query_key={["deposits", "unmatched"]}
        look_every_ms={LOOK_EVERY_MS}
        load={loadUnmatched}
        columns={columns}
        empty={<Empty title="Nothing waits">Every deposit was matched to what it pays for.</Empty>}
      />
      {chosen && <DecisionDialog {...chosen} onClose={() => choose(null)} />}
    </>
  );
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

async function loadUnmatched(starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.deposits.list({ status: "unmatched", ...after, limit: 50 }).page();
  return { rows: page.records, has_more: page.has_more };
}
