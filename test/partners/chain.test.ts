import { describe } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../src/partners/chain/sandbox-store.ts";
import { sandboxTxId } from "../../src/partners/chain/tx-id.ts";
import { createTestDatabase } from "../harness/database.ts";
import { openTestEvm } from "../harness/evm/test-evm.ts";
import { chainSuite } from "./chain-suite.ts";

describe("the sandbox's chain", () => {
  chainSuite(async () => {
    const db = await createTestDatabase();
    const { database } = db;
    const chain = "polygon";
    return {
      port: createSandboxChain({ database, index_key: Buffer.alloc(32, 1) }),
      ...{ database, chain, now: () => new Date(), foreign_cursor: "evm 1000000" },
      pay: async (address, token, amount) => {
        const tx_id = sandboxTxId(chain, crypto.randomUUID());
        const sender = `0x${"ab".repeat(20)}`;
        const mined_at = new Date();
        const transfer = { chain, tx_id, address, token, amount, sender, mined_at } as const;
        await insertSandboxTransfer(database, transfer);
        return tx_id;
      },
      settle: async () => {},
      close: db.drop,
    };
  });
});

describe("an EVM chain", () => {
  chainSuite(async () => {
    const evm = await openTestEvm();
    return {
      ...{ port: evm.port, database: evm.database, chain: "polygon", now: () => new Date() },
      foreign_cursor: "1000000",
      pay: (address, token, amount) => evm.tokens[token].transfer(address, amount),
      settle: async () => {
        await evm.watch();
      },
      close: evm.close,
    };
  });
});
