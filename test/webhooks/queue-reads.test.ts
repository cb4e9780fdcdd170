import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { DELIVER_TASK } from "../../src/apps/model.ts";
import { type Database, openDatabase, type Transaction } from "../../src/platform/db/database.ts";
import { observeStatements } from "../../src/platform/db/observe.ts";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { wakeTasks } from "../../src/platform/tasks/tasks.ts";
import { type DeliveryOutcome, updateOutcomes } from "../../src/webhooks/delivery/outcome-store.ts";
import { planByKey, planByRecord, planInOrder } from "../../src/webhooks/delivery/planner-store.ts";
import { SKIPPED_AT_ONCE } from "../../src/webhooks/delivery/skip-store.ts";
import {
  listDueDeliveries,
  listDueOfRecords,
  listNextDue,
} from "../../src/webhooks/delivery/store.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addApp } from "./webhook-fixture.ts";

const QUEUED = 1_000;
/** Of which no more than a thousand are looked at. */
const WAITING = 3_000;
const RECORDS = 100;

let server: TestServer;
let app: { account_id: string; app_id: string };
let databases: Map<Way, Database>;
/** Sends its statements in the form that is tested. */
let database: Database;

type Way = "sets of all accounts" | "sets of one account";
// Where statements are recorded, each is of one account (test/tenancy).
const WAYS: Way[] = process.env.SLIPROAD_BATCH_BY
  ? ["sets of one account"]
  : ["sets of all accounts", "sets of one account"];

beforeAll(async () => {
  server = await startTestServer();
  databases = new Map(
    WAYS.map((way) => {
      const by_account = way === "sets of one account";
      return [way, openDatabase({ url: server.db.url, connections_max: 2, by_account })];
    }),
  );
  const { id } = await addApp(server, { webhook_url: "http://127.0.0.1:9/" });
  app = { account_id: server.account_id, app_id: id };
});
afterAll(async () => {
  for (const one of databases?.values() ?? []) await one.close();
  await server?.close();
});
beforeEach(async () => {
  await server.core.database.query("delete from webhook_queue");
});

/** Entries of the queue only: no task sends them. */
async function fill(account_id: string, app_id: string): Promise<string[]> {
  const record_ids = Array.from({ length: QUEUED }, () => randomUUID());
  await server.core.database.query(
    `insert into webhook_queue (account_id, app_id, due_at, delivery_id, event_account_id, event_id,
       record_id, sequence, is_sample, attempts, attempts_before)
     select $1, $2, $3, id, $1, id, id, 1, false, 0, 0 from unnest($4::uuid[]) as id`,
    [account_id, app_id, server.core.clock.now(), record_ids],
  );
  return record_ids;
}

/** Entries of one record that wait for one application. */
async function fillRecord(
  owner: { account_id: string; app_id: string },
  record_id: string,
  first_sequence: number,
  count = QUEUED,
): Promise<void> {
  await server.core.database.query(
    `insert into webhook_queue (account_id, app_id, due_at, delivery_id, event_account_id, event_id,
       record_id, sequence, is_sample, attempts, attempts_before)
     select $1, $2, $3::timestamptz + n * interval '1 ms', gen_random_uuid(), $1,
       gen_random_uuid(), $4, $5 + n, false, 0, 0 from generate_series(1, $6::int) as n`,
    [owner.account_id, owner.app_id, dayAgo(), record_id, first_sequence, count],
  );
}

function dayAgo(): Date {
  return new Date(server.core.clock.now().getTime() - DAY_MS);
}

/** How many entries of the queue the work reads. */
function countRead(work: (tx: Transaction) => Promise<unknown>): Promise<number> {
  return database.transaction(async (tx) => {
    const before = await readSoFar(tx);
    await work(tx);
    return (await readSoFar(tx)) - before;
  });
}

async function readSoFar(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
     where relname = 'webhook_queue'`,
  );
  return row!.read;
}

/**
 * Before PostgreSQL 17 an index is not always searched for several keys at once: where a statement
 * names one account it may read all entries of that, once.
 */
async function readByKeys(keys: number): Promise<number> {
  const [server] = await database.query<{ version: number }>(
    "select current_setting('server_version_num')::integer as version",
  );
  return database.by_account && server!.version < 170_000 ? 2 * QUEUED : keys;
}

type Fill<T> = () => Promise<T>;
const fillOwn = () => fill(app.account_id, app.app_id);

// The queue grows and shrinks within minutes, and is analyzed only sometimes.
const STATISTICS = {
  "of an empty queue": async <T>(fillQueue: Fill<T>) => {
    await server.core.database.query("vacuum analyze webhook_queue");
    return fillQueue();
  },
  // Pages that became empty stay part of the table if something reads it meanwhile.
  "of a queue that was emptied": async <T>(fillQueue: Fill<T>) => {
    await fillQueue();
    await server.core.database.query("delete from webhook_queue");
    await server.core.database.query("vacuum (analyze, truncate false) webhook_queue");
    return fillQueue();
  },
  "of another application's queue": async <T>(fillQueue: Fill<T>) => {
    await fill(randomUUID(), randomUUID());
    await server.core.database.query("vacuum analyze webhook_queue");
    return fillQueue();
  },
  "of the queue as it is": async <T>(fillQueue: Fill<T>) => {
    const filled = await fillQueue();
    await server.core.database.query("vacuum analyze webhook_queue");
    return filled;
  },
};

const CASES = WAYS.flatMap((way) =>
  Object.entries(STATISTICS).map(([title, withStatistics]): [string, typeof withStatistics] => [
    `${title}, in ${way}`,
    (fillQueue) => {
      database = databases.get(way)!;
      return withStatistics(fillQueue);
    },
  ]),
);

it.each(CASES)(
  "finding a record's next event reads that record's entries, with statistics %s",
  async (_title, withStatistics) => {
    const record_ids = (await withStatistics(fillOwn)).slice(-RECORDS);
    const now = server.core.clock.now();
    const records = record_ids.map((record_id) => ({ ...app, record_id }));
    const read = await countRead(async (tx) => {
      await planByRecord(tx);
      expect(await listDueOfRecords(tx, records, now)).toHaveLength(RECORDS);
    });
    expect(read).toBeLessThanOrEqual(3 * RECORDS);
  },
);

it.each(CASES)(
  "a page of due deliveries reads no more than the page, with statistics %s",
  async (_title, withStatistics) => {
    await withStatistics(fillOwn);
    const now = server.core.clock.now();
    const limits = { well: RECORDS, failing: 1, bytes: 1_000_000 };
    const read = await countRead(async (tx) => {
      await planInOrder(tx);
      const page = await listDueDeliveries(tx, [{ ...app, after: null }], now, limits);
      expect(page).toHaveLength(RECORDS);
    });
    expect(read).toBeLessThanOrEqual(3 * RECORDS);
  },
);

it.each(CASES)(
  "what waits for a failed event is not read to its end, with statistics %s",
  async (_title, withStatistics) => {
    const { clock } = server.core;
    await withStatistics(() => fillRecord(app, randomUUID(), 0, WAITING));
    const later = new Date(clock.now().getTime() + DAY_MS);
    await database.query("update webhook_queue set due_at = $1 where sequence = 1", [later]);
    const until = new Date(clock.now().getTime() + HOUR_MS);
    const setCircuit = (time: Date | null) =>
      database.query("update apps set circuit_until = $2 where id = $1", [app.app_id, time]);
    const keys = [{ account_id: app.account_id, id: app.app_id }];
    const find = () => {
      let due: Awaited<ReturnType<typeof listNextDue>> | undefined;
      return countRead(async (tx) => {
        await planByRecord(tx);
        due = await listNextDue(tx, keys, clock.now());
      }).then((read) => ({ read, ...due!.get(app.app_id)! }));
    };
    // Nor more than some of it while it is closed: whoever hands over events waits for that.
    const closed = await find();
    expect(closed.read).toBeLessThanOrEqual(WAITING / 2);
    expect(closed.due_at.getTime()).toBeGreaterThan(clock.now().getTime());
    expect(closed.due_at.getTime()).toBeLessThan(until.getTime());
    expect(closed.all_wait).toBe(true);
    await setCircuit(until);
    const found = await find();
    await setCircuit(null);
    expect(found.all_wait).toBeNull();
    expect(found.read).toBeLessThanOrEqual(10);
    expect(found.due_at.getTime()).toBeLessThan(until.getTime());
  },
);

const OTHERS = {
  "of the same account": () => ({ ...app, app_id: randomUUID() }),
  "of another account": () => ({ account_id: randomUUID(), app_id: randomUUID() }),
};
const OTHERS_AND_STATISTICS = Object.entries(OTHERS).flatMap(([owner, other]) =>
  CASES.map(([title, withStatistics]) => ({
    ...{ owner, other, title, withStatistics },
  })),
);

/** The other application has not received what this one has: it has the earlier entries. */
async function fillShared(other: { account_id: string; app_id: string }): Promise<string> {
  const record_id = randomUUID();
  await fillRecord(other, record_id, 0);
  await fillRecord(app, record_id, QUEUED);
  return record_id;
}

it.each(OTHERS_AND_STATISTICS)(
  "a page reads no entry of an application $owner that waits for the same record, with statistics $title",
  async ({ other, withStatistics }) => {
    const record_id = await withStatistics(() => fillShared(other()));
    const now = server.core.clock.now();
    const limits = { well: RECORDS, failing: 1, bytes: 1_000_000 };
    const read = await countRead(async (tx) => {
      await planInOrder(tx);
      const page = await listDueDeliveries(tx, [{ ...app, after: null }], now, limits);
      expect(page).toMatchObject([{ record_id, sequence: QUEUED + 1 }]);
    });
    expect(read).toBeLessThanOrEqual(3 * QUEUED);
  },
);

it.each(OTHERS_AND_STATISTICS)(
  "a record's next event is found without the entries of an application $owner, with statistics $title",
  async ({ other, withStatistics }) => {
    const record_id = await withStatistics(() => fillShared(other()));
    const now = server.core.clock.now();
    const read = await countRead(async (tx) => {
      await planByRecord(tx);
      const due = await listDueOfRecords(tx, [{ ...app, record_id }], now);
      expect(due).toMatchObject([{ record_id, sequence: QUEUED + 1 }]);
    });
    // The plan for an emptied queue sorts the application's own entries of the record.
    expect(read).toBeLessThanOrEqual(QUEUED);
  },
);

it.each(OTHERS_AND_STATISTICS)(
  "an outcome is recorded without the entries of an application $owner, with statistics $title",
  async ({ other, withStatistics }) => {
    const record_id = await withStatistics(() => fillShared(other()));
    const [last] = await server.core.database.query<{ id: string; due_at: string }>(
      `select delivery_id as id, due_at::text as due_at from webhook_queue
       where app_id = $1 order by sequence desc limit 1`,
      [app.app_id],
    );
    const outcome = { ...delivered(last!.id, last!.due_at), record_id, sequence: 2 * QUEUED };
    const read = await countRead(async (tx) => {
      await planByKey(tx);
      expect(await updateOutcomes(tx, [outcome])).toHaveLength(0);
    });
    expect(read).toBeLessThanOrEqual(await readByKeys(10));
  },
);

it.each(CASES)(
  "recording outcomes reads the entries of these deliveries, with statistics %s",
  async (_title, withStatistics) => {
    const ids = (await withStatistics(fillOwn)).slice(-RECORDS);
    const read = await countRead(async (tx) => {
      const [due] = await tx.query<{ due_at: string }>(
        "select due_at::text as due_at from webhook_queue where delivery_id = $1",
        [ids[0]],
      );
      await planByKey(tx);
      const before = await readSoFar(tx);
      await updateOutcomes(
        tx,
        ids.map((id) => delivered(id, due!.due_at)),
      );
      const most = await readByKeys(3 * RECORDS);
      expect((await readSoFar(tx)) - before).toBeLessThanOrEqual(most);
    });
    expect(read).toBeGreaterThanOrEqual(RECORDS);
    const [left] = await server.core.database.query<{ count: number }>(
      "select count(*)::integer as count from webhook_queue where delivery_id = any ($1)",
      [ids],
    );
    expect(left!.count).toBe(0);
  },
);

function delivered(id: string, due_at: string): DeliveryOutcome {
  const attempt = { number: 1, status: 200, error: null, latency_ms: 1, answer: null };
  return {
    ...app,
    ...{ delivery_id: id, record_id: id, sequence: 1, due_at, attempt },
    ...{ status: "delivered", reason: null, next_attempt_at: null, at: server.core.clock.now() },
  };
}

/*
 * A deletion, and an answer 410, skipped all in the transaction that has the lock of the sender's
 * task: with fifty applications of 100,000 deliveries half a minute, in which nobody's events were
 * handed to applications.
 */
it.each(["deleted", "disabled"])(
  "what is pending for a %s application is skipped in parts",
  async (how) => {
    const { database } = server.core;
    const { id } = await addApp(server, { webhook_url: "http://127.0.0.1:9/" });
    await fill(server.account_id, id);
    let statements = 0;
    const text = "select from webhook_queue where app_id = $1";
    const isEmpty = async () => (await database.query(text, [id])).length === 0;
    observeStatements(({ text }) => {
      if (/delete from webhook_queue/.test(text)) statements += 1;
    });
    try {
      if (how === "deleted") {
        expect((await server.call("POST", `/apps/${id}/delete`)).status).toBe(200);
      } else {
        await database.query("update apps set webhook_state = 'disabled' where id = $1", [id]);
        await database.transaction(async (tx) => {
          wakeTasks(tx, DELIVER_TASK, [{ ...app, id }], server.core.clock.now());
        });
        server.app.worker.wake();
      }
      await waitFor(isEmpty);
    } finally {
      observeStatements(undefined);
    }
    expect(statements).toBeGreaterThanOrEqual(QUEUED / SKIPPED_AT_ONCE);
  },
);
