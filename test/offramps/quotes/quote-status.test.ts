import { expect, it } from "vitest";
import { QUOTE_MOVES, QUOTE_STATUSES, quoteStatus } from "../../../src/offramps/quotes/model.ts";
import { MINUTE_MS } from "../../../src/platform/durations.ts";

const at = (minutes: number) => new Date(Date.UTC(2026, 10, 15) + minutes * MINUTE_MS);
const EXPIRES_AT = 30;
/** Executed before expiry or never; closed after expiry or never. */
const LIVES = [null, 10].flatMap((executed) => [null, 90].map((closed) => ({ executed, closed })));

it("a quote makes every transition of the table and no other", () => {
  const seen = LIVES.flatMap(({ executed, closed }) => {
    const statuses = Array.from({ length: 120 }, (_, minute) => {
      const happened = (time: number | null) => time !== null && minute >= time;
      const quote = {
        executed_at: happened(executed) ? at(executed!) : null,
        closed_at: happened(closed) ? at(closed!) : null,
        expires_at: at(EXPIRES_AT),
      };
      return quoteStatus(quote, at(minute));
    });
    return statuses.slice(1).flatMap((to, index) => {
      const from = statuses[index]!;
      return from === to ? [] : [`${from} ${to}`];
    });
  });
  const legal = QUOTE_STATUSES.flatMap((from) => QUOTE_MOVES[from].map((to) => `${from} ${to}`));
  expect([...new Set(seen)].sort()).toEqual(legal.sort());
});
