import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { createJournal } from "../../src/partners/chain/evm/signer/journal.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../src/partners/chain/sandbox-store.ts";
import { sandboxTxId } from "../../src/partners/chain/tx-id.ts";
import { digestRecipient } from "../../src/partners/sandbox-digests.ts";
import type { FromChainProcess, ProcessInput } from "../harness/chain-process.ts";
import { createTestDatabase } from "../harness/database.ts";
import { chainsFile, TEST_XPUB } from "../harness/evm/chains-file.ts";
import { TEST_TREASURY } from "../harness/evm/signer.ts";
import { openTestEvm } from "../harness/evm/test-evm.ts";
import { chainSuite } from "./chain-suite.ts";

const SCRIPT = join(import.meta.dirname, "../harness/chain-process.ts");
const INDEX_KEY = Buffer.alloc(32, 1);

/** In the order of the work, so that each is reached: reading deposits, then sending. */
const KILL_POINTS = [
  ...["eth_getLogs", "eth_getTransactionReceipt", "eth_estimateGas", "eth_sendRawTransaction"],
  "eth_sendRawTransaction",
];

/** Starts the process; `watch` gets what kills it and returns what is called after each send. */
async function runProcess(
  input: ProcessInput,
  watch: (kill: () => void) => () => void,
): Promise<Record<string, unknown> | null> {
  const child = fork(SCRIPT, [JSON.stringify(input)], { execArgv: [] });
  let is_killed = false;
  const onAsked = watch(() => {
    is_killed = true;
    child.kill("SIGKILL");
  });
  let outcomes: Record<string, unknown> | null = null;
  child.on("message", (message: FromChainProcess) => {
    if ("outcomes" in message) outcomes = message.outcomes;
    else onAsked();
    if ("asked" in message && !is_killed) child.send("go on");
  });
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  if (signal !== "SIGKILL") expect(code).toBe(0);
  return outcomes;
}

describe("the sandbox's chain", () => {
  chainSuite(async () => {
    const db = await createTestDatabase();
    const { database } = db;
    const chain = "polygon";
    return {
      port: createSandboxChain({ database, index_key: INDEX_KEY }),
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
      arrived: async (key, address) => {
        const [row] = await database.query<{ amount: bigint }>(
          "select coalesce(sum(amount), 0)::bigint as amount from sandbox_sends where recipient = $1",
          [digestRecipient(INDEX_KEY, key, address)],
        );
        return row!.amount;
      },
      kill_points: ["the first"],
      sendInProcess: (sends, kill_at) =>
        runProcess({ database_url: db.url, evm: null, sends: [...sends] }, (kill) => {
          let asked = 0;
          return () => {
            asked += 1;
            if (kill_at === "the first" && asked === 1) kill();
          };
        }),
      close: db.drop,
    };
  });
});

describe("an EVM chain", () => {
  chainSuite(async () => {
    const evm = await openTestEvm({ sends: true });
    const directory = await mkdtemp(join(tmpdir(), "sliproad-chain-"));
    createJournal(join(directory, "journal"));
    const rpc = evm.rpcs[0]!;
    const chains_file = chainsFile({ polygon: evm.entry }, TEST_XPUB, TEST_TREASURY);
    const contracts = [evm.tokens.usdc.address];
    return {
      ...{ port: evm.port, database: evm.database, chain: "polygon", now: () => new Date() },
      foreign_cursor: "1000000",
      pay: (address, token, amount) => evm.tokens[token].transfer(address, amount),
      settle: async () => {
        await evm.watch();
        await evm.runSender();
      },
      arrived: (_key, address) => evm.tokens.usdc.balanceOf(address),
      // The node has done what was asked for when the process is killed, and has not answered.
      kill_points: process.env.LONG_TESTS ? KILL_POINTS : KILL_POINTS.filter((_, at) => at % 2),
      sendInProcess: async (sends, kill_at) => {
        const real = { chains_file, signer_directory: directory, contracts };
        const input = { database_url: evm.database_url, evm: real, sends: [...sends] };
        return runProcess(input, (kill) => {
          let is_sending = false;
          rpc.change = ({ method }) => {
            if (!is_sending || method !== kill_at) return undefined;
            rpc.is_hanging = true;
            kill();
            return undefined;
          };
          // Not while it starts.
          return () => {
            is_sending = true;
          };
        }).finally(() => {
          Object.assign(rpc, { change: null, is_hanging: false });
        });
      },
      close: async () => {
        await evm.close();
        await rm(directory, { recursive: true });
      },
    };
  });
});
