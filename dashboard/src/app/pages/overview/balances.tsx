import { Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../../api.ts";
import { Amount } from "../../parts/amount.tsx";
import { chainName } from "../../parts/chain-name.ts";
import { Failure } from "../../parts/states.tsx";

type Line = { name: string; amount: string; currency: string };

/** What the account holds and what it owes to people, each currency on its own. */
export function BalanceCards() {
  const { data, error, refetch } = useQuery({
    queryKey: ["overview", "balances"],
    queryFn: loadBalances,
  });
  return (
    <section aria-labelledby="balances">
      <Title order={2} size="h4" id="balances" mb="sm">
        Balances
      </Title>
      {error && <Failure error={error} onRetry={refetch} />}
      {!error && (
        <div className="halves">
          <BalanceCard title="Held" none="Nothing is held." lines={data?.held} />
          <BalanceCard title="Owed to people" none="Nothing is owed." lines={data?.owed} />
        </div>
      )}
    </section>
  );
}

function BalanceCard(props: { title: string; none: string; lines: readonly Line[] | undefined }) {
  const { title, none, lines } = props;
  return (
    <div className="card sums" aria-busy={lines === undefined}>
      <div className="sums-head">
        <Title order={3} size="h5">
          {title}
        </Title>
        <Link href="/ledger">Ledger</Link>
      </div>
      {lines?.length === 0 && <p className="quiet">{none}</p>}
      <dl>
        {lines?.map(({ name, amount, currency }) => (
          <div key={`${name} ${currency}`}>
            <dt>{name}</dt>
            <dd>
              <Amount value={amount} currency={currency} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

async function loadBalances(): Promise<{ held: Line[]; owed: Line[] }> {
  const [books, owed] = await Promise.all([api.ledger.balances(), api.balances.listAll()]);
  const held = books.balances.filter(
    ({ ledger_account, amount }) => /^(bank|wallet)(:|$)/.test(ledger_account) && Number(amount),
  );
  return {
    held: held.map((line) => ({ ...line, name: placeOf(line.ledger_account) })),
    owed: owed
      .filter(({ amount }) => amount !== 0)
      .map(({ chain, amount, currency }) => {
        return { name: `On ${chainName(chain)}`, amount: String(amount), currency };
      }),
  };
}

function placeOf(ledger_account: string): string {
  const [name, place = ""] = ledger_account.split(":");
  if (name === "wallet") return `Wallet on ${chainName(place)}`;
  return place ? `Bank account ${place}` : "Bank";
}
