import { Progress } from "@mantine/core";
import type { Limit } from "@sliproad/sdk";
import { useQuery } from "@tanstack/react-query";
import { api } from "../../../api.ts";
import { formatAmount } from "../../../parts/format-amount.ts";
import { Failure, Loading } from "../../../parts/states.tsx";

const SCOPES: Readonly<Record<Limit["scope"], string>> = {
  payout: "Each payout",
  user: "Each user",
  payee: "Each payee",
  account: "The account",
  open_quotes: "Quotes that wait for coins",
};
const WINDOWS: Readonly<Record<Limit["window"], string>> = {
  single: "",
  day: ", in 24 hours",
  "30_days": ", in 30 days",
};

/** What the operator allows to leave, and how much of it is used. */
export function LimitsCard() {
  const listed = useQuery({ queryKey: ["limits"], queryFn: () => api.limits.list() });
  return (
    <section className="card facts" aria-labelledby="limits-title">
      <div className="card-head">
        <h2 id="limits-title">Limits</h2>
      </div>
      {listed.isPending && <Loading />}
      {listed.isError && (
        <Failure
          error={listed.error}
          onRetry={() => listed.refetch()}
          is_update={listed.data !== undefined}
        />
      )}
      {listed.data?.length === 0 && <p>No limit is set. Only the operator sets limits.</p>}
      {listed.data?.map((limit) => (
        <LimitBars key={`${limit.scope} ${limit.window}`} limit={limit} />
      ))}
    </section>
  );
}

function LimitBars({ limit }: { limit: Limit }) {
  const name = `${SCOPES[limit.scope]}${WINDOWS[limit.window]}`;
  const usd = (amount: number) => `${formatAmount(amount, "usd")} USD`;
  const { amount_max, used, count_max, used_count } = limit;
  return (
    <div className="limit">
      <div className="strong">{name}</div>
      {amount_max !== null && (
        <Bar name={name} max={amount_max} used={used} say={(amount) => usd(amount)} />
      )}
      {count_max !== null && (
        <Bar
          name={name}
          max={count_max}
          used={used_count}
          say={(count) => (count === 1 ? "1 payment" : `${count} payments`)}
        />
      )}
    </div>
  );
}

function Bar(props: {
  name: string;
  max: number;
  used: number | null;
  say: (amount: number) => string;
}) {
  const { name, max, used, say } = props;
  if (used === null) return <div className="quiet">At most {say(max)}</div>;
  const share = max === 0 ? 100 : Math.min(100, (used / max) * 100);
  const left = Math.max(0, max - used);
  return (
    <div>
      <Progress
        value={share}
        color={share >= 90 ? "red" : "road"}
        aria-label={`${name}: ${say(used)} of ${say(max)} used`}
        mt={4}
      />
      <div className="quiet">
        {say(used)} used, {say(left)} left of {say(max)}
      </div>
    </div>
  );
}
