// A process that pays through an adapter of the bank port and reads what the bank says. It kills
// itself (kill -9) at the call of the database that it is told.

import { createFileBank } from "../../src/partners/bank/file-bank/file-bank.ts";
import type { FileBankAccount } from "../../src/partners/bank/file-bank/model.ts";
import { readInbox } from "../../src/partners/bank/file-bank/read-inbox.ts";
import type { BankPort, Instruction } from "../../src/partners/bank/port.ts";
import { createSandboxBank } from "../../src/partners/bank/sandbox.ts";
import type { Config } from "../../src/platform/config/config.ts";
import { openDatabase } from "../../src/platform/db/database.ts";
import { createKeyring } from "../../src/platform/encryption/keyring.ts";
import { openLocalKeys } from "../../src/platform/encryption/local-keys.ts";
import { closeAll, writeAllFiles } from "../partners/bank/write-all.ts";
import { withCalls } from "./database-calls.ts";

export type BankProcessInput = {
  database_url: string;
  /** Null: the sandbox's bank. */
  files: {
    encryption_key: string;
    operator_id: string;
    accounts: FileBankAccount[];
    inbox: string;
    /** When it pays, and when the windows have closed. */
    pay_at: string;
    write_at: string;
  } | null;
  instructions: (Omit<Instruction, "amount"> & { amount: string })[];
  /** From 1; null: it ends by itself. */
  killed_at: number | null;
};

const { database_url, files, ...input } = JSON.parse(process.argv[2]!) as BankProcessInput;
const opened = openDatabase({ url: database_url, connections_max: 2 });
let calls = 0;
const database = withCalls(opened, () => {
  calls += 1;
  if (calls === input.killed_at) process.kill(process.pid, "SIGKILL");
});

const INDEX_KEY = Buffer.alloc(32, 1);

type Played = { port: Pick<BankPort, "submit">; work(): Promise<void> };

function openFiles(given: NonNullable<typeof files>): Played {
  const encryption_key = Buffer.from(given.encryption_key, "hex");
  const keyring = createKeyring(openLocalKeys({ encryption_key } as Config));
  const { accounts, operator_id } = given;
  const deps = { database, keyring, accounts, operator_id, index_key: INDEX_KEY };
  const [pay_at, write_at] = [new Date(given.pay_at), new Date(given.write_at)];
  const port = createFileBank({ ...deps, clock: { now: () => pay_at } as never });
  const work = async () => {
    await closeAll(deps, write_at);
    await writeAllFiles(deps, write_at);
    await readInbox(deps, given.inbox, write_at, write_at);
  };
  return { port, work };
}

const { port, work }: Played = files
  ? openFiles(files)
  : {
      port: createSandboxBank({ database, index_key: INDEX_KEY }),
      work: async () => {},
    };

await port.submit(input.instructions.map((one) => ({ ...one, amount: BigInt(one.amount) })));
await work();
await opened.close();
