import { Button, Title } from "@mantine/core";
import { useState } from "react";
import { Amount } from "../../parts/amount.tsx";
import { formatAmount } from "../../parts/format-amount.ts";
import { Moment } from "../../parts/moment.tsx";

type Volume = { day: string; currency: string; status: string; payouts: number; amount: string };

export type VolumeData = {
  today: string;
  days: number;
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

/** One day: the sum of each outcome, in the order of OUTCOMES. */
type Day = { day: string; sums: number[]; total: number };

const DAY_MS = 86_400_000;
const HEIGHT = 120;
const STEP = 20;
const BAR = 14;

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
          <VolumeCard key={currency} currency={currency} days={sumDays(data, currency)} />
        ))}
      </div>
    </section>
  );
}

function VolumeCard({ currency, days }: { currency: string; days: readonly Day[] }) {
  const [isTable, setTable] = useState(false);
  const total = days.reduce((sum, day) => sum + day.total, 0);
  return (
    <div className="card chart">
      <div className="sums-head">
        <Title order={3} size="h5">
          <Amount value={total} currency={currency} />
        </Title>
        <Button size="compact-sm" variant="subtle" onClick={() => setTable(!isTable)}>
          {isTable ? "Show as chart" : "Show as table"}
        </Button>
      </div>
      {isTable ? (
        <DayTable currency={currency} days={days} />
      ) : (
        <Bars currency={currency} days={days} total={total} />
      )}
    </div>
  );
}

function Bars(props: { currency: string; days: readonly Day[]; total: number }) {
  const { currency, days, total } = props;
  const highest = Math.max(...days.map((day) => day.total));
  const shown = OUTCOMES.filter((_, at) => days.some((day) => day.sums[at]));
  const sum = `${formatAmount(total, currency)} ${currency.toUpperCase()}`;
  return (
    <>
      <svg
        className="bars"
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Payouts by day and outcome, ${sum} in all`}
      >
        {days.map((day, at) => (
          <DayBar key={day.day} day={day} x={at * STEP} highest={highest} currency={currency} />
        ))}
        <path className="bars-base" d={`M0 ${HEIGHT - 0.5}H${days.length * STEP}`} />
      </svg>
      <div className="bars-ends quiet">
        <span>{nameDay(days[0]!.day)}</span>
        <span>{nameDay(days.at(-1)!.day)}</span>
      </div>
      <ul className="legend quiet">
        {shown.map(({ name, key }) => (
          <li key={key}>
            <span className={`swatch bar-${key}`} /> {name}
          </li>
        ))}
      </ul>
    </>
  );
}

function DayBar(props: { day: Day; x: number; highest: number; currency: string }) {
  const { day, x, highest, currency } = props;
  const parts: { key: string; y: number; height: number }[] = [];
  let top = HEIGHT;
  for (const [at, { key }] of OUTCOMES.entries()) {
    const height = highest > 0 ? ((day.sums[at] ?? 0) / highest) * (HEIGHT - 4) : 0;
    if (height === 0) continue;
    top -= height;
    parts.push({ key, y: top, height });
  }
  return (
    <g>
      <title>
        {nameDay(day.day)}: {formatAmount(day.total, currency)} {currency.toUpperCase()}
      </title>
      <rect className="bar-day" x={x} y={0} width={STEP} height={HEIGHT} />
      {parts.map(({ key, y, height }) => (
        <rect
          key={key}
          className={`bar-${key}`}
          x={x + (STEP - BAR) / 2}
          y={y}
          width={BAR}
          height={height}
        />
      ))}
    </g>
  );
}

/** Days with payouts only, newest first. */
function DayTable({ currency, days }: { currency: string; days: readonly Day[] }) {
  return (
    <table className="records" aria-label={`Payouts by day in ${currency.toUpperCase()}`}>
      <thead>
        <tr>
          <th scope="col">Day</th>
          {OUTCOMES.map(({ name }) => (
            <th key={name} scope="col" className="right">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days
          .filter((day) => day.total > 0)
          .reverse()
          .map((day) => (
            <tr key={day.day}>
              <td className="title strong">{nameDay(day.day)}</td>
              {OUTCOMES.map(({ name }, at) => (
                <td key={name} className="right" data-label={name}>
                  {day.sums[at] ? <Amount value={day.sums[at]} currency={currency} /> : "–"}
                </td>
              ))}
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function sumDays({ today, days, volumes }: VolumeData, currency: string): Day[] {
  const last_ms = Date.parse(today);
  return Array.from({ length: days }, (_, at) => {
    const day = new Date(last_ms - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    const own = volumes.filter((one) => one.day === day && one.currency === currency);
    const sums = OUTCOMES.map(({ statuses }) =>
      own
        .filter(({ status }) => (statuses as readonly string[]).includes(status))
        .reduce((sum, { amount }) => sum + Number(amount), 0),
    );
    return { day, sums, total: sums.reduce((sum, one) => sum + one, 0) };
  });
}

const day_name = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

function nameDay(day: string): string {
  return day_name.format(new Date(day));
}
