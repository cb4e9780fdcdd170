import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { occurrenceAfter, occurrenceFrom, parseRecurrence } from "../../src/invoices/recurrence.ts";
import { DAY_MS, HOUR_MS, SECOND_MS } from "../../src/platform/durations.ts";
import { newId } from "../../src/platform/ids.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, expectRefusal, findFault, good, settle } from "../offramps/story.ts";
import {
  addBilledAccount,
  change,
  create,
  expectProblem,
  namesOf,
  show,
} from "./invoice-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

/** 20261116T060000Z, an hour and some days from now. */
function start(days: number): Date {
  const time = server.core.clock.now().getTime() + HOUR_MS + days * DAY_MS;
  return new Date(Math.floor(time / 1000) * 1000);
}
const compact = (time: Date) => `${time.toISOString().slice(0, 19).replace(/[-:]/g, "")}Z`;

const findWaiting = () =>
  server.db.database.query(
    `select from pg_stat_activity where datname = current_database()
       and wait_event_type = 'Lock' and query like '%invoices%'`,
  );

type Created = {
  id: string;
  invoiceNumber: string;
  creationDate: string;
  status: string;
  paymentTerms: { dueDate: string };
};

/** The invoices that a template has created, oldest first. */
async function createdBy(number: string, key = server.key): Promise<Created[]> {
  const path = `/invoices?take=100&search=${number}`;
  const { invoices } = good(await server.call("GET", path, undefined, { key }));
  const created: Created[] = invoices.filter(
    (invoice: Created) => invoice.invoiceNumber !== number,
  );
  return created.toReversed();
}

describe("a recurring invoice", () => {
  it("is a template that creates payable invoices, each once and in order, over a long clock jump", async () => {
    const buyer = await addBilledAccount(server, "Subscriber");
    const first = start(0);
    const invoiceNumber = randomUUID();
    const template = good(
      await create(server, {
        invoiceNumber,
        buyerInfo: { email: buyer.email },
        creationDate: first.toISOString(),
        paymentTerms: { dueDate: start(14).toISOString().slice(0, 10) },
        recurringRule: `DTSTART:${compact(first)}\nRRULE:FREQ=DAILY;COUNT=3`,
      }),
    );
    expect(template).toMatchObject({
      status: "scheduled",
      requestId: null,
      nextOccurrence: first.toISOString(),
    });
    expect(await createdBy(invoiceNumber)).toEqual([]);
    await advance(server, 3 * DAY_MS);
    const created = await createdBy(invoiceNumber);
    const days = [0, 1, 2].map((day) => new Date(first.getTime() + day * DAY_MS));
    expect(created.map((invoice) => invoice.invoiceNumber)).toEqual(
      [1, 2, 3].map((n) => `${invoiceNumber}-${n}`),
    );
    expect(created.map((invoice) => invoice.creationDate)).toEqual(
      days.map((day) => day.toISOString()),
    );
    expect(created.map((invoice) => invoice.paymentTerms.dueDate)).toEqual(
      days.map((day) => new Date(day.getTime() + 14 * DAY_MS).toISOString().slice(0, 10)),
    );
    await settle(server);
    for (const invoice of created) {
      expect((await show(server, invoice.id, buyer.key)).status).toBe("open");
      expect(await namesOf(server, buyer.account_id, invoice.id)).toEqual(["create"]);
    }
    const after = await show(server, template.id);
    expect(after).toMatchObject({ status: "canceled", nextOccurrence: null });
    expect(after.events).toMatchObject([{ name: "cancel", userId: null }]);
    expect(await namesOf(server, server.account_id, template.id)).toEqual([]);
    const hidden = await server.call("GET", `/invoices/${template.id}`, undefined, buyer);
    expect(hidden.status).toBe(404);
  });

  it("creates invoices in order of time across templates, after one clock jump", async () => {
    const numbers = Array.from({ length: 23 }, () => randomUUID());
    for (const [at, invoiceNumber] of numbers.entries()) {
      const first = new Date(start(1).getTime() + at * HOUR_MS);
      const rule = `FREQ=DAILY;INTERVAL=${1 + (at % 3)};UNTIL=${compact(start(9))}`;
      const recurringRule = `DTSTART:${compact(first)}\nRRULE:${rule}`;
      good(await create(server, { invoiceNumber, recurringRule }));
    }
    // Not through the route, which runs the due work of each time before it continues.
    await server.core.clock.advance(12 * DAY_MS);
    await settle(server);
    const created = (await Promise.all(numbers.map((number) => createdBy(number)))).flat();
    expect(created.length).toBeGreaterThan(100);
    const by_creation = created.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const times = by_creation.map((invoice) => invoice.creationDate);
    expect(times).toEqual(times.toSorted());
  });

  it("creates invoices in order of time where one of the templates is locked for long", async () => {
    const numbers = [randomUUID(), randomUUID()];
    const templates: string[] = [];
    for (const [at, invoiceNumber] of numbers.entries()) {
      const first = new Date(start(1).getTime() + at * HOUR_MS);
      const recurringRule = `DTSTART:${compact(first)}\nRRULE:FREQ=DAILY;COUNT=3`;
      templates.push(good(await create(server, { invoiceNumber, recurringRule })).id);
    }
    const { database } = server.db;
    await database.transaction(async (tx) => {
      await tx.query("select from invoices where id = $1 for update", [templates[1]]);
      await server.core.clock.advance(5 * DAY_MS);
      await waitFor(async () => (await findWaiting()).length > 0);
      // As if others worked for two seconds meanwhile.
      await server.core.clock.advance(2 * SECOND_MS);
      newId(server.core.clock.now());
    });
    await settle(server);
    const created = (await Promise.all(numbers.map((number) => createdBy(number)))).flat();
    expect(created).toHaveLength(6);
    const by_creation = created.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const times = by_creation.map((invoice) => invoice.creationDate);
    expect(times).toEqual(times.toSorted());
  });

  it("stops when it is canceled, and sends no event", async () => {
    const invoiceNumber = randomUUID();
    const recurringRule = `DTSTART:${compact(start(0))} RRULE:FREQ=DAILY`;
    const template = good(await create(server, { invoiceNumber, recurringRule }));
    await advance(server, DAY_MS);
    const created = await createdBy(invoiceNumber);
    expect(created).toHaveLength(1);
    const canceled = good(await change(server, template.id, "cancel"));
    expect(canceled).toMatchObject({ status: "canceled", nextOccurrence: null });
    await advance(server, 3 * DAY_MS);
    expect(await createdBy(invoiceNumber)).toHaveLength(1);
    expect(await namesOf(server, server.account_id, template.id)).toEqual([]);
    expectRefusal(await change(server, template.id, "accept"), "invalid_transition");
  });

  it("starts at once without DTSTART, and skips a number that is taken", async () => {
    const invoiceNumber = randomUUID();
    good(await create(server, { invoiceNumber: `${invoiceNumber}-1` }));
    const recurringRule = "RRULE:FREQ=WEEKLY;COUNT=2";
    const template = good(await create(server, { invoiceNumber, recurringRule }));
    expect(template.recurringRule).toMatch(/^DTSTART:\d{8}T\d{6}Z\nRRULE:FREQ=WEEKLY;COUNT=2$/);
    await settle(server);
    await advance(server, 8 * DAY_MS);
    const numbers = (await createdBy(invoiceNumber)).map((invoice) => invoice.invoiceNumber);
    expect(numbers.slice(1)).toEqual([`${invoiceNumber}-1-2`, `${invoiceNumber}-2`]);
  });

  it("creates nothing for the past", async () => {
    const invoiceNumber = randomUUID();
    const recurringRule = `DTSTART:${compact(start(-40))}\nRRULE:FREQ=WEEKLY`;
    const template = good(await create(server, { invoiceNumber, recurringRule }));
    const next = new Date(template.nextOccurrence).getTime();
    const now = server.core.clock.now().getTime();
    expect(next).toBeGreaterThan(now - DAY_MS);
    expect(next).toBeLessThan(now + 7 * DAY_MS);
    const over = `DTSTART:${compact(start(-40))}\nRRULE:FREQ=DAILY;COUNT=2`;
    expectProblem(await create(server, { recurringRule: over }), "recurringRule", "record_invalid");
  });

  it("counts from a start at most a year ago", async () => {
    const days = "BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=5";
    const ruleFrom = (day: number) => ({
      recurringRule: `DTSTART:${compact(start(day))}\nRRULE:FREQ=WEEKLY;${days};COUNT=1000`,
    });
    good(await create(server, { invoiceNumber: randomUUID(), ...ruleFrom(-360) }));
    const refused = await create(server, { invoiceNumber: randomUUID(), ...ruleFrom(-400) });
    expectProblem(refused, "recurringRule", "record_invalid");
    expect(refused.body.errors[0].message).toMatch(/^With COUNT, DTSTART must be at most a year/);
  });
});

describe("a rule", () => {
  const NOW = new Date("2026-11-15T00:00:00Z");
  const reasonOf = (text: string) => {
    const parsed = parseRecurrence(text, NOW);
    return "reason" in parsed ? parsed.reason : null;
  };

  it.each([
    "DTSTART:20261201T000000Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;COUNT=3",
    "DTSTART:20261201T000000Z RRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
    "dtstart:20261201\nrrule:freq=yearly;bymonth=3;byday=1MO",
    "FREQ=WEEKLY;BYDAY=MO,FR;UNTIL=20271231T000000Z",
    "FREQ=DAILY;INTERVAL=2;BYDAY=TU",
  ])("is accepted: %j", (text) => {
    expect(reasonOf(text)).toBeNull();
  });

  it.each([
    ["", "FREQ"],
    ["hello", "FREQ"],
    ["RRULE:FREQ=HOURLY", "FREQ"],
    ["RRULE:FREQ=DAILY;BYHOUR=1,2,3", "BYHOUR"],
    ["RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "BYMONTHDAY"],
    ["RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL"],
    ["RRULE:FREQ=DAILY;INTERVAL=7;BYDAY=TU", "occurrence"],
    ["RRULE:FREQ=DAILY;COUNT=1001", "COUNT"],
    ["RRULE:FREQ=DAILY;COUNT=3;UNTIL=20271231T000000Z", "UNTIL"],
    ["RRULE:FREQ=MONTHLY;BYYEARDAY=100", "BYYEARDAY"],
    ["RRULE:FREQ=MONTHLY;BYDAY=6MO", "BYDAY"],
    ["RRULE:FREQ=YEARLY;BYDAY=53MO", "BYDAY"],
    ["RRULE:FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO"],
    ["RRULE:FREQ=YEARLY;BYYEARDAY=367", "BYYEARDAY"],
    ["RRULE:FREQ=MONTHLY;BYSETPOS=1", "BYSETPOS"],
    ["RRULE:FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3", "occurrence"],
    ["RRULE:FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=31", "occurrence"],
    ["RRULE:FREQ=DAILY;UNTIL=99990101T000000Z", "UNTIL"],
    ["DTSTART:20260230T000000Z\nRRULE:FREQ=DAILY", "DTSTART"],
    ["DTSTART;TZID=Europe/Lisbon:20261201T000000\nRRULE:FREQ=DAILY", "DTSTART"],
    ["DTSTART:19000101T000000Z\nRRULE:FREQ=DAILY", "DTSTART"],
    ["RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "RRULE"],
    ["RRULE:FREQ=DAILY\nEXDATE:20261201T000000Z", "EXDATE"],
    ["RRULE:FREQ=YEARLY;BYDAY=XX", "BYDAY"],
    ["RRULE:FREQ=MONTHLY;BYMONTHDAY=99", "BYMONTHDAY"],
    ["RRULE:FREQ=MONTHLY;COUNT=", "COUNT"],
    ["RRULE:FREQ=MONTHLY;COUNT=00", "COUNT"],
    ["RRULE:FREQ=MONTHLY;BYMONTHDAY=00", "BYMONTHDAY"],
    ["RRULE:FREQ=MONTHLY;BYMONTHDAY=001", "BYMONTHDAY"],
    ["RRULE:FREQ=WEEKLY;BYDAY=1MO", "BYDAY"],
    ["RRULE:FREQ=DAILY;FREQ=WEEKLY", "once"],
    ["RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "BYMONTHDAY"],
    ["RRULE:FREQ=YEARLY;BYMONTH=4,6,9,11;BYMONTHDAY=31", "BYMONTHDAY"],
    ["RRULE:FREQ=YEARLY;BYMONTHDAY=-31;BYMONTH=2", "BYMONTHDAY"],
    ["RRULE:FREQ=YEARLY;BYYEARDAY=1;BYDAY=MO", "BYYEARDAY"],
    ["RRULE:FREQ=YEARLY;BYYEARDAY=1;BYMONTHDAY=1", "BYYEARDAY"],
    ["RRULE:FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO;BYMONTHDAY=1", "BYWEEKNO"],
    ["RRULE:FREQ=YEARLY;BYDAY=-1FR;BYMONTHDAY=31", "BYMONTHDAY"],
  ])("is refused: %j, naming %s", (text, named) => {
    expect(reasonOf(text)).toMatch(/^[A-Z].+\.$/);
    expect(reasonOf(text)).toContain(named);
  });

  const first = (text: string) => {
    const parsed = parseRecurrence(text, NOW);
    if ("reason" in parsed) return parsed.reason;
    const next = occurrenceFrom(parsed.value, NOW);
    const after = next && occurrenceAfter(parsed.value, next);
    return [next, after].map((time) => time?.toISOString().slice(0, 10));
  };

  it.each([
    ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", ["2028-02-29", "2032-02-29"]],
    ["DTSTART:20280229T000000Z RRULE:FREQ=YEARLY", ["2028-02-29", "2032-02-29"]],
    ["DTSTART:20240131T090000Z RRULE:FREQ=MONTHLY", ["2026-12-31", "2027-01-31"]],
    ["DTSTART:20261220T000000Z RRULE:FREQ=MONTHLY;INTERVAL=18", ["2026-12-20", "2028-06-20"]],
    ["DTSTART:20270301T000000Z RRULE:FREQ=YEARLY;BYMONTH=1", ["2028-01-01", "2029-01-01"]],
    ["FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", ["2026-11-30", "2026-12-29"]],
    ["DTSTART:20261231T090000Z RRULE:FREQ=MONTHLY;BYMONTHDAY=-1", ["2026-12-31", "2027-01-31"]],
    ["DTSTART:20270131T090000Z RRULE:FREQ=MONTHLY", ["2027-01-31", "2027-03-31"]],
    [
      "DTSTART:20270130T090000Z RRULE:FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1",
      ["2027-01-30", "2027-02-28"],
    ],
    ["DTSTART:20280129T090000Z RRULE:FREQ=MONTHLY", ["2028-01-29", "2028-02-29"]],
    ["FREQ=MONTHLY;BYDAY=5SU,TH", ["2026-11-19", "2026-11-26"]],
    ["FREQ=YEARLY;BYWEEKNO=1;BYDAY=TU", ["2027-01-05", "2028-01-04"]],
    ["FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", ["2026-12-28", "2032-12-27"]],
    ["FREQ=MONTHLY;BYMONTHDAY=1;UNTIL=20261201", ["2026-12-01", undefined]],
    ["FREQ=MONTHLY;BYMONTH=3,6;BYMONTHDAY=1", ["2027-03-01", "2027-06-01"]],
    ["FREQ=YEARLY;BYYEARDAY=100,-1", ["2026-12-31", "2027-04-10"]],
    ["FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", ["2027-05-17", "2028-05-15"]],
    ["FREQ=YEARLY;BYWEEKNO=+20;BYDAY=MO", ["2027-05-17", "2028-05-15"]],
    ["FREQ=MONTHLY;BYMONTH=03,06;BYMONTHDAY=+01", ["2027-03-01", "2027-06-01"]],
    ["FREQ=YEARLY;BYYEARDAY=001,-001", ["2026-12-31", "2027-01-01"]],
    ["FREQ=MONTHLY;BYDAY=+01MO", ["2026-12-07", "2027-01-04"]],
    ["DTSTART:20261201 RRULE:FREQ=DAILY;INTERVAL=02;COUNT=002", ["2026-12-01", "2026-12-03"]],
    ["FREQ=YEARLY;BYDAY=20MO", ["2027-05-17", "2028-05-15"]],
    ["FREQ=YEARLY;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", ["2027-11-02", "2028-11-07"]],
    ["FREQ=WEEKLY;BYMONTH=2;BYDAY=MO", ["2027-02-01", "2027-02-08"]],
    ["FREQ=WEEKLY;BYDAY=MO,TU,WE;BYSETPOS=-1", ["2026-11-18", "2026-11-25"]],
    ["FREQ=DAILY;BYMONTHDAY=13;BYDAY=FR", ["2027-08-13", "2028-10-13"]],
    ["DTSTART:20000101T000000Z RRULE:FREQ=MONTHLY;COUNT=5", [undefined, undefined]],
  ])("has its next occurrences: %j", (text, expected) => {
    expect(first(text)).toEqual(expected);
  });

  it("keeps its time of day in UTC across daylight saving changes", () => {
    const text = "DTSTART:20270326T013000Z\nRRULE:FREQ=DAILY;COUNT=4";
    const parsed = parseRecurrence(text, NOW);
    if ("reason" in parsed) throw new Error(parsed.reason);
    const times: string[] = [];
    // European clocks change on 28 March 2027 at 01:00 UTC.
    for (let time = occurrenceFrom(parsed.value, NOW); time; ) {
      times.push(time.toISOString());
      time = occurrenceAfter(parsed.value, time);
    }
    expect(times).toEqual([26, 27, 28, 29].map((day) => `2027-03-${day}T01:30:00.000Z`));
  });

  it.each([
    ["RRULE:FREQ=DAILY\nEXDATE:20261201T000000Z", "Remove EXDATE"],
    ["DTSTART;TZID=Europe/Lisbon:20261201T000000\nRRULE:FREQ=DAILY", "without a TZID"],
    ["RRULE:FREQ=DAILY;COUNT=3;UNTIL=20271231T000000Z", "COUNT or UNTIL"],
  ])("that is refused says what to send instead of %j", (text, words) => {
    expect(reasonOf(text)).toContain(words);
  });

  it.each([
    `DTSTART:20000101 RRULE:FREQ=WEEKLY;BYDAY=MO${",TU,WE,TH,FR,SA,SU".repeat(5)};BYSETPOS=366`,
    "FREQ=YEARLY;BYWEEKNO=1,2,3,4,5,6,7,8,9;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=-300",
    `FREQ=YEARLY;BYMONTHDAY=${Array.from({ length: 30 }, (_, at) => at + 1)};BYSETPOS=366`,
  ])("with a position that no set of days has is refused at once: %j", (text) => {
    const before = process.cpuUsage();
    for (let time = 0; time < 20; time += 1) expect(reasonOf(text)).toContain("occurrence");
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(200);
  });

  it.each([
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;INTERVAL=14;BYDAY=TU",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=6",
    "FREQ=YEARLY;BYDAY=20MO;BYMONTHDAY=31;BYMONTH=1",
    "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
    "FREQ=YEARLY;BYMONTH=4,6,9,11;BYMONTHDAY=31",
    "FREQ=YEARLY;BYMONTHDAY=-31;BYMONTH=2",
    "DTSTART:20270101T000000Z RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29",
    "DTSTART:20270228T000000Z RRULE:FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=30",
    "DTSTART:20270101T000000Z RRULE:FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYDAY=MO;BYSETPOS=5",
    "DTSTART:20500101T000000Z RRULE:FREQ=MONTHLY",
  ])("without an occurrence in ten years is detected quickly: %j", (text) => {
    const before = process.cpuUsage();
    const found = first(text);
    if (Array.isArray(found)) expect(found).toEqual([undefined, undefined]);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(100);
  });
});
