import { Tabs } from "@mantine/core";
import type { Onramp } from "@sliproad/sdk";
import { useParams } from "wouter";
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
import { session } from "../../session.ts";
import { BankDeposits } from "./bank-deposits.tsx";
import { CoinDeposits } from "./coins.tsx";
import { BankExceptions } from "./exceptions.tsx";
import { ONRAMP_STATES, OnrampChip, OnrampDetail, onrampName } from "./onramp.tsx";
import { OpenSends } from "./sends.tsx";

/** Name, title and content of each tab; the operator's account has the last three as well. */
const TABS = [
  ["onramps", "Onramps", Onramps],
  ["coins", "Coins", CoinDeposits],
  ["unmatched", "Bank deposits", BankDeposits],
  ["exceptions", "Bank exceptions", BankExceptions],
  ["sends", "Transactions", OpenSends],
] as const;
const OF_OPERATOR = ["unmatched", "exceptions", "sends"];

/** Money that comes in: what people ordered and sent, and what the operator must decide on. */
export default function DepositsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <OnrampDetail id={id} /> : <Deposits />;
}

function Deposits() {
  const { filters, setFilter } = useFilters();
  const tabs = TABS.filter(([tab]) => session.account.is_operator || !OF_OPERATOR.includes(tab));
  const open = tabs.find(([tab]) => tab === filters.tab)?.[0] ?? "onramps";
  return (
    <>
      <PageHead title="Deposits" />
      <Tabs
        value={open}
        onChange={(next) => setFilter("tab", next === "onramps" ? null : next)}
        keepMounted={false}
      >
        <Tabs.List aria-label="Deposits" mb="md">
          {tabs.map(([tab, name]) => (
            <Tabs.Tab key={tab} value={tab}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {tabs.map(([tab, , Content]) => (
          <Tabs.Panel key={tab} value={tab}>
            <Content />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}

type Row = Onramp & { names: Names };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Person",
    cell: (row) => <span className="strong">{row.names.users[row.user_id]?.name ?? "Erased"}</span>,
    is_title: true,
  },
  {
    name: "To be paid in",
    cell: (row) => <Amount value={row.deposit_amount} currency={row.fiat_currency} />,
    is_amount: true,
  },
  {
    name: "To be delivered",
    cell: (row) => <Amount value={row.destination_amount} currency={row.crypto_currency} />,
    is_amount: true,
  },
  { name: "State", cell: (row) => <OnrampChip status={row.status} /> },
  { name: "Chain", cell: (row) => chainName(row.crypto_rails) },
  { name: "Created", cell: (row) => <Moment at={row.created_at} /> },
];

const KNOWN = { user_id: isRecordId, status: among(ONRAMP_STATES), from: isDay, to: isDay };

function Onramps() {
  const { filters: given, setFilter, clearFilters } = useFilters();
  const { filters } = readFilters(given, KNOWN);
  return (
    <>
      <ListFilters>
        <PersonFilter {...{ filters, setFilter }} label="Person" />
        <ChoiceFilter
          {...{ filters, setFilter }}
          name="status"
          label="State"
          options={ONRAMP_STATES.map((status) => [status, onrampName(status)])}
        />
        <DayFilters {...{ filters, setFilter }} />
      </ListFilters>
      <RecordTable
        label="Onramps, newest first"
        query_key={["deposits", "onramps", filters]}
        load={(after) => loadOnramps(toQuery(filters), after)}
        columns={COLUMNS}
        pathOf={(row) => `/deposits/${row.id}`}
        empty={
          Object.keys(filters).length > 0 ? (
            <NothingMatches onClear={clearFilters} />
          ) : (
            <Empty title="No onramps yet">
              An onramp turns a bank deposit into coins. It appears here as soon as it is created.
            </Empty>
          )
        }
      />
    </>
  );
}

async function loadOnramps(query: Record<string, string>, starting_after?: string) {
  const page = await ask<{ onramps: Onramp[]; has_more: boolean }>("/onramps", {
    ...query,
    starting_after,
    limit: "50",
  });
  const names = await loadNames({ users: page.onramps.map((row) => row.user_id) });
  return { rows: page.onramps.map((row) => ({ ...row, names })), has_more: page.has_more };
}
