import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startCommand } from "../../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../../harness/database.ts";
import { TEST_XPUB } from "../../harness/evm/chains-file.ts";
import { openSendingChain, type SendingChain } from "../../harness/evm/sending-chain.ts";

const FIFTY = 50_000_000n;
let db: TestDatabase;
let chain: SendingChain;

beforeAll(async () => {
  db = await createTestDatabase();
  chain = await openSendingChain(TEST_XPUB);
});
afterAll(async () => {
  await db.drop();
  await chain.close();
});

it.each(["before", "after"] as const)(
  "a worker is killed %s the node has its transaction: the next one sends the same, paid once",
  async (when) => {
    const { database } = db;
    const { rpc } = chain;
    const mined = await chain.mined();
    const key = `test:killed-${when}`;
    const to = await chain.queue(database, key, FIFTY);
    const environment = {
      ...{ DATABASE_URL: db.url, SLIPROAD_DATA_DIR: join(chain.directory, "data") },
      ...{ SLIPROAD_WORKER_PORT: "0", ...chain.settings },
    };
    const killed = startCommand(["worker"], environment);
    rpc.instead = ({ method }) => {
      if (method !== "eth_sendRawTransaction" || when === "after") return undefined;
      killed.child.kill("SIGKILL");
      throw new Error("killed");
    };
    rpc.change = ({ method }) => {
      if (method === "eth_sendRawTransaction") killed.child.kill("SIGKILL");
      return undefined;
    };
    expect(await killed.ended).toMatchObject({ code: null, stderr: "" });
    Object.assign(rpc, { instead: null, change: null });
    // The dead worker's lease ends by itself after half a minute.
    await database.query("update tasks set leased_until = leased_until - interval '1 minute'");
    expect(await chain.balanceOf(to)).toBe(when === "after" ? FIFTY : 0n);
    const second = startCommand(["worker"], environment);
    try {
      await chain.waitForFinal(database, key);
    } finally {
      second.child.kill("SIGTERM");
      await second.ended;
    }
    expect(await chain.balanceOf(to)).toBe(FIFTY);
    expect(await chain.mined()).toBe(mined + 1);
  },
  120_000,
);
