import { Tabs, Title } from "@mantine/core";
import type { LedgerBalance, LedgerEntry } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../api.ts";
import { loadNames, type Names } from "../../names.ts";
import { Amount } from "../../parts/amount.tsx";
import { DownloadAll } from "../../parts/download-records.tsx";
import { useFilters } from "../../parts/filters.ts";
import { Moment } from "../../parts/moment.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { type Column, RecordTable } from "../../parts/record-table.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { session } from "../../session.ts";
import { Checks } from "./checks.tsx";

const TABS = [
  ["balances", "Balances", Balances],
  ["journal", "Journal", Journal],
  ["checks", "Checks", Checks],
] as const;

/** The double-entry books: what every account stands at, each entry, and what checks found. */
export default function LedgerPage() {
  const { filters, setFilter } = useFilters();
  const tabs = TABS.filter(([tab]) => session.account.is_operator || tab !== "checks");
  return (
    <>
      <PageHead title="Ledger" />
      <Tabs
        value={tabs.find(([tab]) => tab === filters.tab)?.[0] ?? "balances"}
        onChange={(next) => setFilter("tab", next === "balances" ? null : next)}
        keepMounted={false}
      >
        <Tabs.List aria-label="Ledger" mb="md">
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

function Balances() {
  const { data, error, refetch } = useQuery({
    queryKey: ["ledger", "balances"],
    queryFn: () => api.ledger.balances(),
  });
  if (!data) return error ? <Failure error={error} onRetry={refetch} /> : <Loading />;
  if (data.balances.length === 0) return <NoEntries />;
  const currencies = [...new Set(data.balances.map(({ currency }) => currency))].sort();
  return (
    <>
      {error && <Failure error={error} onRetry={refetch} is_update />}
      <DownloadAll label="Ledger balances" rows={data.balances} />
      <p className="quiet volume-note">Debits are above zero. Each currency sums to zero.</p>
      <div className="halves">
        {currencies.map((currency) => (
          <CurrencyCard
            key={currency}
            currency={currency}
            balances={data.balances.filter((one) => one.currency === currency)}
          />
        ))}
      </div>
    </>
  );
}

function CurrencyCard(props: { currency: string; balances: readonly LedgerBalance[] }) {
  const { currency, balances } = props;
  return (
    <section className="card sums">
      <div className="sums-head">
        <Title order={2} size="h5">
          {currency.toUpperCase()}
        </Title>
      </div>
      <dl>
        {balances.map(({ ledger_account, amount }) => (
          <div key={ledger_account}>
            <dt>{nameOfAccount(ledger_account)}</dt>
            <dd>
              <Amount value={amount} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

type Entry = LedgerEntry & { names: Names };

const COLUMNS: readonly Column<Entry>[] = [
  {
    name: "Entry",
    cell: (row) => <span className="strong">{inWords(row.kind)}</span>,
    is_title: true,
  },
  { name: "Lines", cell: (row) => <Lines entry={row} /> },
  { name: "Booked", cell: (row) => <Moment at={row.created_at} /> },
];

function Journal() {
  return (
    <RecordTable
      label="Journal, newest first"
      query_key={["ledger", "journal"]}
      fileRowsOf={({ lines, ...entry }) => lines.map((line) => ({ ...entry, ...line }))}
      load={loadEntries}
      columns={COLUMNS}
      empty={<NoEntries />}
    />
  );
}

function NoEntries() {
  return <Empty title="Nothing is booked yet">The first deposit or payout is booked here.</Empty>;
}

/** The lines of an entry; they sum to zero in each currency. */
function Lines({ entry }: { entry: Entry }) {
  return (
    <dl className="lines">
      {entry.lines.map(({ ledger_account, currency, amount }) => (
        <div key={`${ledger_account} ${currency} ${amount}`}>
          <dt>{nameOfAccount(ledger_account, entry.names.users)}</dt>
          <dd>
            <Amount value={amount} currency={currency} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

async function loadEntries(starting_after?: string) {
  const after = starting_after ? { starting_after } : {};
  const page = await api.ledger.listEntries({ ...after, limit: 25 }).page();
  const users = peopleOf(page.records.flatMap(({ lines }) => lines));
  const names = await loadNames({ users });
  return { rows: page.records.map((row) => ({ ...row, names })), has_more: page.has_more };
}

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** The people that accounts of the chart are of. */
function peopleOf(accounts: readonly { ledger_account: string }[]): string[] {
  return accounts.flatMap(({ ledger_account }) =>
    ledger_account.split(":").filter((place) => ID.test(place)),
  );
}

/** An account of the chart in words, with the name of whom it is of. */
function nameOfAccount(ledger_account: string, users: Names["users"] = {}): string {
  const [name = "", ...places] = ledger_account.split(":");
  const shown = places.map((place) =>
    ID.test(place) ? (users[place]?.name ?? `…${place.slice(-8)}`) : place,
  );
  return [inWords(name), ...shown].join(" · ");
}

function inWords(name: string): string {
  const words = name.replaceAll("_", " ");
  if (words === "fx position") return "Exchange position";
  return words.charAt(0).toUpperCase() + words.slice(1);
}
