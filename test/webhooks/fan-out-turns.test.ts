import { afterAll, beforeAll, expect, it } from "vitest";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import type { TaskSet } from "../../src/platform/tasks/task-set.ts";
import type { Task } from "../../src/platform/tasks/tasks.ts";
import { fanOutTask } from "../../src/webhooks/fan-out.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { emit } from "./webhook-fixture.ts";

const BLOCK = 1_000;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ without_worker: true });
});
afterAll(() => server?.close());

it("an account with many events has its turn, then the others: nobody waits for its end", async () => {
  const many = (await server.addAccount("Many events")).account_id;
  const few = (await server.addAccount("Few events")).account_id;
  await emit(server, ...Array.from({ length: 2 * BLOCK + 1 }, () => ({ account_id: many })));
  await emit(server, { account_id: few });
  const turn = async (...account_ids: string[]) => {
    const tasks = account_ids.map((account_id) => ({ account_id }) as Task);
    const ended: Record<string, string> = {};
    const end = (how: string) => (_tx: unknown, tasks: readonly Task[]) => {
      for (const { account_id } of tasks) ended[account_id] = how;
    };
    const now = server.core.clock.now();
    const set = { tasks, now, lock: async () => tasks, finish: end("done"), repeat: end("more") };
    const { database, config } = server.core;
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const signing_key = signingKey(signingSeed(config));
    const deps = { database, log, signing_key, wakeDeliveries: () => {} };
    await fanOutTask(deps, 0).handle(set as unknown as TaskSet);
    return ended;
  };
  const placed = async (account_id: string) => {
    const [row] = await server.core.database.query<{ count: number }>(
      "select count(*)::int as count from event_positions where account_id = $1",
      [account_id],
    );
    return row!.count;
  };
  expect(await turn(many, few)).toEqual({ [many]: "more", [few]: "more" });
  expect([await placed(many), await placed(few)]).toEqual([BLOCK, 1]);
  expect(await turn(few)).toEqual({ [few]: "done" });
  expect(await turn(many)).toEqual({ [many]: "more" });
  expect(await turn(many)).toEqual({ [many]: "more" });
  expect(await turn(many)).toEqual({ [many]: "done" });
  expect(await placed(many)).toBe(2 * BLOCK + 1);
});
