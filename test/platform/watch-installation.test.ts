import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance } from "../offramps/story.ts";
import { openOnramp } from "../onramps/story.ts";

let first: TestServer;
let second: TestServer;
beforeAll(async () => {
  first = await startTestServer();
  second = await startTestServer({ beside: first });
  // An API-only process: it has no worker that refreshes its clock.
  await second.app.worker.stop();
});
afterAll(async () => {
  await second.close();
  await first.close();
});

it("a clock moved by one process is moved in the others", async () => {
  await advance(first, 48 * HOUR_MS);
  await waitFor(
    () => second.core.clock.now().getTime() > first.core.clock.now().getTime() - 60_000,
  );
});

it("the key of a person erased by one process is dropped by the others", async () => {
  const onramp = await openOnramp(first);
  const path = `/users/${onramp.user_id}/onramps/${onramp.id}`;
  expect((await second.call("GET", path)).status).toBe(200);
  const key = { account_id: first.account_id, user_id: onramp.user_id };
  expect(await eraseUser(first.core, key)).toBe(true);
  expect((await second.call("GET", path)).status).toBe(404);
  const subject = { account_id: first.account_id, subject_id: onramp.user_id };
  await waitFor(async () => {
    const keys = await second.core.keyring.openSubjects(second.core.database, [subject]);
    return !keys.has(first.account_id, onramp.user_id);
  });
});
