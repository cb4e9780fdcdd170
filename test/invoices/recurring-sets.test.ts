import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPartners } from "../../src/app/open-partners.ts";
import { createInvoiceRenderer } from "../../src/invoices/render.ts";
import { CREATE_OCCURRENCES_TASK } from "../../src/invoices/task-kinds.ts";
import { invoiceTasks } from "../../src/invoices/tasks.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { claimTasks } from "../../src/platform/tasks/claim-store.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import type { TaskHandler } from "../../src/platform/tasks/run-set.ts";
import { createTaskSet } from "../../src/platform/tasks/task-set.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "../offramps/story.ts";
import { create } from "./invoice-fixture.ts";

const TEMPLATES = 7;
const LEASE_MS = 30_000;

let server: TestServer;
let handler: TaskHandler;
beforeAll(async () => {
  server = await startTestServer();
  await server.app.worker.stop();
  const { core } = server;
  const deps = { ...core, mode: "sandbox" as const, public_url: () => "http://127.0.0.1" };
  const { chain } = await openPartners(core);
  const handlers = invoiceTasks({ ...deps, renderer: createInvoiceRenderer(deps), chain });
  handler = handlers.find(({ kind }) => kind === CREATE_OCCURRENCES_TASK)!;
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

/** As a worker does; false if nothing is due. */
async function runSet(limit: number): Promise<boolean> {
  const { database, clock } = server.core;
  const claim = await claimTasks(database, {
    kind: CREATE_OCCURRENCES_TASK,
    failed: false,
    now: clock.now(),
    real_now: realTime(clock),
    lease_ms: LEASE_MS,
    lease_id: randomUUID(),
    limit,
  });
  if (claim.tasks.length > 0) await handler.handle(createTaskSet(claim, () => {}).set);
  return claim.tasks.length > 0;
}

it.each([1, 3, TEMPLATES])(
  "in sets of %s templates, as after one that took long, invoices are created in order of time",
  async (limit) => {
    const begin = server.core.clock.now().getTime();
    const ids: string[] = [];
    for (let at = 0; at < TEMPLATES; at += 1) {
      const first = new Date(begin + DAY_MS + at * HOUR_MS).toISOString().slice(0, 19);
      const rule = `FREQ=DAILY;INTERVAL=${1 + (at % 3)};COUNT=4`;
      const recurringRule = `DTSTART:${first.replace(/[-:]/g, "")}Z\nRRULE:${rule}`;
      ids.push(good(await create(server, { invoiceNumber: randomUUID(), recurringRule })).id);
    }
    await server.core.clock.advance(20 * DAY_MS);
    while (await runSet(limit));
    const created = await server.db.database.query<{ creation_date: Date }>(
      "select creation_date from invoices where template_id = any($1) order by id",
      [ids],
    );
    expect(created).toHaveLength(TEMPLATES * 4);
    const times = created.map(({ creation_date }) => creation_date.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  },
);
