import { expect, it } from "vitest";
import { INVOICE_EVENTS } from "../../src/events/model.ts";
import { CHANGES, STATUS_AFTER } from "../../src/invoices/model.ts";

it.each(INVOICE_EVENTS)("%s leaves an invoice in a state that its change leads to", (event) => {
  expect(Object.values(CHANGES[event].moves)).toContain(STATUS_AFTER[event]);
});

it("every event that leads to a single state leads to the one in the table", () => {
  const single = INVOICE_EVENTS.filter(
    (event) => new Set(Object.values(CHANGES[event].moves)).size === 1,
  );
  expect(single.length).toBeGreaterThanOrEqual(7);
  for (const event of single) {
    expect(STATUS_AFTER[event]).toBe(Object.values(CHANGES[event].moves)[0]);
  }
});
