import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestServer } from "./server.ts";

const REFRESH_MS = 61_000;

/** A table of rates that a test changes: units of each currency for one usd. */
export type TestRates = {
  environment: { SLIPROAD_RATES_FILE: string };
  /** Changes the rates and lets the server read them, a minute later. */
  set(server: TestServer, rates: Record<string, string>): Promise<void>;
};

export function createTestRates(first: Record<string, string>): TestRates {
  const path = join(mkdtempSync(join(tmpdir(), "sliproad-rates-")), "rates.json");
  let current = first;
  const write = () => writeFileSync(path, JSON.stringify({ rates: current }));
  write();
  return {
    environment: { SLIPROAD_RATES_FILE: path },
    set: async (server, rates) => {
      current = { ...current, ...rates };
      write();
      const answer = await server.call("POST", "/sandbox/clock", { advance_ms: REFRESH_MS });
      if (!answer.body.clock?.idle) throw new Error(answer.text);
    },
  };
}
