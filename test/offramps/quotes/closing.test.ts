import { afterAll, beforeAll, expect, it } from "vitest";
import { openPartners } from "../../../src/app/open-partners.ts";
import type { ChainPort } from "../../../src/partners/chain/port.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { advance, EXPIRY_MS, findFault, GRACE_MS, good, openStory } from "../story.ts";

/** Whether the chain's nodes are behind: what was mined is not known yet. */
let is_behind = false;

/** The nodes have caught up by the time at which somebody asks up to when the chain is final. */
function catchingUp(chain: ChainPort): ChainPort {
  return {
    ...chain,
    listTransfers: async (name, cursor, limit) =>
      is_behind ? { transfers: [], cursor } : chain.listTransfers(name, cursor, limit),
    finalUntil: async (name, now) => {
      is_behind = false;
      return chain.finalUntil(name, now);
    },
  };
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: async (core) => ({
      ...(await openPartners(core)),
      chain: catchingUp(createSandboxChain(core)),
    }),
  });
});
afterAll(() => server.close());

it("a quote that is about to end is paid by a transfer of before that is seen only now", async () => {
  const story = await openStory(server, [{ amount: 50 }]);
  is_behind = true;
  good(await story.execute());
  await advance(server, EXPIRY_MS);
  expect((await story.show()).status).toBe("initiated");
  await advance(server, GRACE_MS);
  expect(is_behind).toBe(false);
  expect(await story.waitForStatus("fiat_sent")).toMatchObject({ status_message: null });
  expect(await story.owed()).toBe(0);
  expect(await findFault(server)).toBeNull();
});
