// A process that sends tokens through an adapter of the chain port, to be killed while it does. It
// tells each key that it asked for, and goes on when it gets a message.
import { once } from "node:events";
import { loadChains } from "../../src/partners/chain/evm/load-chains.ts";
import { openEvm } from "../../src/partners/chain/evm/open.ts";
import { runSender } from "../../src/partners/chain/evm/send/run-sender.ts";
import { openKeys } from "../../src/partners/chain/evm/signer/keys.ts";
import { createLocalSigner } from "../../src/partners/chain/evm/signer/local-signer.ts";
import { watchChain } from "../../src/partners/chain/evm/watch-chain.ts";
import { seedOf } from "../../src/partners/chain/evm/words.ts";
import { type ChainPort, sendIfDone } from "../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { openDatabase } from "../../src/platform/db/database.ts";
import { bindMacs } from "../../src/platform/sealing/row-mac.ts";
import { TEST_WORDS } from "./evm/chains-file.ts";
import { signerSettings } from "./evm/signer.ts";
import { fixedMacs } from "./macs.ts";
import { SILENT } from "./task-fixture.ts";

export type TestSend = { key: string; amount: string; address: string };
export type ProcessInput = {
  database_url: string;
  /** Null: the sandbox's chain. The journal of the signer outlives the process. */
  evm: { chains_file: string; signer_directory: string; contracts: string[] } | null;
  sends: TestSend[];
};
export type FromChainProcess = { asked: string } | { outcomes: Record<string, unknown> };

const { database_url, evm, sends } = JSON.parse(process.argv[2]!) as ProcessInput;
const database = openDatabase({ url: database_url, connections_max: 4 });
bindMacs(database, fixedMacs());
const clock: Clock = {
  now: () => new Date(),
  difference_ms: () => 0,
  refresh: async () => {},
};

type Adapter = { port: ChainPort; work(): Promise<void> };

async function openRealChain(given: NonNullable<typeof evm>): Promise<Adapter> {
  const limits = { per_transaction_max: "1000", per_day_max: "100000", fee_max: "1" };
  const { signer_directory: directory, contracts } = given;
  const settings = signerSettings({ directory }, contracts, limits, "journal");
  const keys = openKeys(seedOf(TEST_WORDS)!);
  const openSigner = () => createLocalSigner(keys, settings, () => new Date());
  const deps = { database, clock, index_key: Buffer.alloc(32, 1) };
  const opened = await openEvm(deps, loadChains(given.chains_file), openSigner);
  const { chain: port, watchers, senders } = opened;
  const work = async () => {
    await watchChain(deps, watchers[0]!);
    await runSender({ ...deps, askOwner: async () => "wanted" as const }, senders[0]!, SILENT);
  };
  return { port, work };
}

const { port, work }: Adapter = evm
  ? await openRealChain(evm)
  : {
      port: createSandboxChain({ database, index_key: Buffer.alloc(32, 1) }),
      work: async () => {},
    };

const outcomes = new Map<string, unknown>();
while (outcomes.size < sends.length) {
  for (const { key, amount, address } of sends) {
    if (outcomes.has(key)) continue;
    const request = { key, chain: "polygon", token: "usdc", address } as const;
    const outcome = await sendIfDone(port, { ...request, amount: BigInt(amount) });
    process.send!({ asked: key } satisfies FromChainProcess);
    await once(process, "message");
    if (outcome) outcomes.set(key, outcome);
  }
  await work();
}
process.send!({ outcomes: Object.fromEntries(outcomes) } satisfies FromChainProcess);
await database.close();
process.exit();
