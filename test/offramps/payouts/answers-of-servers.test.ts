import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { onServers } from "../../harness/lost-server.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { openSteps } from "../../harness/steps.ts";
import { good, openStory, type Story, settle } from "../story.ts";

let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  bank.manner = "is_silent";
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never", SLIPROAD_BATCH_BY: "account" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());

async function openSilentPayout(account: TestServer): Promise<Story> {
  const story = await openStory(account);
  good(await story.execute());
  await story.waitForStatus("sending_fiat");
  return story;
}

it("answers are applied while the server of another account is lost, whose follow later", async () => {
  const { account_id, key } = await server.addAccount("Other");
  const call: TestServer["call"] = (method, path, body, options) =>
    server.call(method, path, body, { ...options, key });
  const lost = await openSilentPayout({ ...server, account_id, key, call });
  const own = await openSilentPayout(server);
  await settle(server);
  await server.app.worker.stop();
  let is_lost = true;
  const servers = [[server.account_id], [account_id]];
  const database = onServers(server.core.database, servers, () => is_lost);
  const partners = { chain: createSandboxChain(server.core), bank: bank.port };
  const steps = await openSteps(server.core, partners, database);
  for (const story of [lost, own]) bank.say(`${story.offramp_id.replaceAll("-", "")}001`, "booked");
  const read = async () => {
    await server.db.database.query("update tasks set due_at = created_at where kind = 'read-bank'");
    expect(await steps.run("read-bank")).toBe(true);
  };
  await read();
  expect([(await own.show()).status, (await lost.show()).status]).toEqual([
    "fiat_sent",
    "sending_fiat",
  ]);
  // Read again while it is still lost: what is known of others is not asked of it.
  await read();
  is_lost = false;
  await read();
  expect((await lost.show()).status).toBe("fiat_sent");
});
