import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAudit } from "../../src/accounts/audit.ts";
import { type Database, openDatabase, type Session } from "../../src/platform/db/database.ts";
import { MINUTE_MS } from "../../src/platform/durations.ts";
import { type Block, hashBlock, sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { type VerifyInput, verify } from "../../src/verify/verify.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let account_id: string;
/** Ids of the entries, by block. */
let entries: string[][];
let heads: Block[];

beforeAll(async () => {
  server = await startTestServer();
  await server.app.worker.stop();
  ({ account_id } = await server.addAccount("Verified"));
  heads = [];
  for (const count of [2, 3, 1]) {
    await act(count);
    heads.push(...(await seal()));
  }
  await act(1);
  const blocks = await server.db.database.query<{ entry_ids: string[] }>(
    "select entry_ids from seal_blocks where account_id = $1 order by number",
    [account_id],
  );
  entries = blocks.map((block) => block.entry_ids);
  expect(entries.map((ids) => ids.length)).toEqual([4, 3, 1]);
});
afterAll(() => server.close());

const key = () => signingKey(signingSeed(server.core.config));
const seal = () => sealAll(server.core.database, key(), server.core.clock.now());

async function act(count: number): Promise<void> {
  await server.core.database.transaction(async (tx) => {
    for (let number = 0; number < count; number += 1) {
      const entry = { account_id, actor: "command line", action: "account.update" } as const;
      const record = { record: `act:${number}`, reason: "because" };
      recordAudit(tx, { ...entry, ...record }, server.core.clock.now());
    }
  });
}

/** The error that verify reports for a manipulated database; the change is rolled back. */
async function faultAfter(
  tamper: (session: Session) => Promise<unknown>,
  input: Partial<VerifyInput> = {},
): Promise<string | null> {
  const { clock } = server.core;
  return server.db.database.connection(async (session) => {
    await session.query("begin isolation level repeatable read");
    await tamper(session);
    const inside = { transaction: (work) => work(session as never) } as Pick<
      Database,
      "transaction"
    >;
    const time = { now: clock.now(), real_now: realTime(clock) };
    return (await verify(inside as Database, key(), { ...time, ...input })).fault;
  });
}

const sql = (text: string, ...values: unknown[]) => {
  return (session: Session) => session.query(text, [account_id, ...values]);
};

it("finds no error in unchanged data, and checks every account", async () => {
  const { clock, database } = server.core;
  const time = { now: clock.now(), real_now: realTime(clock) };
  const verified = await verify(database, key(), time);
  expect(verified).toEqual({
    accounts: 2,
    fault: null,
    has_checked_macs: true,
    archives_unread: 0,
  });
});

it("without keys, checks what can be checked, and says that MACs were not", async () => {
  const { clock } = server.core;
  const database = openDatabase({ url: server.db.url, connections_max: 2 });
  try {
    const time = { now: clock.now(), real_now: realTime(clock) };
    const verified = await verify(database, key(), time);
    expect(verified).toMatchObject({ accounts: 2, fault: null, has_checked_macs: false });
  } finally {
    await database.close();
  }
});

describe("a sealed entry", () => {
  it.each([
    ["at", "at + interval '1 ms'"],
    ["actor", "'first start'"],
    ["action", "action || '.'"],
    ["record", "'act:7'"],
    ["reason", "''"],
    ["detail", `'{"x":1}'`],
  ])("whose %s was changed is named", async (column, value) => {
    const id = entries[1]![1]!;
    const text = `update audit_entries set ${column} = ${value} where account_id = $1 and id = $2`;
    expect(await faultAfter(sql(text, id))).toBe(
      `audit entry ${id} of account ${account_id}: it was changed after it was sealed`,
    );
  });

  it.each([0, 1, 2])("that was deleted, in block %i, is named", async (block) => {
    const id = entries[block]![0]!;
    const remove = sql("delete from audit_entries where account_id = $1 and id = $2", id);
    expect(await faultAfter(remove)).toBe(
      `audit entry ${id} of account ${account_id}: it is missing`,
    );
  });

  it("that got another id or another account is named", async () => {
    const id = entries[1]![0]!;
    const text = "update audit_entries set id = $3 where account_id = $1 and id = $2";
    expect(await faultAfter(sql(text, id, randomUUID()))).toContain(`entry ${id}`);
    const moved = "update audit_entries set account_id = $3 where account_id = $1 and id = $2";
    const fault = await faultAfter(sql(moved, id, server.account_id));
    expect(fault).toContain(`entry ${id}`);
  });
});

describe("an entry that no block lists", () => {
  const insert = `insert into audit_entries
    (account_id, id, at, actor, action, record, reason, detail)
    select account_id, $2, at, actor, action, record, reason, detail from audit_entries
    where account_id = $1 order by id limit 1`;

  it("because it was inserted without the sealer is named", async () => {
    const id = randomUUID();
    expect(await faultAfter(sql(insert, id))).toBe(
      `audit entry ${id} of account ${account_id}: no block lists it`,
    );
  });

  it("is named even if another is listed twice, so that the counts match", async () => {
    const [id, twice] = [randomUUID(), entries[0]![0]!];
    const fault = await faultAfter(async (session) => {
      await sql(insert, id)(session);
      await noteAgain(session, twice);
    });
    expect(fault).toContain(`entry ${id}`);
  });

  it("because its unsealed row was deleted is named", async () => {
    const [waiting] = await listWaiting();
    const fault = await faultAfter(sql("delete from seal_pending where account_id = $1"));
    expect(fault).toBe(`audit entry ${waiting} of account ${account_id}: no block lists it`);
  });
});

it("names an entry that is listed twice", async () => {
  const id = entries[0]![0]!;
  const fault = await faultAfter((session) => noteAgain(session, id));
  expect(fault).toBe(`audit entry ${id} of account ${account_id}: it is listed twice`);
});

describe("a block", () => {
  const last = "number = (select max(number) from seal_blocks where account_id = $1)";

  it.each([
    ["entry_ids", "entry_ids[2:]"],
    ["entry_ids", "array[entry_ids[2], entry_ids[1], entry_ids[3]]"],
    ["entry_ids", "entry_ids || array['00000000-0000-7000-8000-000000000000'::uuid]"],
    ["digests", "array[sha256('x'), digests[2], digests[3]]"],
    ["digests", "digests[1:2]"],
    ["digests", "digests || array[sha256('x')]"],
    ["digests", "array[null, digests[2], digests[3]]"],
    ["digests", "array['\\x00'::bytea, digests[2], digests[3]]"],
    ["previous_hash", "sha256('x')"],
    ["hash", "sha256('x')"],
    ["hash", "''"],
    ["signature", "set_byte(signature, 0, get_byte(signature, 0) # 1)"],
    ["signature", "''"],
    ["sealed_at", "sealed_at - interval '1 day'"],
  ])("whose %s was changed to %s is named", async (column, value) => {
    const text = `update seal_blocks set ${column} = ${value} where account_id = $1 and number = 2`;
    expect(await faultAfter(sql(text))).toMatch(
      new RegExp(`^audit block 2 of account ${account_id}: `),
    );
  });

  it.each([
    [1, "audit block 2"],
    [2, "audit block 3"],
  ])("that is missing, number %i, is detected by the next one", async (number, name) => {
    const text = "delete from seal_blocks where account_id = $1 and number = $2";
    const fault = await faultAfter(sql(text, number));
    expect(fault).toBe(`${name} of account ${account_id}: the previous block is missing`);
  });

  it("that was the last one is detected by the entries it listed", async () => {
    const fault = await faultAfter(
      sql(`delete from seal_blocks where account_id = $1 and ${last}`),
    );
    expect(fault).toBe(`audit entry ${entries[2]![0]} of account ${account_id}: no block lists it`);
  });

  it.each([4, 0, -1, 100])("that was inserted as number %i is named", async (number) => {
    const text = `insert into seal_blocks select account_id, log, $2, entry_ids, digests,
        previous_hash, hash, signature, sealed_at
      from seal_blocks where account_id = $1 and ${last}`;
    expect(await faultAfter(sql(text, number))).toMatch(
      new RegExp(`^audit block -?\\d+ of account ${account_id}: `),
    );
  });

  it("that was moved to another log or account is detected", async () => {
    const renamed = `update seal_blocks set log = 'other' where account_id = $1 and ${last}`;
    expect(await faultAfter(sql(renamed))).toContain(`entry ${entries[2]![0]}`);
    const moved = `update seal_blocks set account_id = $2, number = 99
      where account_id = $1 and ${last}`;
    expect(await faultAfter(sql(moved, server.account_id))).toContain("block 99");
  });

  it("that was created again without the key is named by its signature", async () => {
    const fault = await faultAfter(async (session) => {
      const [block] = await session.query<Block>(
        `select * from seal_blocks where account_id = $1 and ${last}`,
        [account_id],
      );
      const sealed_at = new Date(block!.sealed_at.getTime() - MINUTE_MS);
      const hash = hashBlock({ ...block!, sealed_at });
      const text = `update seal_blocks set sealed_at = $2, hash = $3
        where account_id = $1 and ${last}`;
      await session.query(text, [account_id, sealed_at, hash]);
    });
    expect(fault).toBe(
      `audit block 3 of account ${account_id}: its signature was not made by this installation`,
    );
  });
});

describe("an unsealed entry", () => {
  const later = () => ({ now: new Date(server.core.clock.now().getTime() + MINUTE_MS + 1_000) });
  const beat = (session: Session) =>
    session.query("insert into worker_heartbeats (worker_id, seen_at) values ($1, $2)", [
      randomUUID(),
      new Date(),
    ]);

  it("is an error after a minute, if a worker runs", async () => {
    const [id] = await listWaiting();
    expect(await faultAfter(beat)).toBeNull();
    const fault = await faultAfter(beat, later());
    expect(fault).toMatch(/: it was never sealed$/);
    expect(fault).toContain("audit entry ");
    expect(id).toBeDefined();
  });

  it("is not an error while no worker runs that could have sealed it", async () => {
    expect(await faultAfter(async () => {}, later())).toBeNull();
  });

  it("is named if it was changed before it was sealed", async () => {
    const [id] = await listWaiting();
    const text = "update audit_entries set reason = 'x' where account_id = $1 and id = $2";
    expect(await faultAfter(sql(text, id))).toBe(
      `audit entry ${id} of account ${account_id}: it was changed before it was sealed`,
    );
    const note = "update seal_pending set digest = sha256('x') where account_id = $1";
    expect(await faultAfter(sql(note))).toContain(`entry ${id}`);
  });
});

describe("logged heads", () => {
  const lineOf = (head: Block, change: Record<string, string> = {}) =>
    JSON.stringify({
      level: 30,
      account_id: head.account_id,
      log: head.log,
      number: String(head.number),
      hash: head.hash.toString("hex"),
      signature: head.signature.toString("base64"),
      msg: "sealed",
      ...change,
    });
  const anchors = (...lines: string[]) => ({
    anchors: (async function* () {
      yield* ["Sliproad is ready.", '{"msg":"request"}', '{"msg":"sealed"', ...lines];
    })(),
  });
  const ours = () => heads.filter((head) => head.account_id === account_id);
  /** Removes the end of the chain with its entries: the rest is still a valid chain. */
  const cut = async (session: Session) => {
    await sql("delete from seal_blocks where account_id = $1 and number = 3")(session);
    const text = "delete from audit_entries where account_id = $1 and id = $2";
    await sql(text, entries[2]![0])(session);
  };

  it("are all still in their chains", async () => {
    expect(
      await faultAfter(async () => {}, anchors(...heads.map((head) => lineOf(head)))),
    ).toBeNull();
  });

  it("show that the end of a chain was removed, which nothing in the database can", async () => {
    expect(await faultAfter(cut)).toBeNull();
    const lines = ours().map((head) => lineOf(head));
    expect(await faultAfter(cut, anchors(...lines))).toBe(
      `audit block 3 of account ${account_id}: it was sealed and is missing`,
    );
  });

  it("are read even with a log collector's prefix", async () => {
    const prefix = "Nov 15 10:00:00 host sliproad[42]: ";
    const lines = ours().map((head) => prefix + lineOf(head));
    expect(await faultAfter(async () => {}, anchors(...lines))).toBeNull();
    expect(await faultAfter(cut, anchors(...lines))).toContain("it was sealed and is missing");
  });

  it.each([
    ["number", "abc"],
    ["number", "9".repeat(30)],
    ["account_id", "zzz"],
  ])("are refused with a sentence if they name no block: %s %s", async (field, value) => {
    const line = lineOf(ours()[1]!, { [field]: value });
    expect(await faultAfter(async () => {}, anchors(line))).toMatch(
      /^audit block \S+ of account \S+: this is not a valid anchor$/,
    );
  });

  it("must have been signed by this installation, for the block they name", async () => {
    const head = ours()[1]!;
    const foreign = lineOf(head, { hash: "00".repeat(32) });
    expect(await faultAfter(async () => {}, anchors(foreign))).toContain("not signed by this");
    const other = lineOf(head, { number: "1" });
    expect(await faultAfter(async () => {}, anchors(other))).toContain(
      "differs from the block that was sealed",
    );
  });
});

async function listWaiting(): Promise<string[]> {
  const rows = await server.db.database.query<{ entry_id: string }>(
    "select entry_id from seal_pending where account_id = $1",
    [account_id],
  );
  return rows.map((row) => row.entry_id);
}

/** Lists a sealed entry a second time, as waiting. */
function noteAgain(session: Session, id: string): Promise<unknown> {
  return session.query(
    `insert into seal_pending (account_id, log, entry_id, digest, mac, noted_at)
     select b.account_id, log, $2, digests[array_position(entry_ids, $2)], e.mac, sealed_at
     from seal_blocks b join audit_entries e on e.account_id = b.account_id and e.id = $2
     where b.account_id = $1 and $2 = any(entry_ids)`,
    [account_id, id],
  );
}
