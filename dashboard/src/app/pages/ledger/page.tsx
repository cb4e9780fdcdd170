import { Tabs, Title } from "@mantine/core";
import type { LedgerBalance } from "@sliproad/sdk";
import { Amount } from "../../parts/amount.tsx";
import { DownloadAll } from "../../parts/download-records.tsx";
import { useFilters } from "../../parts/filters.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { session } from "../../session.ts";
import { Checks } from "./checks.tsx";
import { Journal, NoEntries } from "./journal.tsx";
import { nameOfAccount } from "./name-of-account.ts";
import { useBalances } from "./use-balances.ts";

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
  const { data, error, refetch } = useBalances();
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
