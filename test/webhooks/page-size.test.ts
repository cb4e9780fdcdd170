import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { listDueDeliveries } from "../../src/webhooks/delivery/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addApp } from "./webhook-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

it("a page of large bodies ends early, and tells that it did", async () => {
  const settings = { webhook_url: "http://127.0.0.1:9/", events: ["offramp_update"] };
  const { id: app_id } = await addApp(server, settings);
  const sample = { webhook_type: "offramp_update", status: "fiat_sent" };
  for (let sent = 0; sent < 3; sent += 1) await server.call("POST", "/sandbox/webhook", sample);
  const later = new Date(server.core.clock.now().getTime() + HOUR_MS);
  const list = (bytes: number) => {
    const limits = { well: 500, failing: 16, bytes };
    return listDueDeliveries(
      server.core.database,
      [{ account_id: server.account_id, app_id, after: null }],
      later,
      limits,
    );
  };
  expect((await list(1)).map(({ has_next }) => has_next)).toEqual([true]);
  expect((await list(1_000_000)).map(({ has_next }) => has_next)).toEqual([true, true, false]);
});
