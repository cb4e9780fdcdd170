import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { DELIVER_TASK } from "../../src/apps/model.ts";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import {
  createGuardedSender,
  type GuardedSender,
} from "../../src/partners/outbound-http/guarded-sender.ts";
import { claimTasks } from "../../src/platform/tasks/claim-store.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { createTaskSet } from "../../src/platform/tasks/task-set.ts";
import { createWorker } from "../../src/platform/tasks/worker.ts";
import { deliverTask } from "../../src/webhooks/delivery/deliver-task.ts";
import type { DeliverDeps } from "../../src/webhooks/delivery/sender-model.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp, emit } from "./webhook-fixture.ts";

/** Which worker may send, and when; the test runs its own next to a service without a worker. */
let server: TestServer;
let receiver: Receiver;
let sender: GuardedSender;
let deps: DeliverDeps;
beforeAll(async () => {
  [server, receiver] = await Promise.all([startTestServer(), startReceiver()]);
  sender = createGuardedSender({ allow_list: [], allow_loopback: true, whole_timeout_ms: 5_000 });
  const { database, clock, keyring } = server.core;
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  deps = { database, clock, keyring, sender, log, random: () => 0, isStopping: () => false };
});
beforeEach(() => {
  receiver.received.length = 0;
});
afterAll(async () => {
  sender.close();
  await receiver.close();
  await server.close();
});

const count = (path: string) => receiver.received.filter((got) => got.path.startsWith(path)).length;

/** Paused applications with one event each, sent once they are resumed. */
async function addWaiting(urls: string[], account: { account_id: string; key: string }) {
  const apps: string[] = [];
  for (const webhook_url of urls) {
    const { id } = await addApp(server, { webhook_url }, account.key);
    await server.call("POST", `/apps/${id}/pause`, undefined, { key: account.key });
    apps.push(id);
  }
  await emit(server, { account_id: account.account_id });
  await waitFor(async () => {
    const rows = await server.db.database.query(
      "select from webhook_deliveries where app_id = any($1::uuid[])",
      [apps],
    );
    return rows.length === urls.length;
  });
  return apps;
}

it("one account's hanging endpoints leave slots for others; a lost lease sends nothing", async () => {
  receiver.answer(({ path }) => (path.startsWith("/hook/hang") ? "hang" : 200));
  const own = { account_id: server.account_id, key: server.key };
  const other = await server.addAccount("Other");
  const { database, clock } = server.core;
  await database.transaction(async (tx) => updateAccountEnabled(tx, other.account_id, clock.now()));
  const hanging = await addWaiting(
    Array.from({ length: 7 }, (_, index) => `${receiver.url}/hang/${index}`),
    own,
  );
  const [well] = await addWaiting([`${receiver.url}/well`], other);
  const [frozen] = await addWaiting([`${receiver.url}/frozen`], other);
  await server.app.worker.stop();

  // A worker that was frozen for longer than its lease.
  await server.call("POST", `/apps/${frozen}/resume`, undefined, { key: other.key });
  const claim = await claimTasks(database, {
    kind: DELIVER_TASK,
    failed: false,
    now: clock.now(),
    real_now: realTime(clock),
    lease_ms: 30_000,
    lease_id: randomUUID(),
    limit: 10,
  });
  expect(claim.tasks.map((task) => task.record_id)).toContain(frozen);
  await deliverTask(deps).handle(
    createTaskSet({ ...claim, held_until_ms: performance.now() }, () => {}).set,
  );
  expect(receiver.received).toEqual([]);

  const limits = { sets_at_once: 2, long_sets: 5, long_sets_per_account: 2 };
  const handlers = [deliverTask(deps, limits)];
  const worker = createWorker({ database, clock, log: deps.log, handlers, sets_max: 4 });
  worker.start();
  try {
    await waitFor(() => count("/hook/frozen") > 0);
    for (const id of hanging) {
      await server.call("POST", `/apps/${id}/resume`);
      worker.wake();
      await sleep(350);
    }
    expect(count("/hook/hang")).toBeGreaterThanOrEqual(2);
    const begun_ms = performance.now();
    await server.call("POST", `/apps/${well}/resume`, undefined, { key: other.key });
    worker.wake();
    await waitFor(() => count("/hook/well") > 0);
    expect(performance.now() - begun_ms).toBeLessThan(1_000);
    // The rest waits, and gets a turn when the first ones time out.
    await waitFor(() => count("/hook/hang") >= hanging.length, 60_000);
  } finally {
    await worker.stop();
  }
}, 90_000);
