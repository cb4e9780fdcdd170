import { Link, useLocation } from "wouter";
import { ask } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { isDay, isRecordId, readFilters, toQuery, useFilters } from "../../parts/filters.ts";
import { DayFilters, ListFilters, PersonFilter } from "../../parts/list-filters.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Copy } from "../../parts/record-id.tsx";
import { type Column, NothingMatches, RecordTable } from "../../parts/record-table.tsx";
import { Empty } from "../../parts/states.tsx";

type CoinDeposit = {
  id: string;
  user_id: string;
  quote_id: string;
  token: string;
  chain: string;
  amount: string;
  sender: string | null;
  tx_id: string;
  mined_at: string;
};
type Row = CoinDeposit & { names: Names };

const KNOWN = { user_id: isRecordId, from: isDay, to: isDay };

const COLUMNS: readonly Column<Row>[] = [
  {
    name: "Person",
    cell: (row) => <span className="strong">{row.names.users[row.user_id]?.name ?? "Erased"}</span>,
    is_title: true,
  },
  {
    name: "Amount",
    cell: (row) => <Amount value={row.amount} currency={row.token} />,
    is_amount: true,
  },
  { name: "Chain", cell: (row) => chainName(row.chain) },
  { name: "From", cell: (row) => <Hash text={row.sender} label="Copy sender" /> },
  { name: "Transaction", cell: (row) => <Hash text={row.tx_id} label="Copy transaction" /> },
  { name: "For", cell: (row) => <Link href={`/quotes/${row.quote_id}`}>Its quote</Link> },
  { name: "Arrived", cell: (row) => <Moment at={row.mined_at} /> },
];

/** The coins that arrived at the addresses of quotes. */
export function CoinDeposits() {
  const { filters: given, setFilter } = useFilters();
  const { filters } = readFilters(given, KNOWN);
  const [, navigate] = useLocation();
  return (
    <>
      <ListFilters>
        <PersonFilter {...{ filters, setFilter }} label="Person" />
        <DayFilters {...{ filters, setFilter }} />
      </ListFilters>
      <RecordTable
        label="Coin deposits, newest first"
        query_key={["deposits", "coins", filters]}
        load={(after) => loadCoins(toQuery(filters), after)}
        columns={COLUMNS}
        empty={
          Object.keys(filters).length > 0 ? (
            <NothingMatches onClear={() => navigate("/deposits?tab=coins")} />
          ) : (
            <Empty title="No coins yet">
              A transfer to the address of a quote appears here as soon as its chain confirms it.
            </Empty>
          )
        }
      />
    </>
  );
}

function Hash({ text, label }: { text: string | null; label: string }) {
  if (!text) return <span className="none">–</span>;
  return (
    <span className="record-id">
      <code title={text}>
        {text.slice(0, 6)}…{text.slice(-4)}
      </code>
      <Copy text={text} label={label} />
    </span>
  );
}

async function loadCoins(query: Record<string, string>, starting_after?: string) {
  const page = await ask<{ crypto_deposits: CoinDeposit[]; has_more: boolean }>(
    "/crypto_deposits",
    { ...query, starting_after, limit: "50" },
  );
  const names = await loadNames({ users: page.crypto_deposits.map((row) => row.user_id) });
  const rows = page.crypto_deposits.map((row) => ({ ...row, names }));
  return { rows, has_more: page.has_more };
}
