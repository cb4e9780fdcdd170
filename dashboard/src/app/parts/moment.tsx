import { useEffect, useState } from "react";
import { serviceNow } from "../clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "long",
});

const to_the_second = new Intl.DateTimeFormat("en-GB", {
  dateStyle: "medium",
  timeStyle: "medium",
});

/**
 * How long ago or until then within a day, else the date; its title has time and zone. `is_exact`:
 * date and time, where the order of what happened matters.
 */
export function Moment({ at, is_exact = false }: { at: string; is_exact?: boolean }) {
  const time = new Date(at);
  const current = useNow();
  return (
    <time dateTime={at} title={exact.format(time)} className="moment">
      {is_exact ? to_the_second.format(time) : describe(time.getTime(), current, time)}
    </time>
  );
}

function describe(at_ms: number, now_ms: number, time: Date): string {
  const age_ms = now_ms - at_ms;
  if (Math.abs(age_ms) >= DAY_MS) return day.format(time);
  if (age_ms < -HOUR_MS) return `in ${Math.floor(-age_ms / HOUR_MS)} h`;
  if (age_ms < -MINUTE_MS) return `in ${Math.floor(-age_ms / MINUTE_MS)} min`;
  if (age_ms < MINUTE_MS) return "just now";
  if (age_ms < HOUR_MS) return `${Math.floor(age_ms / MINUTE_MS)} min ago`;
  return `${Math.floor(age_ms / HOUR_MS)} h ago`;
}

function useNow(): number {
  const [now, setNow] = useState(serviceNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serviceNow()), MINUTE_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
