import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, it } from "vitest";
import { type Running, startCommand } from "../harness/command-line.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { type LiveHome, openLiveHome, STORY_SETTINGS } from "../harness/live.ts";
import { callServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { playLiveStory } from "./live-story.ts";

const STARTED_MS = 90_000;
const KEY = `sk_live_${"s".repeat(40)}`;

let home: LiveHome;
let db: TestDatabase;
let data_dir: string;
let running: Running | null = null;
beforeAll(async () => {
  home = await openLiveHome();
  db = await createTestDatabase();
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-live-"));
});
afterAll(async () => {
  running?.child.kill("SIGKILL");
  await running?.ended;
  await db.drop();
  await home.close();
  await rm(data_dir, { recursive: true });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

it("live mode survives kill -9 between any two steps: nothing is lost, nothing paid twice", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const environment: Record<string, string> = {
    ...home.environment,
    ...STORY_SETTINGS,
    ...{ DATABASE_URL: db.url, SLIPROAD_DATA_DIR: data_dir, PORT: String(port) },
    ...{ SLIPROAD_API_KEY: KEY, SLIPROAD_LOG_LEVEL: "warn" },
  };
  const start = async () => {
    running = startCommand(["start"], environment);
    const { ended } = running;
    let outcome: unknown = null;
    void ended.then((end) => {
      outcome = end;
    });
    await waitFor(async () => {
      if (outcome) throw new Error(JSON.stringify(outcome));
      return fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    }, STARTED_MS);
  };
  const kill = async () => {
    running!.child.kill("SIGKILL");
    await running!.ended;
    // The dead worker's leases end by themselves after half a minute.
    await db.database.query(
      "update tasks set leased_until = leased_until - interval '1 minute' where leased_until is not null",
    );
  };
  await start();
  await playLiveStory(home, {
    ...{ database: db.database, url, key: KEY, environment },
    call: (method, path, body, options = {}) => callServer(url, KEY, method, path, body, options),
    between: async () => {
      await kill();
      await start();
    },
  });
  await kill();
}, 1_200_000);
