import { expect, it } from "vitest";
import { DELIVER_TASK } from "../../src/apps/model.ts";
import { DAY_MS } from "../../src/platform/durations.ts";
import { wakenId } from "../../src/platform/tasks/tasks.ts";
import { REPLAY_TASK } from "../../src/webhooks/model.ts";
import { startTestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp } from "./webhook-fixture.ts";

it("long replays of one account delay no replay of another", async () => {
  const server = await startTestServer();
  try {
    const { account_id, core } = server;
    const { database, clock } = core;
    const other = await server.addAccount("Other");
    await database.query("update accounts set webhooks_enabled_at = created_at");
    const webhook_url = "http://127.0.0.1:1/hook";
    const slow = await addApp(server, { webhook_url });
    const quick = await addApp(server, { webhook_url }, other.key);
    const task_id = wakenId(DELIVER_TASK, { account_id, id: slow.id });
    const replay = (id: string, key: string) =>
      server.call("POST", `/apps/${id}/replay`, { from: "2026-01-01T00:00:00Z" }, { key });
    const isDone = async () => {
      const [row] = await database.query<{ deliveries: number | null }>(
        "select deliveries from webhook_replays where app_id = $1",
        [quick.id],
      );
      return row!.deliveries !== null;
    };
    // Replays of this application wait for the end of the transaction.
    await database.transaction(async (tx) => {
      await tx.query(
        `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
         values ($1, $2, $3, $4, $5, $5)
         on conflict (account_id, id) do update set kind = excluded.kind`,
        [account_id, task_id, DELIVER_TASK, slow.id, clock.now()],
      );
      for (let count = 0; count < 5; count += 1) {
        expect((await replay(slow.id, server.key)).status).toBe(200);
      }
      expect((await replay(quick.id, other.key)).status).toBe(200);
      await waitFor(isDone);
    });
  } finally {
    await server.close();
  }
});

it("an account has at most 100 replays that wait", async () => {
  const server = await startTestServer();
  try {
    const { account_id, core } = server;
    const other = await server.addAccount("Other");
    await core.database.query("update accounts set webhooks_enabled_at = created_at");
    const webhook_url = "http://127.0.0.1:1/hook";
    const own = await addApp(server, { webhook_url });
    const others = await addApp(server, { webhook_url }, other.key);
    const replay = (id: string, key: string) =>
      server.call("POST", `/apps/${id}/replay`, { from: "2026-01-01T00:00:00Z" }, { key });
    // Due later: none is worked on meanwhile.
    await core.database.query(
      `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
       select $1, gen_random_uuid(), $2, gen_random_uuid(), $3, $3 from generate_series(1, 100)`,
      [account_id, REPLAY_TASK, new Date(core.clock.now().getTime() + DAY_MS)],
    );
    const refused = await replay(own.id, server.key);
    expect(refused).toMatchObject({ status: 429, body: { error_code: "too_many_requests" } });
    expect((await replay(others.id, other.key)).status).toBe(200);
    await core.database.query("delete from tasks where account_id = $1 and kind = $2", [
      account_id,
      REPLAY_TASK,
    ]);
    expect((await replay(own.id, server.key)).status).toBe(200);
  } finally {
    await server.close();
  }
});
