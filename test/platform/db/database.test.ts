import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase, type Session } from "../../../src/platform/db/database.ts";
import { observeStatements } from "../../../src/platform/db/observe.ts";
import {
  CommitUnknownError,
  DatabaseUnavailableError,
  violatedKey,
} from "../../../src/platform/db/outages.ts";
import { refusePooler } from "../../../src/platform/db/refuse-pooler.ts";
import { setLocal } from "../../../src/platform/db/set-local.ts";
import { StartupError } from "../../../src/platform/startup-error.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";
import { startTestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { addUser } from "../../kyc/kyc-fixture.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await db.database.query("create table notes (id int primary key, text text not null)");
});
afterAll(() => db.drop());

describe.each([true, false])("a database with pipeline %s", (pipeline) => {
  let database: Database;
  const first_id = pipeline ? 100 : 200;
  beforeAll(() => {
    database = openDatabase({ url: db.url, connections_max: 2, pipeline });
  });
  afterAll(() => database.close());

  it("reports the statement that failed, not those after it that could not run", async () => {
    const failing = database.transaction((tx) => {
      const first = tx.query("select 1 / 0");
      const others = [tx.query("select 2"), tx.query("select 3")];
      // A caller that does more with its rows hears of its failure after the others do.
      const last = Promise.allSettled([first, ...others]).then(() => first);
      return Promise.all([last, ...others]);
    });
    // 25P02 would hide the cause, and with it whether the request may be repeated.
    await expect(failing).rejects.toMatchObject({ code: "22012" });
  });

  it("takes what Citus says of its killed server for an outage, during COMMIT for unknown", async () => {
    const say = "raise exception 'postmaster was shut down, exiting' using errcode = 'XX000'";
    const saying = database.query(`do $$ begin ${say}; end $$`);
    await expect(saying).rejects.toBeInstanceOf(DatabaseUnavailableError);
    const name = `killed_${first_id}`;
    await database.query(
      `create function ${name}() returns trigger language plpgsql as $$ begin ${say}; end $$`,
    );
    await database.query(`create table ${name} (id int)`);
    await database.query(
      `create constraint trigger ${name} after insert on ${name}
       deferrable initially deferred for each row execute function ${name}()`,
    );
    const committing = database.transaction(async (tx) => {
      tx.write(`insert into ${name} values (1)`, []);
    });
    await expect(committing).rejects.toBeInstanceOf(CommitUnknownError);
  });

  // Citus passes on the message of another node, without the field that names the constraint.
  it.each(["“notes_pkey_102348”", '"notes_pkey_102348"', "« notes_pkey_102348 »"])(
    "knows the key that was violated on another node: %s",
    async (name) => {
      const message = `duplicate key value violates unique constraint ${name}`;
      const say = `raise exception '${message}' using errcode = 'unique_violation'`;
      const error = await database.query(`do $$ begin ${say}; end $$`).catch((error) => error);
      expect(violatedKey(error)).toBe("notes_pkey");
    },
  );

  it("writes bytes as they are, alone and in arrays", async () => {
    const bytes = [Buffer.from([0, 0x5c, 0x22, 0xff]), null, Buffer.alloc(0)];
    await database.transaction(async (tx) => {
      tx.write("create temporary table blobs (at int, one bytea, all_of_them bytea[])", []);
      tx.write(
        `insert into blobs select at, one, $2::bytea[]
         from unnest($1::bytea[]) with ordinality as t (one, at)`,
        [bytes, bytes],
      );
      tx.write("create table copied as table blobs", []);
    });
    const rows = await database.query("select one, all_of_them from copied order by at");
    await database.query("drop table copied");
    expect(rows).toEqual(bytes.map((one) => ({ one, all_of_them: bytes })));
  });

  it("writes arrays of every kind of value as they are", async () => {
    const texts = ["", "NULL", "null", "a,b", '{"c"}', "\\", '\\"', " d ", "ü\n", null];
    const times = [
      "2026-11-18T04:00:00.123Z",
      "0001-01-01T00:00:00.000Z",
      "9999-12-31T23:59:59.999Z",
    ];
    const rows = texts.map((text, at) => ({
      text,
      amount: at === 1 ? null : 2n ** 62n + BigInt(at),
      time: at === 2 ? null : new Date(times[at % 3]!),
      flag: at === 3 ? null : at % 2 === 0,
      json: at === 4 ? null : { text, at },
    }));
    const columns = [rows.map((row) => row.text), rows.map((row) => row.amount)];
    const others = [rows.map((row) => row.time), rows.map((row) => row.flag)];
    await database.transaction(async (tx) => {
      tx.write(
        `create table kinds (text text, amount bigint, time timestamptz, flag boolean, json jsonb,
           at int)`,
        [],
      );
      tx.write(
        `insert into kinds select * from unnest($1::text[], $2::bigint[], $3::timestamptz[],
           $4::boolean[], $5::jsonb[], $6::int[])`,
        [...columns, ...others, rows.map((row) => row.json), rows.map((_, at) => at)],
      );
    });
    const read = await database.query(
      "select text, amount, time, flag, json from kinds order by at",
    );
    await database.query("drop table kinds");
    expect(read).toEqual(rows);
  });

  it("commits the reads and writes of a transaction together", async () => {
    const found = await database.transaction(async (tx) => {
      const rows = await Promise.all([
        tx.query<{ one: number }>("select 1 as one"),
        tx.query<{ two: number }>("select 2 as two"),
      ]);
      tx.write("insert into notes (id, text) values ($1, $2)", [first_id, "a"]);
      tx.write("insert into notes (id, text) values ($1, $2)", [first_id + 1, "b"]);
      return rows.flat();
    });
    expect(found).toEqual([{ one: 1 }, { two: 2 }]);
    const notes = await database.query("select text from notes where id >= $1 and id < $1 + 50", [
      first_id,
    ]);
    expect(notes).toEqual([{ text: "a" }, { text: "b" }]);
  });

  it("commits nothing if one of several writes fails, and runs the next transaction", async () => {
    const write = (ids: number[]) =>
      database.transaction(async (tx) => {
        for (const id of ids) tx.write("insert into notes (id, text) values ($1, $2)", [id, "c"]);
      });
    await expect(write([first_id + 10, first_id, first_id + 11])).rejects.toMatchObject({
      code: "23505",
    });
    const left = await database.query("select id from notes where text = 'c'");
    expect(left).toEqual([]);
    await write([first_id + 12]);
    await database.query("delete from notes where text = 'c'");
  });

  it("rolls back after an exception and after a failed query", async () => {
    const failing = database.transaction(async (tx) => {
      tx.write("insert into notes (id, text) values ($1, $2)", [first_id + 20, "d"]);
      await tx.query("select 1 / 0");
    });
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await database.query("select id from notes where text = 'd'")).toEqual([]);
  });

  it("times out a statement that is not answered, and has a connection for the next", async () => {
    const slow = database.transaction((tx) => tx.query("select pg_sleep(20)"), {
      answer_max_ms: 200,
    });
    await expect(slow).rejects.toThrow("the database cannot be reached");
    expect(await database.query("select 1 as one")).toEqual([{ one: 1 }]);
  });

  it("every statement has a limit, and a connection that exceeded it is destroyed", async () => {
    const limited = openDatabase({ url: db.url, connections_max: 1, pipeline, answer_max_ms: 200 });
    try {
      const findPid = () => limited.query("select pg_backend_pid() as pid");
      const [before] = await findPid();
      const plain = limited.query("select pg_sleep(20)");
      await expect(plain).rejects.toBeInstanceOf(DatabaseUnavailableError);
      const within = limited.transaction((tx) => tx.query("select pg_sleep(20)"));
      await expect(within).rejects.toBeInstanceOf(DatabaseUnavailableError);
      const [after] = await findPid();
      expect(after).not.toEqual(before);
    } finally {
      await limited.close();
    }
  });

  it("the server ends a statement that was given up, and its locks", async () => {
    const limited = openDatabase({ url: db.url, connections_max: 1, pipeline, answer_max_ms: 200 });
    try {
      const text = "select pg_advisory_xact_lock(4711), pg_sleep(60)";
      await expect(limited.query(text)).rejects.toBeInstanceOf(DatabaseUnavailableError);
      await waitFor(async () => {
        const held = await database.query("select 1 from pg_locks where objid = 4711");
        return held.length === 0;
      });
    } finally {
      await limited.close();
    }
  });
});

it("a service with SLIPROAD_DATABASE_PIPELINE=off serves requests and runs tasks", async () => {
  const server = await startTestServer({ environment: { SLIPROAD_DATABASE_PIPELINE: "off" } });
  try {
    const ids = await Promise.all(Array.from({ length: 20 }, () => addUser(server)));
    expect(new Set(ids).size).toBe(20);
    expect((await server.call("GET", "/readyz")).status).toBe(200);
  } finally {
    await server.close();
  }
});

describe("a pooler", () => {
  type Choose = (idle: Session[]) => Session;
  /** How poolers choose among idle backends; PgBouncer can do both. */
  const CHOICES: { order: string; choose: Choose }[] = [
    { order: "last used first", choose: (idle) => idle.pop()! },
    { order: "in turn", choose: (idle) => idle.shift()! },
  ];
  const POOLERS = CHOICES.flatMap((choice) => [1, 2, 3].map((size) => ({ ...choice, size })));

  /** Like PgBouncer with pool_mode = transaction: a client has a backend for one transaction. */
  async function withPooler(
    { choose, size }: { choose: Choose; size: number },
    work: (pooled: Database) => Promise<void>,
  ): Promise<void> {
    const ends: (() => void)[] = [];
    const idle: Session[] = await Promise.all(
      Array.from({ length: size }).map(
        () =>
          new Promise<Session>((resolve) => {
            void db.database.connection((session) => {
              resolve(session);
              return new Promise<void>((end) => ends.push(end));
            });
          }),
      ),
    );
    const openClient = (): Session => {
      let held: Session | undefined;
      return {
        query: async (text, values) => {
          const backend = held ?? choose(idle);
          held = text === "begin" ? backend : text === "rollback" ? undefined : held;
          const rows = await backend.query(text, values);
          if (!held) idle.push(backend);
          return rows as never;
        },
      };
    };
    try {
      await work({ ...db.database, connection: (use) => use(openClient()) });
    } finally {
      for (const end of ends) end();
    }
  }

  it.each(POOLERS)("that shares $size sessions, $order, is refused with a sentence", (pooler) =>
    withPooler(pooler, async (pooled) => {
      const refused = refusePooler(pooled);
      await expect(refused).rejects.toBeInstanceOf(StartupError);
      await expect(refused).rejects.toThrow(
        /^DATABASE_URL points to a connection pooler .+ = session\.$/,
      );
    }),
  );

  it("is not reported if there is none, whatever else runs", async () => {
    const others = Array.from({ length: 5 }, () => db.database.query("select pg_sleep(0.05)"));
    await expect(refusePooler(db.database)).resolves.toBeUndefined();
    await Promise.all(others);
  });
});

describe.each([true, false])("settings of a transaction, by account %s", (by_account) => {
  let database: Database;
  beforeAll(() => {
    database = openDatabase({ url: db.url, connections_max: 1, by_account });
  });
  afterAll(() => database.close());

  it("hold until its end", async () => {
    const settings = { lock_timeout: "250ms", enable_sort: "off" };
    const show =
      "select current_setting('lock_timeout') as wait, current_setting('enable_sort') as sort";
    const [within] = await database.transaction(async (tx) => {
      await setLocal(tx, settings);
      return tx.query(show);
    });
    expect(within).toEqual({ wait: "250ms", sort: "off" });
    expect(await database.query(show)).toEqual([{ wait: "0", sort: "on" }]);
  });

  it("reach the server of the account", async () => {
    const sent: string[] = [];
    observeStatements(({ text }) => sent.push(text));
    await database
      .transaction((tx) => setLocal(tx, { lock_timeout: "250ms" }))
      .finally(() => observeStatements(undefined));
    // Citus passes on this statement, if it is told to, and no call of set_config().
    const passed_on = ["set local lock_timeout = '250ms'"];
    expect(sent).toEqual(by_account ? passed_on : [expect.stringContaining("set_config")]);
    const [row] = await database.query<{ told: string | null }>(
      "select current_setting('citus.propagate_set_commands', true) as told",
    );
    expect(row!.told).toBe(by_account ? "local" : null);
  });
});
