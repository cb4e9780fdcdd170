import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Attempts,
  attemptTime,
  createAttempts,
} from "../../src/platform/attempts/attempts.ts";
import { trimAttemptsTask } from "../../src/platform/attempts/tasks.ts";
import { type Clock, openClock } from "../../src/platform/clock.ts";
import { createRateLimiter } from "../../src/platform/http/rate-limit.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

const LIMIT = 5;
const CALLERS = 100_000;

let db: TestDatabase;
let clock: Clock;
let now: Date;
const index_key = randomBytes(32);
beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.query(
    `insert into installation (id, mode, master_key_id, index_key, created_at)
     values (true, 'sandbox', 'key', '', $1) on conflict do nothing`,
    [new Date()],
  );
  clock = await openClock(db.database);
});
afterAll(async () => {
  vi.restoreAllMocks();
  await db.drop();
});
beforeEach(async () => {
  now = new Date("2026-11-15T09:00:30Z");
  vi.spyOn(attemptTime, "now").mockImplementation(() => now);
  await db.database.query("delete from attempts");
});

/** As in another process. */
const open = (purpose = "test", by_account = false): Attempts =>
  createAttempts(
    { database: { ...db.database, by_account }, index_key, clock },
    { purpose, limit: LIMIT, window_ms: 60_000 },
  );
const takeAll = async (attempts: Attempts, caller: string, count: number) => {
  const answers = await Promise.all(Array.from({ length: count }, () => attempts.take(caller)));
  return answers.filter(({ allowed }) => allowed).length;
};

describe("attempts", () => {
  it.each([false, true])(
    "are counted exactly across all processes, by account %s",
    async (by_account) => {
      const [one, other] = [open("test", by_account), open("test", by_account)];
      const allowed = await Promise.all([takeAll(one, "a", 20), takeAll(other, "a", 20)]);
      expect(allowed[0]! + allowed[1]!).toBe(LIMIT);
      expect(await other.look("a")).toEqual({
        allowed: false,
        limit: LIMIT,
        remaining: 0,
        reset_seconds: 30,
      });
      expect((await other.take("b")).allowed).toBe(true);
      expect((await open("another purpose").take("a")).allowed).toBe(true);
    },
  );

  it("are counted without waiting for the disk, and nothing else is", async () => {
    const { database } = db;
    await database.query("create table noted (setting text)");
    await database.query(
      `create function note() returns trigger language plpgsql as $$begin
         insert into noted values (current_setting('synchronous_commit')); return new; end$$`,
    );
    await database.query(
      "create trigger note before insert or update on attempts for each row execute function note()",
    );
    const attempts = open();
    await attempts.take("a");
    await attempts.take("a");
    await (await attempts.begin("b")).end(true);
    await database.query("drop trigger note on attempts");
    const noted = await database.query<{ setting: string }>("select setting from noted");
    expect(new Set(noted.map(({ setting }) => setting))).toEqual(new Set(["off"]));
    const settings = await Promise.all(
      Array.from({ length: 20 }, () => database.query("show synchronous_commit")),
    );
    expect(settings.flat()).toEqual(Array(20).fill({ synchronous_commit: "on" }));
  });

  it("are reset in the next window", async () => {
    const attempts = open();
    expect(await takeAll(attempts, "a", 6)).toBe(LIMIT);
    now = new Date("2026-11-15T09:01:00Z");
    expect(await attempts.take("a")).toMatchObject({ allowed: true, remaining: LIMIT - 1 });
  });

  it("that succeed are not counted, however many are concurrent", async () => {
    const processes = [open(), open()];
    const run = async (attempts: Attempts) => {
      const begun = await attempts.begin("a");
      await begun.end(false);
      return begun.allowed;
    };
    const allowed = await Promise.all(
      Array.from({ length: 40 }, (_, at) => run(processes[at % 2]!)),
    );
    expect(allowed.every(Boolean)).toBe(true);
  });

  it("that fail concurrently in two processes are refused at the limit", async () => {
    const processes = [open(), open()];
    const run = async (attempts: Attempts) => {
      const begun = await attempts.begin("a");
      if (begun.allowed) await begun.end(true);
      return begun.allowed;
    };
    const allowed = await Promise.all(
      Array.from({ length: 40 }, (_, at) => run(processes[at % 2]!)),
    );
    expect(allowed.filter(Boolean)).toHaveLength(LIMIT);
  });

  it("of one caller stay counted among 100 000 others, until the task deletes all", async () => {
    const attempts = open();
    expect(await takeAll(attempts, "guesser", 9)).toBe(LIMIT);
    const keys = Array.from({ length: CALLERS }, (_, at) => Buffer.from(`caller ${at}`));
    await db.database.query(
      `insert into attempts (window_ends_at, caller_hash, failed, under_way)
       select $1, hash, 1, 0 from unnest($2::bytea[]) as t (hash)`,
      [new Date("2026-11-15T09:01:00Z"), keys],
    );
    expect((await attempts.take("guesser")).allowed).toBe(false);
    expect((await open().take("guesser")).allowed).toBe(false);
    now = new Date("2026-11-15T09:03:01Z");
    const ended: Date[] = [];
    await trimAttemptsTask(db.database, clock).handle({
      tasks: [],
      now,
      has_more: false,
      lock: async () => [],
      finish: () => {},
      postpone: () => {},
      repeat: () => {},
      repeatAll: async (_session, due_at) => void ended.push(due_at),
      isHeld: () => true,
      leavePlace: () => {},
    });
    expect(ended).toHaveLength(1);
    const [left] = await db.database.query<{ count: bigint }>("select count(*) from attempts");
    expect(left!.count).toBe(0n);
  });

  it("of a caller over the limit do not query the database", async () => {
    const attempts = open();
    await takeAll(attempts, "a", 9);
    const query = vi.spyOn(db.database, "query");
    expect((await attempts.take("a")).allowed).toBe(false);
    expect((await attempts.begin("a")).allowed).toBe(false);
    expect(query).not.toHaveBeenCalled();
    query.mockRestore();
  });

  it("of one caller that arrive at once query the database a few at a time", async () => {
    const attempts = open();
    const query = vi.spyOn(db.database, "query");
    expect(await takeAll(attempts, "a", 500)).toBe(LIMIT);
    // As many as are allowed, and as many that began before the limit was known to be reached.
    expect(query.mock.calls.length).toBeLessThanOrEqual(2 * LIMIT);
    query.mockRestore();
  });

  it("leave no e-mail or IP address in the database", async () => {
    await open().take("person@example.com");
    const rows = await db.database.query("select * from attempts");
    expect(JSON.stringify(rows)).not.toContain(Buffer.from("person").toString("hex"));
  });
});

describe("a limit of requests", () => {
  it("keeps counting a frequent caller among 200 000, in bounded memory", () => {
    const stopped = vi.spyOn(performance, "now").mockImplementation(() => 500);
    const limiter = createRateLimiter(3)!;
    const often = () => limiter.take("often").allowed;
    expect([often(), often(), often(), often()]).toEqual([true, true, true, false]);
    for (let at = 0; at < 2 * CALLERS; at += 1) {
      limiter.take(`caller ${at}`);
      if (at % 50_000 === 0) expect(often()).toBe(false);
    }
    // The first of the others are dropped: memory is limited to 100 000.
    expect(limiter.take("caller 0").remaining).toBe(2);
    expect(limiter.take(`caller ${2 * CALLERS - 1}`).remaining).toBe(1);
    expect(often()).toBe(false);
    stopped.mockRestore();
  });
});
