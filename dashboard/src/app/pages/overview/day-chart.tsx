import { Button, Title } from "@mantine/core";
import { useState } from "react";
import { Amount } from "../../parts/amount.tsx";
import { DownloadAll } from "../../parts/download-records.tsx";
import { formatAmount } from "../../parts/format-amount.ts";

/** The last days, up to today in UTC. */
export type Span = { today: string; days: number };

/** What a bar is divided into; the key names its colour. */
export type Series = readonly { name: string; key: string }[];

export type Day = {
  day: string;
  /** Of each series; what is negative is drawn below the line. */
  sums: number[];
  /** Whether all records of this day are in the sums. */
  is_counted: boolean;
};

type ChartProps = {
  /** What the bars are, for those who do not see them. */
  label: string;
  currency: string;
  series: Series;
  days: readonly Day[];
};

const DAY_MS = 86_400_000;
const HEIGHT = 120;
const EDGE = 2;
const STEP = 20;
const BAR = 14;

const totalOf = ({ sums }: Day) => sums.reduce((sum, one) => sum + one, 0);

/** Amounts of one currency by day: as bars, as a table, and as a file. */
export function DayChart(props: ChartProps) {
  const { label, currency, series, days } = props;
  const [isTable, setTable] = useState(false);
  const code = currency.toUpperCase();
  const rows = days.filter(({ sums }) => sums.some(Boolean)).reverse();
  return (
    <div className="card chart">
      <div className="sums-head">
        <Title order={3} size="h5">
          <Amount value={days.reduce((sum, day) => sum + totalOf(day), 0)} currency={currency} />
        </Title>
        <Button
          size="compact-sm"
          variant="subtle"
          aria-label={`${isTable ? "Show as chart" : "Show as table"}: ${label}, ${code}`}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? "Show as chart" : "Show as table"}
        </Button>
      </div>
      {isTable ? (
        <>
          <DownloadAll
            label={`${label} ${code}`}
            rows={rows.map(({ day, sums }) => ({
              ...{ day, currency },
              ...Object.fromEntries(series.map(({ key }, at) => [key, sums[at] ?? 0])),
            }))}
          />
          <DayTable {...props} days={rows} />
        </>
      ) : (
        <Bars {...props} />
      )}
    </div>
  );
}

function Bars({ label, currency, series, days }: ChartProps) {
  const highest = Math.max(0, ...days.map((day) => sumOf(day, (one) => one > 0)));
  const lowest = Math.min(0, ...days.map((day) => sumOf(day, (one) => one < 0)));
  const scale = highest > lowest ? (HEIGHT - 2 * EDGE) / (highest - lowest) : 0;
  const base = EDGE + highest * scale;
  const shown = series.filter((_, at) => days.some((day) => day.sums[at]));
  return (
    <>
      <svg
        className="bars"
        viewBox={`0 0 ${days.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}, ${currency.toUpperCase()}. The table has the figures.`}
      >
        {days.map((day, at) => (
          <DayBar key={day.day} {...{ day, currency, series, base, scale }} x={at * STEP} />
        ))}
        <path className="bars-base" d={`M0 ${base}H${days.length * STEP}`} />
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
        {days.some((day) => !day.is_counted) && (
          <li>
            <span className="swatch bar-uncounted" /> Not counted
          </li>
        )}
      </ul>
    </>
  );
}

function DayBar(props: {
  day: Day;
  currency: string;
  series: Series;
  base: number;
  scale: number;
  x: number;
}) {
  const { day, currency, series, base, scale, x } = props;
  let [top, bottom] = [base, base];
  const parts = series.flatMap(({ key }, at) => {
    const height = (day.sums[at] ?? 0) * scale;
    if (height === 0) return [];
    if (height > 0) top -= height;
    else bottom -= height;
    return [{ key, y: height > 0 ? top : bottom + height, height: Math.abs(height) }];
  });
  return (
    <g>
      <title>
        {nameDay(day.day)}: {formatAmount(totalOf(day), currency)} {currency.toUpperCase()}
        {!day.is_counted && ", not counted in full"}
      </title>
      <rect
        className={day.is_counted ? "bar-day" : "bar-uncounted"}
        {...{ x, y: 0, width: STEP, height: HEIGHT }}
      />
      {parts.map(({ key, y, height }) => (
        <rect
          key={key}
          className={`bar-${key}`}
          {...{ x: x + (STEP - BAR) / 2, y, width: BAR, height }}
        />
      ))}
    </g>
  );
}

/** Days with amounts only, newest first. */
function DayTable({ label, currency, series, days }: ChartProps) {
  return (
    <table className="records" aria-label={`${label}, ${currency.toUpperCase()}`}>
      <thead>
        <tr>
          <th scope="col">Day</th>
          {series.map(({ name }) => (
            <th key={name} scope="col" className="right">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {days.map((day) => (
          <tr key={day.day}>
            <td className="title strong">
              {nameDay(day.day)}
              {!day.is_counted && <div className="quiet">not counted in full</div>}
            </td>
            {series.map(({ name }, at) => (
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

/** The days of the span as `YYYY-MM-DD`, the oldest first. */
export function daysOf({ today, days }: Span): string[] {
  const last_ms = Date.parse(today);
  return Array.from({ length: days }, (_, at) =>
    new Date(last_ms - (days - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  );
}

function sumOf({ sums }: Day, isWanted: (one: number) => boolean): number {
  return sums.filter(isWanted).reduce((sum, one) => sum + one, 0);
}

const day_name = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

function nameDay(day: string): string {
  return day_name.format(new Date(day));
}
