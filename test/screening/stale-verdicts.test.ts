import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { SECOND_MS } from "../../src/platform/durations.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps, PAYOUT_STEPS, type Steps } from "../harness/steps.ts";
import { advance, findFault, good, openStory } from "../offramps/story.ts";
import { listOf } from "../partners/screening/sample-lists.ts";

let folder: string;
let server: TestServer;
let bank: ScriptedBank;
let steps: Steps;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-screening-"));
  const list = join(folder, "targets.csv");
  await writeFile(list, listOf([{ id: "other", name: "Zorvak Quimblum" }]));
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never", SLIPROAD_SCREENING_LISTS: list },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  // The list is in use from now on, and the test itself is the worker.
  await advance(server, 11 * SECOND_MS);
  await server.app.worker.stop();
  const { core } = server;
  steps = await openSteps(core, { chain: createSandboxChain(core), bank: bank.port });
});
afterAll(async () => {
  steps.close();
  await server.close();
  await rm(folder, { recursive: true });
});

it("a wallet named just before a payout leaves delays it until it is screened, and no more", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  // Every door renews the verdict, also if it refuses the request.
  const screen = () => story.fund(story.quote_id);
  good(await story.execute());
  for (const kind of PAYOUT_STEPS.slice(0, 3)) {
    await screen();
    expect(await steps.run(kind), kind).toBe(true);
  }
  expect((await story.show()).status).toBe("sending_fiat");
  const refund_address = { chain: "polygon", address: `0x${"6".repeat(40)}` };
  const path = `/users/${story.user_id}/refund_addresses`;
  good(await server.call("POST", path, { refund_address }));
  await steps.run("send-payout");
  expect(bank.known.size).toBe(0);
  const waiting = await story.show();
  expect(waiting.status).toBe("sending_fiat");
  expect(waiting.status_message).toContain("Checks on this user are still running");
  await screen();
  await server.core.clock.advance(10 * SECOND_MS);
  await steps.runAll();
  expect(await story.show()).toMatchObject({ status: "fiat_sent", status_message: null });
  expect(bank.known.size).toBe(1);
  expect(await findFault(server)).toBeNull();
});
