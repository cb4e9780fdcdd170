import { afterAll, beforeAll, it } from "vitest";
import { type LiveHome, openLiveHome, STORY_SETTINGS } from "../harness/live.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { playLiveStory } from "./live-story.ts";

let home: LiveHome;
let server: TestServer;
beforeAll(async () => {
  home = await openLiveHome();
  server = await startTestServer({ environment: { ...home.environment, ...STORY_SETTINGS } });
});
afterAll(async () => {
  await server.close();
  await home.close();
});

it("live mode: chain, SEPA, SWIFT, ACH, returns, re-route, refund and onramp", async () => {
  const place = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  const environment = { ...home.environment, ...STORY_SETTINGS, ...place };
  const { core, call, url, key } = server;
  const between = async () => {};
  await playLiveStory(home, { database: core.database, call, url, key, environment, between });
}, 300_000);
