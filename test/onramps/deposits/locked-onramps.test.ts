import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MOVE_DEPOSIT_TASK, READ_CREDITS_TASK } from "../../../src/onramps/task-kinds.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { SECOND_MS } from "../../../src/platform/durations.ts";
import { createScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openSteps, type Steps } from "../../harness/steps.ts";
import { findFault } from "../../offramps/story.ts";
import { credit, openOnramp } from "../story.ts";

/** A statement that waits for a lock without a limit fails after 20 seconds. */
const MOVED_MAX_MS = 5_000;

let server: TestServer;
let steps: Steps;
const bank = createScriptedBank();
beforeAll(async () => {
  server = await startTestServer({
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  // The test itself is the worker.
  await server.app.worker.stop();
  steps = await openSteps(server.core, { chain: createSandboxChain(server.core), bank: bank.port });
});
afterAll(async () => {
  steps.close();
  await server.close();
});

it("deposits for a locked onramp wait; those for onramps of other accounts do not", async () => {
  const { key } = await server.addAccount("Other");
  const locked = [await openOnramp(server), await openOnramp(server)];
  const free = await openOnramp(server, {}, key);
  for (const { code } of [...locked, free]) bank.receive(credit(server, { text: code }));
  const client = new pg.Client(server.db.url);
  await client.connect();
  try {
    await client.query("begin");
    await client.query("select from onramps where account_id = $1 for update", [server.account_id]);
    expect(await steps.run(READ_CREDITS_TASK)).toBe(true);
    const begun_ms = performance.now();
    while (await steps.run(MOVE_DEPOSIT_TASK)) {}
    expect(performance.now() - begun_ms).toBeLessThan(MOVED_MAX_MS);
    expect((await free.show()).status).toBe("sending_fiat");
  } finally {
    await client.end();
  }
  for (const { show } of locked) expect((await show()).status).not.toBe("sending_fiat");
  await server.core.clock.advance(6 * SECOND_MS);
  while (await steps.run(MOVE_DEPOSIT_TASK)) {}
  for (const { show } of locked) expect((await show()).status).toBe("sending_fiat");
  const deposits = await server.core.database.query("select status from fiat_deposits");
  expect(deposits.map(({ status }) => status)).toEqual(["matched", "matched", "matched"]);
  expect(await findFault(server)).toBeNull();
});
