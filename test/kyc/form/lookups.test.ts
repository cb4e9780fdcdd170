import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { addUser, openLink, PageVisitor } from "../kyc-fixture.ts";

const REQUESTS = 24;
/** Long enough for the other requests to arrive. */
const LOOKUP_MS = 400;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

it("requests of one applicant are looked up a few at once, so that others do not wait", async () => {
  const visitor = new PageVisitor(server);
  await visitor.open(await openLink(server, await addUser(server)));
  let [running, at_once] = [0, 0];
  const { database } = server.core;
  const query = database.query.bind(database);
  const spy = vi.spyOn(database, "query").mockImplementation(async (text, values) => {
    if (!text.includes("from kyc_tokens")) return query(text, values);
    running += 1;
    at_once = Math.max(at_once, running);
    await sleep(LOOKUP_MS);
    return query(text, values).finally(() => {
      running -= 1;
    });
  });
  try {
    const sent = Array.from({ length: REQUESTS }, () => visitor.send("GET", "/kyc/session"));
    const statuses = (await Promise.all(sent)).map(({ status }) => status);
    expect(statuses).toEqual(Array(REQUESTS).fill(200));
    expect(at_once).toBeGreaterThan(0);
    expect(at_once).toBeLessThanOrEqual(8);
  } finally {
    spy.mockRestore();
  }
});
