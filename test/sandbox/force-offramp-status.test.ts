import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { OFFRAMP_STATUSES } from "../../src/offramps/model.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps, type Steps } from "../harness/steps.ts";
import { expectRefusal, findFault, good, openStory } from "../offramps/story.ts";

let server: TestServer;
let bank: ScriptedBank;
let steps: Steps;
beforeAll(async () => {
  bank = createScriptedBank();
  bank.manner = "is_silent";
  const open = (core: TestServer["core"]) => ({
    chain: createSandboxChain(core),
    bank: bank.port,
  });
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" }, partners: open });
  // The test itself is the worker: a forced state stays until the test continues.
  await server.app.worker.stop();
  steps = await openSteps(server.core, open(server.core));
});
afterAll(async () => {
  steps.close();
  await server.close();
});
afterEach(async () => expect(await findFault(server)).toBeNull());

const forceStatus = (offramp_id: string, status: string) =>
  server.call("PATCH", `/sandbox/offramps/${offramp_id}`, { offramp: { status } });

it.each(OFFRAMP_STATUSES)("moves a new offramp to %s, with its money", async (status) => {
  const story = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
  expect(good(await forceStatus(story.offramp_id, status)).offramp.status).toBe(status);
  expect(good(await forceStatus(story.offramp_id, status)).offramp.status).toBe(status);
  expect(await findFault(server)).toBeNull();
  await steps.runAll();
});

it("takes over a payout that the worker has recorded but not sent", async () => {
  const story = await openStory(server);
  good(await forceStatus(story.offramp_id, "pending_internal_assessment"));
  expect(await steps.run("assess-offramp")).toBe(true);
  expect((await story.show()).status).toBe("sending_fiat");
  expect(good(await forceStatus(story.offramp_id, "fiat_sent")).offramp.status).toBe("fiat_sent");
  await steps.runAll();
  expect(bank.known.has(`${story.offramp_id.replaceAll("-", "")}001`)).toBe(false);
  expect(good(await forceStatus(story.offramp_id, "failed")).offramp.status).toBe("failed");
  // 1000 eur came back: 1162.790697 usdc at 0.86. The fee of 4 eur stays earned.
  expect(await story.owed()).toBe(1162.790697);
});

it("an offramp that fails unpaid ends its quote: nothing can be added or paid", async () => {
  const story = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
  good(await forceStatus(story.offramp_id, "failed"));
  for (const id of story.offramp_ids) expect((await story.show(id)).status).toBe("failed");
  expectRefusal(await story.add(story.quote_id, [{ amount: 1 }]), "quote_expired");
  expectRefusal(await story.execute(), "quote_expired");
});

it("422 where there is no path, 404 for an unknown offramp", async () => {
  const story = await openStory(server);
  good(await forceStatus(story.offramp_id, "failed"));
  expectRefusal(await forceStatus(story.offramp_id, "fiat_sent"), "invalid_transition");
  expectRefusal(await forceStatus(story.offramp_id, "nonsense"), "record_invalid");
  expectRefusal(await forceStatus(crypto.randomUUID(), "failed"), "record_not_found");
});
