import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, runCommand } from "../harness/command-line.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

const environment = () => ({
  DATABASE_URL: server.db.url,
  SLIPROAD_DATA_DIR: server.data_dir,
  SLIPROAD_API_KEY: server.key,
});
const run = (...args: string[]) => runCommand(args, environment());
const api = () => ["--url", server.url];

function documentOf({ code, stdout, stderr }: Ended) {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("apps", () => {
  it("are created with their secrets, listed, rotated, paused and resumed", async () => {
    const hook = ["--webhook-url", receiver.url, "--events", "kyc_update,offramp_update"];
    const made = documentOf(await run("apps", "create", "--name", "Sync", ...hook, "--json"));
    const { id } = made.app;
    expect(made).toMatchObject({
      app: {
        client_id: id,
        webhook: { state: "active", events: ["kyc_update", "offramp_update"] },
      },
      client_secret: expect.any(String),
      webhook_secret: expect.stringMatching(/^whsec_/),
    });
    const [rotated, listed] = await Promise.all([
      run("apps", "rotate-secret", id, "--json"),
      run("apps", "list", "--json"),
    ]);
    expect(documentOf(rotated).app.webhook.secret_switch_at).not.toBeNull();
    expect(documentOf(listed).apps.map((app: { id: string }) => app.id)).toContain(id);
    const paused = await run("apps", "pause", id, "--json");
    expect(documentOf(paused).app.webhook.state).toBe("paused");
    expect((await run("apps", "resume", id)).stdout).toBe("Resumed Sync.\n");
  });

  it("report errors in one sentence", async () => {
    const [wrong, unknown, missing] = await Promise.all([
      run("apps", "create", "--name", "A", "--webhook-url", "http://10.0.0.1/"),
      run("apps", "create", "--name", "A", "--events", "offramp_updat"),
      run("apps", "pause", "01900000-0000-7000-8000-000000000000"),
    ]);
    expect(wrong.stderr).toBe("sliproad: --webhook-url: 10.0.0.1 is not a public address.\n");
    expect(unknown.stderr).toMatch(/^sliproad: --events: .*\n$/);
    expect(missing.stderr).toMatch(/^sliproad: There is no application .*\n$/);
    expect([wrong.code, unknown.code, missing.code]).toEqual([1, 1, 1]);
    const local = ["apps", "create", "--name", "A", "--webhook-url", "http://localhost:3000/"];
    const abroad = await runCommand(local, { ...environment(), HOST: "0.0.0.0" });
    expect(abroad.stderr).toBe("sliproad: --webhook-url: localhost is not a public address.\n");
    const replayed = await run("events", "replay", "nonsense", ...api());
    expect(replayed.stderr.match(/webhook_event_id/g)).toHaveLength(1);
    expect(replayed.stderr.trim().split("\n")).toHaveLength(1);
  });

  it("refuse a webhook secret that the API would refuse", async () => {
    const { id } = documentOf(await run("apps", "create", "--name", "B", "--json")).app;
    const [created, rotated] = await Promise.all([
      run("apps", "create", "--name", "C", "--webhook-secret", ""),
      run("apps", "rotate-secret", id, "--webhook-secret", ""),
    ]);
    const why = "sliproad: --webhook-secret: Send 12 to 200 printable characters without spaces.\n";
    expect([created.stderr, rotated.stderr]).toEqual([why, why]);
  });

  it("wait for a concurrent change through the API and keep what it changed", async () => {
    const made = await run(
      "apps",
      "create",
      "--name",
      "D",
      "--webhook-url",
      receiver.url,
      "--json",
    );
    const { id } = documentOf(made).app;
    let paused: Promise<Ended>;
    await server.db.database.transaction(async (tx) => {
      await tx.query("update apps set name = 'Changed meanwhile' where id = $1", [id]);
      paused = run("apps", "pause", id, "--json");
      await waitFor(async () => {
        const [row] = await server.db.database.query<{ count: bigint }>(
          `select count(*) from pg_stat_activity
           where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return row!.count > 0n;
      });
    });
    expect(documentOf(await paused!).app).toMatchObject({
      name: "Changed meanwhile",
      webhook: { state: "paused" },
    });
  });
});

describe("accounts enable-webhooks", () => {
  it("lets events be sent, with an audit entry", async () => {
    const { account_id } = await server.addAccount("Late");
    const enabled = documentOf(await run("accounts", "enable-webhooks", "Late", "--json"));
    expect(enabled.account.webhooks_enabled_at).not.toBeNull();
    const entries = await server.db.database.query(
      "select actor from audit_entries where account_id = $1 and action = $2",
      [account_id, "account.enable_webhooks"],
    );
    expect(entries).toEqual([{ actor: "command line" }]);
  });
});

describe("events", () => {
  it("events replay sends one event again", async () => {
    const triggered = documentOf(await run("trigger", "kyc_update", ...api(), "--json"));
    const event = await waitFor(async () => {
      const { body } = await server.call("GET", "/webhook_events?event=kyc_update&limit=1");
      return body.webhook_events[0];
    });
    expect(event.record_id).toBe(triggered.triggered.id);
    const answer = documentOf(await run("events", "replay", event.id, ...api(), "--json"));
    expect(answer.deliveries).toHaveLength(1);
  });
});
