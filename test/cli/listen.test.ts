import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { webhooks } from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, runCommand, startCommand } from "../harness/command-line.ts";
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

describe("listen and trigger", () => {
  it("what is triggered happens, is printed and forwarded signed; Ctrl-C ends cleanly", async () => {
    const forward = ["--forward-to", `${receiver.url}/local`, "--secret", "a-secret-of-my-own"];
    const listening = startCommand(["listen", ...forward, ...api(), "--json"], environment());
    await waitFor(() => listening.printed().stdout.includes("listening"));
    const triggered = await run("trigger", "offramp_update", "--status", "bounced", ...api());
    expect(triggered.stdout).toMatch(/^offramp [\w-]{36} was made and taken to bounced\.\n$/);
    const isBounced = () =>
      receiver.received.some(
        ({ path, body }) => path === "/hook/local" && body.payload?.offramp?.status === "bounced",
      );
    await waitFor(isBounced);
    const printed = await waitFor(() => {
      const lines = listening.printed().stdout.trim().split("\n").slice(1);
      const events = lines.map((line) => JSON.parse(line));
      return events.length >= 5 && events;
    });
    expect(printed[0]).toMatchObject({ webhook_event: { event: "kyc_update" }, forwarded: 200 });
    const local = receiver.received.find((got) => got.path === "/hook/local")!;
    const proved = await webhooks.verify(local.raw, local.headers, "a-secret-of-my-own");
    expect(proved).toEqual(local.body);
    listening.child.kill("SIGINT");
    expect((await listening.ended).code).toBe(0);
  });

  it("listen prints a line for each event that was asked for, with the state it tells of", async () => {
    const listening = startCommand(["listen", ...api(), "--event", "onramp_update"], environment());
    await waitFor(() => listening.printed().stdout.includes("Ctrl-C ends"));
    const triggered = await run("trigger", "onramp_update", "--status", "failed", ...api());
    const [, id] = /^onramp ([\w-]{36}) was made and taken to failed\.\n$/.exec(triggered.stdout)!;
    const line = `onramp_update           ${id!.slice(0, 8)}…${id!.slice(-4)}  failed  #`;
    await waitFor(() => listening.printed().stdout.includes(line));
    expect(listening.printed().stdout).not.toContain("kyc_update");
    listening.child.kill("SIGINT");
    expect(await listening.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("listen waits for a service that is started anew, and goes on where it was", async () => {
    const asked: string[] = [];
    const event = { id: "e1", event: "kyc_update", record_id: "r1", sequence: 1, body: "{}" };
    const scripted = () =>
      createServer((request, response) => {
        asked.push(request.url!);
        const is_first = request.url!.includes("created_after=");
        const created_at = "2026-01-01T00:00:00.000Z";
        const webhook_events = is_first ? [{ ...event, created_at }] : [];
        response.end(JSON.stringify({ clock: { now: created_at }, webhook_events }));
      });
    const first = scripted().listen(0, "127.0.0.1");
    await once(first, "listening");
    const { port } = first.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const listening = startCommand(["listen", "--url", url], environment());
    await waitFor(() => asked.some((path) => path.includes("starting_after=e1")));
    first.closeAllConnections();
    first.close();
    await waitFor(() => listening.printed().stderr.includes("waiting for it"));
    const second = scripted().listen(port, "127.0.0.1");
    await waitFor(() => listening.printed().stderr.includes("answers again"));
    listening.child.kill("SIGINT");
    const { code, stdout } = await listening.ended;
    second.close();
    expect(code).toBe(0);
    expect(stdout.match(/kyc_update/g)).toHaveLength(1);
  });

  it("trigger makes an invoice for its events, in earnest", async () => {
    const accepted = documentOf(await run("trigger", "accept", ...api(), "--json"));
    const { body } = await server.call("GET", `/invoices/${accepted.triggered.id}`);
    expect(body.status).toBe("accepted");
    const sample = ["trigger", "c2fPaymentFailed", ...api()];
    expect((await run(...sample)).stdout).toMatch(/^No application is told of c2fPaymentFailed;/);
    await server.call("POST", "/apps", { app: { name: "Sync", webhook_url: receiver.url } });
    expect(documentOf(await run(...sample, "--json")).triggered).toMatchObject({ deliveries: 1 });
  });

  it("trigger teaches what is possible", async () => {
    const [nothing, unknown, mistyped, needless] = await Promise.all([
      run("trigger", ...api()),
      run("trigger", "offramp", ...api()),
      run("trigger", "offramp_update", "--status", "bouncd", ...api()),
      run("trigger", "accept", "--status", "paid", ...api()),
    ]);
    expect([nothing, unknown, mistyped, needless].map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    expect(nothing.stderr).toMatch(/^sliproad: Name an event\.\nEvents, and the states /);
    expect(nothing.stderr).toMatch(/\n {2}offramp_update +fiat_sent, initiated, .*bounced/);
    expect(unknown.stderr).toMatch(/^sliproad: .*offramp_update, .*; see --help\.\n$/);
    expect(mistyped.stderr).toMatch(/did you mean bounced\?\); choose one of initiated, .*\.\n$/);
    expect(needless.stderr).toBe(
      "sliproad: accept takes no --status: its invoice ends accepted.\n",
    );
  });

  it("listen takes only what it can forward to, and says when nothing answers", async () => {
    const [odd, nowhere, empty, short] = await Promise.all([
      run("listen", "--forward-to", "localhost:3000/hook", ...api()),
      run("listen", "--url", "http://127.0.0.1:1"),
      run("listen", "--secret", "", ...api()),
      run("listen", "--secret", "x", ...api()),
    ]);
    expect(odd.stderr).toMatch(/^sliproad: --forward-to must be an address such as http:.*\.\n$/);
    expect(nowhere.stderr).toMatch(/^sliproad: Nothing answers at http:\/\/127\.0\.0\.1:1; /);
    const no_secret =
      "sliproad: --secret is no webhook secret. " +
      "Send 12 to 200 printable characters without spaces.\n";
    expect([empty.stderr, short.stderr]).toEqual([no_secret, no_secret]);
    expect([odd, nowhere, empty, short].map((ended) => ended.code)).toEqual([1, 1, 1, 1]);
  });
});
