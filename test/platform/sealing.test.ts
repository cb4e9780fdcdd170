import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AUDIT_LOG, recordAudit } from "../../src/accounts/audit.ts";
import { openDatabase, type Transaction } from "../../src/platform/db/database.ts";
import { bindMacs, macsOf } from "../../src/platform/sealing/row-mac.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { type SealedTable, verifyChain } from "../../src/platform/sealing/verify-chain.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

type BlockRow = { number: bigint; entry_ids: string[] };

const AUDIT: SealedTable = { ...AUDIT_LOG, table: "audit_entries" };
const lines: string[] = [];
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ log_destination: { write: (line) => lines.push(line) } });
});
afterAll(() => server.close());

const key = () => signingKey(signingSeed(server.core.config));
const now = () => server.core.clock.now();

function act(tx: Transaction, account_id: string, number: number): void {
  const entry = { account_id, actor: "command line", action: "account.update" } as const;
  recordAudit(tx, { ...entry, record: `act:${number}`, reason: "test" }, now());
}

const actAll = (account_id: string, count: number) =>
  server.core.database.transaction(async (tx) => {
    for (let number = 0; number < count; number += 1) act(tx, account_id, number);
  });

const listBlocks = (account_id: string) =>
  server.db.database.query<BlockRow>(
    "select number, entry_ids from seal_blocks where account_id = $1 order by number",
    [account_id],
  );

const findFault = (account_id: string) =>
  server.db.database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    return verifyChain(tx, key(), AUDIT, account_id, { now: now(), is_sealer_running: true });
  });

describe("the worker", () => {
  it("seals audit entries by itself and logs the new heads", async () => {
    const { account_id } = await server.addAccount("Sealed by the worker");
    const [block] = await waitFor(async () => {
      const blocks = await listBlocks(account_id);
      return blocks.flatMap((row) => row.entry_ids).length === 2 ? blocks : null;
    });
    expect(block!.number).toBe(1n);
    expect(await findFault(account_id)).toBeNull();
    const heads = lines
      .map((line) => JSON.parse(line))
      .filter((line) => line.msg === "sealed" && line.account_id === account_id);
    const head = heads.at(-1);
    expect(head).toMatchObject({ log: "audit", hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const [row] = await server.db.database.query<{ hash: Buffer; signature: Buffer }>(
      "select hash, signature from seal_blocks where account_id = $1 and number = $2",
      [account_id, head.number],
    );
    expect(row!.hash.toString("hex")).toBe(head.hash);
    expect(row!.signature.toString("base64")).toBe(head.signature);
  });
});

describe("sealing", () => {
  beforeAll(() => server.app.worker.stop());

  it("puts all entries it sees into one block, once", async () => {
    const { account_id } = await server.addAccount("One block");
    const heads = await sealAll(server.core.database, key(), now());
    expect(heads.map((head) => head.account_id)).toContain(account_id);
    expect((await listBlocks(account_id)).map((block) => block.entry_ids.length)).toEqual([2]);
    expect(await sealAll(server.core.database, key(), now())).toEqual([]);
    expect(await findFault(account_id)).toBeNull();
  });

  it("of more entries than fit into a block creates several blocks in one run", async () => {
    const { account_id } = await server.addAccount("Several blocks");
    await actAll(account_id, 1_200);
    const heads = await sealAll(server.core.database, key(), now());
    const blocks = await listBlocks(account_id);
    expect(blocks.map((block) => block.entry_ids.length)).toEqual([1_000, 202]);
    const numbers = heads
      .filter((head) => head.account_id === account_id)
      .map((head) => head.number);
    expect(numbers).toEqual([1n, 2n]);
    expect(await findFault(account_id)).toBeNull();
  });

  it("by several processes at once creates one chain that contains every entry once", async () => {
    const { account_id } = await server.addAccount("Concurrent");
    const pools = Array.from({ length: 4 }, () =>
      openDatabase({ url: server.db.url, connections_max: 2 }),
    );
    for (const pool of pools) bindMacs(pool, macsOf(server.core.database));
    try {
      const writing = Array.from({ length: 20 }, () => actAll(account_id, 5));
      for (let turn = 0; turn < 5; turn += 1) {
        await Promise.all(pools.map((pool) => sealAll(pool, key(), now())));
      }
      await Promise.all(writing);
      await Promise.all(pools.map((pool) => sealAll(pool, key(), now())));
    } finally {
      for (const pool of pools) await pool.close();
    }
    const blocks = await listBlocks(account_id);
    expect(blocks.map((block) => block.number)).toEqual(blocks.map((_, at) => BigInt(at + 1)));
    const sealed = blocks.flatMap((block) => block.entry_ids);
    expect(sealed.length).toBe(102);
    expect(new Set(sealed).size).toBe(102);
    expect(await findFault(account_id)).toBeNull();
  });

  it("puts a late commit into a later block, although its id is older", async () => {
    const { account_id } = await server.addAccount("Late");
    await sealAll(server.core.database, key(), now());
    await server.core.database.connection(async (session) => {
      await session.query("begin");
      const writes: Promise<unknown>[] = [];
      const write: Transaction["write"] = (text, values) =>
        void writes.push(session.query(text, values));
      act({ ...session, write, writeAfter: () => {} }, account_id, 1);
      await Promise.all(writes);

      await actAll(account_id, 1);
      await sealAll(server.core.database, key(), now());
      expect(await listBlocks(account_id)).toHaveLength(2);
      await session.query("commit");
    });
    await sealAll(server.core.database, key(), now());
    const blocks = await listBlocks(account_id);
    expect(blocks.map((block) => block.entry_ids.length)).toEqual([2, 1, 1]);
    const [early, late] = [blocks[1]!.entry_ids[0]!, blocks[2]!.entry_ids[0]!];
    expect(late < early).toBe(true);
    expect(await findFault(account_id)).toBeNull();
  });

  it("of a transaction that is rolled back leaves nothing", async () => {
    const { account_id } = await server.addAccount("Undone");
    await sealAll(server.core.database, key(), now());
    const undone = server.core.database.transaction(async (tx) => {
      act(tx, account_id, 1);
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    expect(await sealAll(server.core.database, key(), now())).toEqual([]);
    expect(await findFault(account_id)).toBeNull();
  });
});
