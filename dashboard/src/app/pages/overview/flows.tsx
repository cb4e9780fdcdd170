import { Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ask } from "../../api.ts";
import { Failure } from "../../parts/states.tsx";
import { type Day, DayChart, daysOf, type Span } from "./day-chart.tsx";

type FlowData = Span & { flows: { day: string; currency: string; amount: string }[] };

const WAYS = [
  { name: "More came in", key: "done" },
  { name: "More went out", key: "out" },
] as const;

/** What wallets and bank accounts gained or lost, for each currency on its own. */
export function Flows() {
  const { data, error, refetch } = useQuery({
    queryKey: ["overview", "flows"],
    queryFn: () => ask<FlowData>("/overview/flows"),
  });
  if (!data && !error) return null;
  const currencies = [...new Set(data?.flows.map(({ currency }) => currency))];
  return (
    <section aria-labelledby="flows">
      <Title order={2} size="h4" id="flows" mb={4}>
        Money in and out
      </Title>
      {error && <Failure error={error} onRetry={refetch} is_update={data !== undefined} />}
      {data && (
        <p className="quiet volume-note">
          What wallets and bank accounts gained or lost on each of the last {data.days} days, in
          UTC. Every entry of the ledger counts.
        </p>
      )}
      {data && currencies.length === 0 && <p className="card calm">Nothing was booked.</p>}
      <div className="charts">
        {data &&
          currencies.map((currency) => (
            <DayChart
              key={currency}
              label="Money in and out by day"
              currency={currency}
              series={WAYS}
              days={sumDays(data, currency)}
            />
          ))}
      </div>
    </section>
  );
}

function sumDays(data: FlowData, currency: string): Day[] {
  const own = new Map(
    data.flows.filter((one) => one.currency === currency).map(({ day, amount }) => [day, amount]),
  );
  return daysOf(data).map((day) => {
    const net = Number(own.get(day) ?? 0);
    return { day, sums: [Math.max(0, net), Math.min(0, net)], is_counted: true };
  });
}
