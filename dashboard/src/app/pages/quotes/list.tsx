import { Button } from "@mantine/core";
import type { Quote } from "@sliproad/sdk";
import { useState } from "react";
import { ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { among, isDay, isRecordId, readFilters, toQuery, useFilters } from "../../parts/filters.ts";
import { ChoiceFilter, DayFilters, ListFilters, PersonFilter } from "../../parts/list-filters.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";
import { StatusChip, statusName } from "../../parts/status-chip.tsx";
import { may } from "../../session.ts";
import { NewQuoteDialog } from "./new-quote.tsx";

type Row = Quote & { names: Names };

const STATES: readonly Quote["status"][] = ["open", "executed", "expired", "failed"];
const TOKENS: readonly Quote["deposit_token"][] = ["usdc", "usdt"];
const KNOWN = {
  user_id: isRecordId,
  status: among(STATES),
  token: among(TOKENS),
  from: isDay,
  to: isDay,
};

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Payer",
    cell: (row) => <span className="strong">{row.names.users[row.user_id]?.name ?? "Erased"}</span>,
    is_title: true,
  },
  {
    name: "Costs",
    cell: (row) => <Amount value={row.deposit_token_amount} currency={row.deposit_token} />,
    is_amount: true,
  },
  { name: "State", cell: (row) => <StatusChip status={row.status} /> },
  { name: "Chain", cell: (row) => chainName(row.deposit_token_chain) },
  { name: "Rate until", cell: (row) => <Moment at={new Date(row.expiry * 1000).toISOString()} /> },
  { name: "Created", cell: (row) => <Moment at={row.created_at} /> },
];

/** All quotes of the account. */
export function QuoteList() {
  const { filters: given, setFilter, clearFilters } = useFilters();
  const { filters } = readFilters(given, KNOWN);
  const [isNew, setNew] = useState(false);
  const create = may("prepare_payouts") && <Button onClick={() => setNew(true)}>New quote</Button>;
  return (
    <>
      <PageHead title="Quotes">{create}</PageHead>
      <ListFilters>
        <PersonFilter {...{ filters, setFilter }} label="Payer" />
        <ChoiceFilter
          {...{ filters, setFilter }}
          name="status"
          label="State"
          options={STATES.map((status) => [status, statusName(status)])}
        />
        <ChoiceFilter
          {...{ filters, setFilter }}
          name="token"
          label="Token"
          options={TOKENS.map((token) => [token, token.toUpperCase()])}
        />
        <DayFilters {...{ filters, setFilter }} />
      </ListFilters>
      <RecordTable
        label="Quotes, newest first"
        query_key={["payouts", "quotes", filters]}
        load={(after) => loadRows(toQuery(filters), after)}
        columns={COLUMNS}
        pathOf={(row) => `/quotes/${row.id}`}
        empty={
          Object.keys(filters).length > 0 ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No quotes yet" action={create}>
              A quote locks the rates of a batch of payouts until it is paid.
            </Empty>
          )
        }
      />
      {isNew && <NewQuoteDialog onClose={() => setNew(false)} />}
    </>
  );
}

async function loadRows(query: Record<string, string>, starting_after?: string) {
  const page = await ask<{ quotes: Quote[]; has_more: boolean }>("/quotes", {
    ...query,
    starting_after,
    limit: "50",
  });
  const names = await loadNames({ users: page.quotes.map((row) => row.user_id) });
  return { rows: page.quotes.map((row) => ({ ...row, names })), has_more: page.has_more };
}
