import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "../../src/platform/db/database.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { updateOutcomes } from "../../src/webhooks/delivery/outcome-store.ts";
import { planByKey } from "../../src/webhooks/delivery/planner-store.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const AGAIN_AT = new Date(NOW.getTime() + HOUR_MS);

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const WAYS: [string, boolean][] = [
  ["of all accounts", false],
  ["of one account", true],
];
// Where statements are recorded, each is of one account (test/tenancy).
const ways = WAYS.filter(([, by_account]) => by_account || !process.env.SLIPROAD_BATCH_BY);

describe.each(ways)("a set %s", (_, by_account) => {
  let database: Database;
  beforeAll(() => {
    database = openDatabase({ url: db.url, connections_max: 2, by_account });
  });
  afterAll(() => database.close());

  it("leaves a delivery that was requested again in the queue, with its attempts", async () => {
    const keys = [randomUUID(), randomUUID(), randomUUID()] as const;
    const [account_id, app_id, id] = keys;
    await database.query(
      `with new as (
         insert into webhook_deliveries (account_id, id, app_id, event_account_id, event_id, name,
           record_id, sequence, status, next_attempt_at, created_at, updated_at)
         values ($1, $3, $2, $1, $3, 'offramp_update', $3, 1, 'pending', $4, $4, $4)
       )
       insert into webhook_queue (account_id, app_id, due_at, delivery_id, event_account_id,
         event_id, record_id, sequence, is_sample, attempts, attempts_before)
       values ($1, $2, $4, $3, $1, $3, $3, 1, false, 0, 0)`,
      [...keys, AGAIN_AT],
    );
    const attempt = { number: 1, status: 200, error: null, latency_ms: 1, answer: null };
    const outcome = {
      ...{ account_id, app_id, delivery_id: id, record_id: id, sequence: 1 },
      ...{ due_at: NOW.toISOString(), attempt, at: NOW },
      ...{ status: "delivered" as const, reason: null, next_attempt_at: null },
    };
    await database.transaction(async (tx) => {
      await planByKey(tx);
      await updateOutcomes(tx, [outcome]);
    });
    const queued = await database.query(
      "select due_at, attempts, attempts_before from webhook_queue where account_id = $1",
      [account_id],
    );
    expect(queued).toEqual([{ due_at: AGAIN_AT, attempts: 1, attempts_before: 1 }]);
  });
});
