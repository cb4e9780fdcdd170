import { Title } from "@mantine/core";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";
import { type Day, DayChart, daysOf, type Span } from "./day-chart.tsx";

type Volume = { day: string; currency: string; status: string; payouts: number; amount: string };

export type VolumeData = Span & {
  payouts_max: number;
  /** Payouts up to then are not in the sums: there are too many. */
  uncounted_until: string | null;
  volumes: Volume[];
};

const OUTCOMES = [
  { name: "Sent", key: "done", statuses: ["fiat_sent"] },
  {
    name: "On their way",
    key: "working",
    statuses: ["pending_internal_assessment", "ongoing_checks", "sending_fiat"],
  },
  { name: "Came back", key: "came_back", statuses: ["bounced"] },
  { name: "Failed", key: "failed", statuses: ["failed"] },
] as const;

/** What was paid out by day, for each currency on its own. */
export function Volumes({ data }: { data: VolumeData }) {
  const currencies = [...new Set(data.volumes.map(({ currency }) => currency))];
  return (
    <section aria-labelledby="volume">
      <Title order={2} size="h4" id="volume" mb={4}>
        Payouts of the last {data.days} days
      </Title>
      <p className="quiet volume-note">
        By the day on which they were created, in UTC.
        {data.uncounted_until && (
          <>
            {" "}
            Only the newest {formatAmount(data.payouts_max, "jpy")} are counted; those up to{" "}
            <Moment at={data.uncounted_until} /> are not.
          </>
        )}
      </p>
      {currencies.length === 0 && <p className="card calm">No payouts in these days.</p>}
      <div className="charts">
        {currencies.map((currency) => (
          <DayChart
            key={currency}
            label="Payouts by day and outcome"
            currency={currency}
            series={OUTCOMES}
            days={sumDays(data, currency)}
          />
        ))}
      </div>
    </section>
  );
}

function sumDays(data: VolumeData, currency: string): Day[] {
  const { volumes, uncounted_until } = data;
  return daysOf(data).map((day) => {
    const own = volumes.filter((one) => one.day === day && one.currency === currency);
    const sums = OUTCOMES.map(({ statuses }) =>
      own
        .filter(({ status }) => (statuses as readonly string[]).includes(status))
        .reduce((sum, { amount }) => sum + Number(amount), 0),
    );
    return { day, sums, is_counted: !uncounted_until || day > uncounted_until.slice(0, 10) };
  });
}
