import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { TransferStatus } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { MINUTE_MS } from "../../../src/platform/durations.ts";
import { createScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { advance, expectRefusal, good, openStory } from "../story.ts";

const newTxId = () => `0x${randomBytes(32).toString("hex")}`;

/** What the chain says of every transaction. */
let status: TransferStatus;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => ({
      bank: createScriptedBank().port,
      chain: {
        ...createSandboxChain(core),
        // The transfer is only named: no deposit arrives.
        announce: async () => {},
        findStatus: async () => status,
      },
    }),
  });
});
afterAll(() => server.close());
beforeEach(() => {
  status = "unknown";
});

it("after a transfer that failed on chain another one may be named at once", async () => {
  const story = await openStory(server);
  status = "failed";
  good(await story.execute(newTxId()));
  const second = newTxId();
  expect(good(await story.execute(second)).crypto_transfer.tx_id).toBe(second);
});

it("while a transfer is on the chain and not final no other may be named, however long", async () => {
  const story = await openStory(server);
  status = "pending";
  good(await story.execute(newTxId()));
  await advance(server, 11 * MINUTE_MS);
  expectRefusal(await story.execute(newTxId()), "quote_already_executed");
});
