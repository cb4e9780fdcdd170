import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DELIVER_TASK } from "../../src/apps/model.ts";
import { updateAccountEnabled } from "../../src/apps/store.ts";
import { listEvents } from "../../src/events/order-store.ts";
import { EVENT_LOG, recordEvents } from "../../src/events/record-events.ts";
import type { Transaction } from "../../src/platform/db/database.ts";
import { FIRST_ID, firstIdAt, LAST_ID } from "../../src/platform/ids.ts";
import { signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { verifyChain } from "../../src/platform/sealing/verify-chain.ts";
import { wakeTasks } from "../../src/platform/tasks/tasks.ts";
import { QUEUE_COLUMNS, QUEUED } from "../../src/webhooks/delivery/store.ts";
import { trimEvents } from "../../src/webhooks/trim-events.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  addApp,
  advance,
  DAY_MS,
  deliveriesOf,
  emit,
  expectQueue,
  HOUR_MS,
  idle,
  newEvent,
  readEvents,
} from "./webhook-fixture.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await expectQueue(server);
  await server.close();
  await receiver.close();
});

describe("GET /webhook_events", () => {
  it("a poller sees each event once and without gaps, even if others commit late", async () => {
    const { account_id, key } = await server.addAccount("Polled");
    const [WRITERS, CHANGES] = [6, 8];
    const written = new Set<string>();
    const writer = async (number: number) => {
      const record_id = randomUUID();
      for (let sequence = 1; sequence <= CHANGES; sequence += 1) {
        await writeLate({ account_id, record_id, sequence }, ((number * sequence) % 5) * 0.02);
        written.add(`${record_id} ${sequence}`);
      }
    };
    // The oldest id, committed only after another event was read.
    const [begun, other_seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const oldest = { account_id, record_id: randomUUID(), sequence: 1 };
    const late = writeLate(oldest, 0, () => {
      begun.resolve();
      return other_seen.promise;
    });
    written.add(`${oldest.record_id} 1`);
    await begun.promise;
    const writers = Array.from({ length: WRITERS }, (_, number) => writer(number));
    const writing = Promise.all([late, ...writers]);
    const seen: { id: string; record_id: string; sequence: number }[] = [];
    while (seen.length < WRITERS * CHANGES + 1) {
      const after = seen.length > 0 ? `&starting_after=${seen.at(-1)!.id}` : "";
      const path = `/webhook_events?limit=7${after}`;
      const { body } = await server.call("GET", path, undefined, { key });
      seen.push(...body.webhook_events);
      if (seen.length > 0) other_seen.resolve();
    }
    await writing;
    const names = seen.map(({ record_id, sequence }) => `${record_id} ${sequence}`);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(names)).toEqual(written);
    for (const own of Map.groupBy(seen, (event) => event.record_id).values()) {
      expect(own.map((event) => event.sequence)).toEqual(own.map((_, index) => index + 1));
    }
    // Late commits did occur: ordering by id would differ.
    const by_id = seen.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(by_id).not.toEqual(seen);
  });

  it("can start after an event or at a time, and filter by name", async () => {
    const { account_id, key } = await server.addAccount("Reader");
    await emit(server, { account_id, name: "create" }, { account_id, name: "accept" });
    await advance(server, 60_000);
    const { now } = (await server.call("GET", "/sandbox/clock")).body.clock;
    await advance(server, 1_000);
    await emit(server, { account_id, name: "paid" });
    await idle(server);
    const names = async (query: string) => {
      const { body } = await server.call("GET", `/webhook_events?${query}`, undefined, { key });
      return body.webhook_events.map((event: { event: string }) => event.event);
    };
    const [first] = await readEvents(server, key);
    expect(await names("")).toEqual(["create", "accept", "paid"]);
    expect(await names(`starting_after=${first.id}`)).toEqual(["accept", "paid"]);
    expect(await names(`created_after=${now}`)).toEqual(["paid"]);
    expect(await names(`created_before=${now}`)).toEqual(["create", "accept"]);
    expect(await names("event=accept")).toEqual(["accept"]);
    expect(await names(`created_before=${now}&starting_after=${first.id}`)).toEqual(["accept"]);
    expect(await names(`created_after=${now}&starting_after=${first.id}`)).toEqual(["paid"]);
    expect(await names(`created_before=${now}&event=paid`)).toEqual([]);
    const missing = await server.call("GET", `/webhook_events?starting_after=${randomUUID()}`);
    expect(missing.body).toMatchObject({ status: 404, error_code: "record_not_found" });
    const foreign = await server.call("GET", `/webhook_events?starting_after=${first.id}`);
    expect(foreign.body).toMatchObject({ status: 404, error_code: "record_not_found" });
  });

  it("reads no events outside the times that were asked for", async () => {
    const { account_id } = await server.addAccount("Busy reader");
    const { clock } = server.core;
    await emit(server, { account_id, name: "accept" });
    await advance(server, 60_000);
    const after_first = firstIdAt(clock.now());
    await emit(server, ...Array.from({ length: 500 }, () => ({ account_id })));
    await advance(server, 60_000);
    const before_last = firstIdAt(clock.now());
    await emit(server, { account_id, name: "paid" });
    await idle(server);
    const all = { after_position: 0n, limit: 100, from_id: FIRST_ID, below_id: LAST_ID };
    const pages = [
      [{ ...all, below_id: after_first }, "accept"],
      [{ ...all, after_position: 1n, from_id: before_last }, "paid"],
    ] as const;
    await server.core.database.query("analyze events, event_positions");
    for (const [page, name] of pages) {
      await server.core.database.transaction(async (tx) => {
        // An account as small as this one may be read whole, if the planner knows how small it is.
        for (const way of ["seqscan", "bitmapscan", "hashjoin", "mergejoin"]) {
          await tx.query(`set local enable_${way} = off`);
        }
        const before = await readSoFar(tx);
        const events = await listEvents(tx, account_id, page);
        expect(events.map((event) => event.name)).toEqual([name]);
        expect((await readSoFar(tx)) - before).toBeLessThan(20);
      });
    }
  });
});

/** The rows that this transaction has read of the events. */
async function readSoFar(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname in ('events', 'event_positions')`,
  );
  return row!.read;
}

it("the deliveries of an event are listed newest first, paged, and filtered by status", async () => {
  const { account_id, key } = await server.addAccount("Many applications");
  const { database, clock } = server.core;
  await database.transaction(async (tx) => updateAccountEnabled(tx, account_id, clock.now()));
  for (const name of ["a", "b", "c"]) {
    await addApp(server, { name, webhook_url: `${receiver.url}/list-${name}` }, key);
  }
  await emit(server, { account_id });
  await idle(server);
  const [event] = await readEvents(server, key);
  const list = async (query: string) => {
    const path = `/webhook_events/${event.id}/deliveries${query}`;
    const { status, body } = await server.call("GET", path, undefined, { key });
    expect(status).toBe(200);
    const ids: string[] = body.deliveries.map(({ id }: { id: string }) => id);
    return { ids, has_more: body.has_more as boolean };
  };
  const { ids, has_more } = await list("");
  expect([ids.length, has_more]).toEqual([3, false]);
  expect(ids).toEqual(ids.toSorted().reverse());
  expect(await list("?limit=2")).toEqual({ ids: ids.slice(0, 2), has_more: true });
  expect(await list(`?limit=2&starting_after=${ids[1]}`)).toEqual({
    ids: ids.slice(2),
    has_more: false,
  });
  const statuses = await Promise.all(
    ["pending", "delivered", "failed", "skipped"].map((status) => list(`?status=${status}`)),
  );
  expect(statuses.flatMap((one) => one.ids).toSorted()).toEqual(ids.toSorted());
  expect((await list("?created_before=2020-01-01")).ids).toEqual([]);
  const path = `/webhook_events/${event.id}/deliveries?starting_after=x&created_after=y`;
  const refused = await server.call("GET", path, undefined, { key });
  expect(refused.body).toMatchObject({
    error_code: "record_invalid",
    errors: [{ field: "created_after" }, { field: "starting_after" }],
  });
});

describe("sending again", () => {
  it("redelivers one event, with the same id and bytes, to the account's own applications", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/one` });
    await emit(server, {});
    await idle(server);
    const [first] = got("/one");
    const id = first!.headers["webhook-id"] as string;
    const again = await server.call("POST", `/webhook_events/${id}/redeliver`, { app_id: app.id });
    expect(again.status).toBe(200);
    await idle(server);
    const [, second] = got("/one");
    expect(second!.raw.equals(first!.raw)).toBe(true);
    expect(second!.headers["webhook-id"]).toBe(id);
    const [delivery] = await deliveriesOf(server, id);
    expect(delivery.attempts.map((attempt: { number: number }) => attempt.number)).toEqual([1, 2]);

    const stranger = await server.addAccount("Stranger");
    const path = `/webhook_events/${id}/redeliver`;
    const refused = await server.call("POST", path, {}, { key: stranger.key });
    expect(refused.body).toMatchObject({ status: 404, error_code: "record_not_found" });
    const other = { app_id: randomUUID() };
    expect((await server.call("POST", path, other)).body.error_code).toBe("record_not_found");
    await server.db.database.query("update apps set deleted_at = created_at");
  });

  it("replays a range of time, also events without a delivery", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/range` });
    await server.call("PATCH", `/apps/${app.id}`, { app: { webhook_url: null } });
    const [missed] = await emit(server, {});
    await idle(server);
    await server.call("PATCH", `/apps/${app.id}`, {
      app: { webhook_url: `${receiver.url}/range` },
    });
    await advance(server, 1_000);
    const from = (await server.call("GET", "/sandbox/clock")).body.clock.now;
    await advance(server, 1_000);
    await emit(server, {}, {});
    await idle(server);
    expect(got("/range")).toHaveLength(2);
    await advance(server, 1_000);
    await replay(app.id, { from });
    expect(got("/range")).toHaveLength(4);
    await replay(app.id, { from: "2026-01-01T00:00:00Z" });
    expect(got("/range")).toHaveLength(7);
    expect(got("/range").map(({ body }) => body.invoice.id)).toContain(missed!.record_id);
    await replay(app.id, { from: "2026-01-01T00:00:00Z", only_failed: true });
    expect(got("/range")).toHaveLength(7);
    await server.db.database.query("update apps set deleted_at = created_at");
  });
});

describe("sending again is refused, with the reason", () => {
  const refusals = async (id: string, app_id: string, key?: string) => {
    const asked = await Promise.all([
      server.call("POST", `/webhook_events/${id}/redeliver`, {}, { key }),
      server.call("POST", `/webhook_events/${id}/redeliver`, { app_id }, { key }),
      server.call("POST", `/apps/${app_id}/replay`, { from: "2026-01-01T00:00:00Z" }, { key }),
    ]);
    for (const { body } of asked) {
      expect(body).toMatchObject({ status: 422, error_code: "invalid_transition" });
    }
    return new Set(asked.map(({ body }) => body.errors[0].message));
  };

  it("while the endpoint is disabled or has no URL", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/refused` });
    receiver.answer(() => 410);
    await emit(server, {});
    await idle(server);
    receiver.answer(() => 200);
    const id = got("/refused")[0]!.headers["webhook-id"] as string;
    const disabled = new Set(["The endpoint is disabled; resume it first."]);
    expect(await refusals(id, app.id)).toEqual(disabled);
    expect((await deliveriesOf(server, id))[0].status).toBe("failed");
    await server.call("PATCH", `/apps/${app.id}`, { app: { webhook_url: null } });
    expect(await refusals(id, app.id)).toEqual(new Set(["Set a webhook URL."]));
    const other = await addApp(server, { webhook_url: `${receiver.url}/late` });
    const path = `/webhook_events/${id}/redeliver`;
    const late = await server.call("POST", path, { app_id: other.id });
    expect(late.body.errors).toMatchObject([
      {
        field: "app_id",
        message: "The application does not receive this event; send the id of one that does.",
      },
    ]);
    await server.db.database.query("update apps set deleted_at = created_at");
  });

  it("while the account is not enabled", async () => {
    const { account_id, key } = await server.addAccount("Not enabled");
    const app = await addApp(server, { webhook_url: `${receiver.url}/closed` }, key);
    await emit(server, { account_id });
    await idle(server);
    const [event] = await readEvents(server, key);
    const [reason] = await refusals(event.id, app.id, key);
    expect(reason).toMatch("ask the operator to enable them");
  });
});

describe("a range of what failed", () => {
  it("uses the time of the event, like any other range", async () => {
    const hook = { webhook_url: `${receiver.url}/missed` };
    const app = await addApp(server, {});
    const from = (await server.call("GET", "/sandbox/clock")).body.clock.now;
    await advance(server, 1_000);
    await emit(server, {});
    await advance(server, HOUR_MS);
    const to = (await server.call("GET", "/sandbox/clock")).body.clock.now;
    await advance(server, HOUR_MS);
    await server.call("PATCH", `/apps/${app.id}`, { app: hook });
    await server.call("POST", `/apps/${app.id}/rotate_webhook_secret`, {});
    receiver.answer(() => 410);
    await replay(app.id, { from });
    expect(got("/missed")).toHaveLength(1);
    receiver.answer(() => 200);
    await server.call("POST", `/apps/${app.id}/resume`);
    await replay(app.id, { from: to, only_failed: true });
    expect(got("/missed")).toHaveLength(1);
    await replay(app.id, { from, to, only_failed: true });
    expect(got("/missed")).toHaveLength(2);
    await server.db.database.query("update apps set deleted_at = created_at");
  });
});

describe("pending deliveries of a deleted application", () => {
  const statusesOf = (app_id: string) =>
    server.db.database.query(
      "select status, reason from webhook_deliveries where app_id = $1 order by id",
      [app_id],
    );

  it("are settled, including one that an open attempt would retry", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/deleted` });
    receiver.answer(() => 500);
    await emit(server, {}, {});
    await idle(server);
    receiver.answer(() => 200);
    await server.call("POST", `/apps/${app.id}/delete`);
    await idle(server);
    const settled = { status: "skipped", reason: "The application was deleted." };
    expect(await statusesOf(app.id)).toEqual([settled, settled]);
    const { account_id } = server;
    const { database, clock } = server.core;
    // Simulates a delivery or an attempt written just after the deletion.
    await database.transaction(async (tx) => {
      wakeTasks(tx, DELIVER_TASK, [{ account_id, id: app.id }], clock.now());
      tx.write(
        `with again as (
           update webhook_deliveries set status = 'pending', reason = null, next_attempt_at = $2
           where app_id = $1 returning *)
         insert into webhook_queue (${QUEUE_COLUMNS}) select d.account_id, ${QUEUED} from again as d`,
        [app.id, clock.now()],
      );
    });
    await idle(server);
    expect(await statusesOf(app.id)).toEqual([settled, settled]);
  });

  it("are deleted after retention", async () => {
    const app = await addApp(server, { webhook_url: `${receiver.url}/deleted` });
    await server.call("POST", `/apps/${app.id}/pause`);
    await emit(server, {});
    await idle(server);
    const { database, clock } = server.core;
    const days = {
      retention: "delete",
      event_retention_days: 30,
      delivery_retention_days: 30,
    } as const;
    await advance(server, 40 * DAY_MS);
    await trimEvents({ database, ...days }, clock.now());
    expect(await statusesOf(app.id)).toMatchObject([{ status: "pending" }]);
    // Simulates an application deleted before deletions settled pending deliveries.
    await database.query("update apps set deleted_at = created_at where id = $1", [app.id]);
    await trimEvents({ database, ...days }, clock.now());
    expect(await statusesOf(app.id)).toEqual([]);
  });
});

describe("retention", () => {
  it("deletes bodies and attempts permanently, and the log still verifies", async () => {
    await addApp(server, { webhook_url: `${receiver.url}/old` });
    const [old] = await emit(server, {});
    await idle(server);
    const id = got("/old")[0]!.headers["webhook-id"] as string;
    await advance(server, 40 * DAY_MS);
    const [fresh] = await emit(server, {});
    await idle(server);
    const { database, clock, config } = server.core;
    const days = {
      retention: "delete",
      event_retention_days: 30,
      delivery_retention_days: 30,
    } as const;
    await trimEvents({ database, ...days }, clock.now());
    const shown = await server.call("GET", `/webhook_events/${id}`);
    expect(shown.body.webhook_event).toMatchObject({ record_id: old!.record_id, body: null });
    expect(await deliveriesOf(server, id)).toEqual([]);
    const last = (await readEvents(server)).at(-1);
    expect(last.body).toBe(fresh!.body);
    // The old one is not listed any more, and a poller that stopped there continues after it.
    const listed = await server.call("GET", "/webhook_events?limit=100");
    expect(listed.body.webhook_events.map((event: { id: string }) => event.id)).not.toContain(id);
    const next = await server.call("GET", `/webhook_events?limit=100&starting_after=${id}`);
    expect(next.body).toEqual(listed.body);
    expect(listed.body.webhook_events.at(-1).record_id).toBe(fresh!.record_id);
    const between = `created_after=${new Date(0).toISOString()}&created_before=2020-01-01T00:00:00Z`;
    const none = await server.call("GET", `/webhook_events?${between}`);
    expect(none.body.webhook_events).toEqual([]);
    const [rows] = await database.query<{ attempts: number }>(
      "select count(*)::int as attempts from webhook_attempts where at < $1",
      [new Date(clock.now().getTime() - 30 * DAY_MS)],
    );
    expect(rows!.attempts).toBe(0);
    // Only the log: the rest of verify would report the invoices invented by this test.
    const key = signingKey(signingSeed(config));
    const time = { now: clock.now(), is_sealer_running: true };
    const log = { ...EVENT_LOG, table: "events" };
    expect(await verifyChain(database, key, log, server.account_id, time)).toBeNull();
  });
});

describe("erasing a person", () => {
  it("makes the events about them and the receivers' responses unreadable", async () => {
    const app = { webhook_url: `${receiver.url}/erased`, events: ["kyc_update"] };
    await addApp(server, app);
    receiver.answer(({ body }) => ({ status: 200, body: JSON.stringify(body) }));
    const made = await server.call("POST", "/users", {
      user: { beneficiary_type: "business", email: "gone@example.com", company_name: "Gone Ltd" },
    });
    const user_id = made.body.user.id;
    const kyc = { kyc: { status: "initiated" } };
    await server.call("PATCH", `/sandbox/users/${user_id}/kycs`, kyc);
    await idle(server);
    const id = got("/erased")[0]!.headers["webhook-id"] as string;
    expect((await deliveriesOf(server, id))[0].attempts[0].answer).toContain("Gone Ltd");
    expect(await eraseUser(server.core, { account_id: server.account_id, user_id })).toBe(true);
    await idle(server);
    expect((await deliveriesOf(server, id))[0].attempts[0].answer).toBeNull();
    expect((await server.call("GET", `/webhook_events/${id}`)).body.webhook_event.body).toBeNull();
    await server.call("POST", `/webhook_events/${id}/redeliver`, {});
    await idle(server);
    expect((await deliveriesOf(server, id))[0]).toMatchObject({
      status: "skipped",
      reason: "The user's data was erased.",
    });
  });
});

const got = (path: string) => receiver.received.filter((one) => one.path === `/hook${path}`);

async function replay(app_id: string, range: Record<string, unknown>): Promise<void> {
  const answer = await server.call("POST", `/apps/${app_id}/replay`, range);
  expect(answer.status).toBe(200);
  await idle(server);
}

/**
 * The id is created first, the rows are written after half of the wait, committed after the rest.
 */
async function writeLate(
  about: { account_id: string; record_id: string; sequence: number },
  wait_s: number,
  beforeCommit: () => Promise<void> = async () => {},
): Promise<void> {
  const { database, keyring, clock } = server.core;
  const keys = await keyring.openAccounts(database, [about]);
  const now = clock.now();
  await database.transaction(async (tx) => {
    recordEvents(tx, [newEvent(about, about.account_id, keys, now)], now);
    await tx.query("select pg_sleep($1)", [wait_s / 2]);
    await beforeCommit();
    tx.write("select pg_sleep($1)", [wait_s / 2]);
  });
  server.app.worker.wake();
}
