import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addBankingDays,
  type Calendar,
  isBankingDay,
} from "../../../src/partners/bank/calendar/banking-days.ts";
import { nextWindow, type Schedule } from "../../../src/partners/bank/calendar/next-window.ts";

/** The weekdays of a year on which a calendar is closed. */
function closedIn(calendar: Calendar, year: number): string[] {
  const first = Temporal.PlainDate.from({ year, month: 1, day: 1 });
  return Array.from({ length: first.daysInYear }, (_, days) => first.add({ days }))
    .filter((date) => date.dayOfWeek < 6 && !isBankingDay(calendar, date))
    .map((date) => date.toString().slice(5));
}

describe("banking days", () => {
  it("TARGET is closed on six days, which do not move when they fall on a weekend", () => {
    const christmas = ["12-25"];
    expect(closedIn("target", 2026)).toEqual(["01-01", "04-03", "04-06", "05-01", ...christmas]);
    expect(closedIn("target", 2027)).toEqual(["01-01", "03-26", "03-29"]);
    expect(closedIn("target", 2028)).toEqual(["04-14", "04-17", "05-01", "12-25", "12-26"]);
  });

  it("the Federal Reserve is closed on Monday after a holiday on a Sunday, not before one on a Saturday", () => {
    expect(closedIn("federal_reserve", 2026)).toEqual([
      ...["01-01", "01-19", "02-16", "05-25", "06-19", "09-07", "10-12", "11-11", "11-26", "12-25"],
    ]);
    // 19 June and 25 December are Saturdays, 4 July is a Sunday.
    expect(closedIn("federal_reserve", 2027)).toEqual([
      ...["01-01", "01-18", "02-15", "05-31", "07-05", "09-06", "10-11", "11-11", "11-25"],
    ]);
    expect(closedIn("federal_reserve", 2028)).toEqual([
      ...["01-17", "02-21", "05-29", "06-19", "07-04", "09-04", "10-09", "11-23", "12-25"],
    ]);
  });

  it("Easter is a Sunday between 22 March and 25 April", () => {
    for (const [year, sunday] of [
      [1961, "04-02"],
      [2000, "04-23"],
      [2019, "04-21"],
      [2035, "03-25"],
      [2038, "04-25"],
    ] as const) {
      const date = Temporal.PlainDate.from(`${year}-${sunday}`);
      expect(isBankingDay("target", date.subtract({ days: 2 }))).toBe(false);
      expect(isBankingDay("target", date.add({ days: 1 }))).toBe(false);
      expect(isBankingDay("target", date.subtract({ days: 3 }))).toBe(true);
      expect(isBankingDay("target", date.add({ days: 2 }))).toBe(true);
    }
  });

  it("banking days are counted over weekends and holidays", () => {
    const add = (calendar: Calendar, date: string, count: number) =>
      addBankingDays(calendar, Temporal.PlainDate.from(date), count).toString();
    expect(add("target", "2026-12-24", 1)).toBe("2026-12-28");
    expect(add("federal_reserve", "2026-11-25", 2)).toBe("2026-11-30");
    expect(add("target", "2026-11-16", 0)).toBe("2026-11-16");
  });
});

const SEPA: Schedule = {
  calendar: "target",
  time_zone: "Europe/Vilnius",
  cut_offs: ["11:00", "15:30"],
  lead_days: 0,
};
const ACH: Schedule = {
  calendar: "federal_reserve",
  time_zone: "America/New_York",
  cut_offs: ["16:30"],
  lead_days: 1,
};

describe("the next window", () => {
  it.each([
    ["before the first cut-off", SEPA, "2026-11-16T08:59:59Z", "2026-11-16T09:00:00Z", 1],
    ["at a cut-off, which is over", SEPA, "2026-11-16T09:00:00Z", "2026-11-16T13:30:00Z", 2],
    ["after the last one", SEPA, "2026-11-16T13:30:00Z", "2026-11-17T09:00:00Z", 1],
    ["on a Saturday", SEPA, "2026-11-21T10:00:00Z", "2026-11-23T09:00:00Z", 1],
    ["before Easter", SEPA, "2027-03-25T20:00:00Z", "2027-03-30T08:00:00Z", 1],
    ["in summer time", ACH, "2026-07-02T20:29:00Z", "2026-07-02T20:30:00Z", 1],
    [
      "the Friday before a Saturday's holiday",
      ACH,
      "2026-07-02T21:00:00Z",
      "2026-07-03T20:30:00Z",
      1,
    ],
    ["late in the evening there", ACH, "2026-11-17T03:00:00Z", "2026-11-17T21:30:00Z", 1],
  ])("%s", (_, schedule, now, closes_at, number) => {
    const window = nextWindow(schedule, new Date(now));
    expect(window).toMatchObject({ closes_at: new Date(closes_at), number });
  });

  it("the day of execution lies banking days after the window", () => {
    const at = (now: string) => nextWindow(ACH, new Date(now)).execution_date;
    expect(at("2026-11-25T20:00:00Z")).toBe("2026-11-27");
    expect(at("2026-11-27T20:00:00Z")).toBe("2026-11-30");
    expect(nextWindow(SEPA, new Date("2026-11-21T10:00:00Z")).execution_date).toBe("2026-11-23");
  });

  it("windows follow each other: each moment has one, and none lies in the past", () => {
    const anyMoment = fc.date({
      min: new Date("2026-01-01T00:00:00Z"),
      max: new Date("2036-01-01T00:00:00Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(anyMoment, fc.constantFrom(SEPA, ACH), (now, schedule) => {
        const window = nextWindow(schedule, now);
        expect(window.closes_at.getTime()).toBeGreaterThan(now.getTime());
        expect(isBankingDay(schedule.calendar, Temporal.PlainDate.from(window.day))).toBe(true);
        const before = new Date(window.closes_at.getTime() - 1);
        expect(nextWindow(schedule, before)).toEqual(window);
        expect(window.execution_date >= window.day).toBe(true);
      }),
    );
  });

  it.each([
    { cut_offs: [] },
    { cut_offs: ["25:00"] },
    { cut_offs: ["9:00"] },
    { cut_offs: ["15:00", "11:00"] },
    { lead_days: -1 },
    { lead_days: 0.5 },
  ])("%j is refused", (change) => {
    expect(() => nextWindow({ ...SEPA, ...change }, new Date())).toThrow(RangeError);
  });
});
