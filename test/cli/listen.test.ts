import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { webhooks } from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ended, runCommand, startCommand } from "../harness/command-line.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { settle } from "../offramps/story.ts";

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
  it("a triggered event happens, is printed and forwarded signed; Ctrl-C ends cleanly", async () => {
    const forward = ["--forward-to", `${receiver.url}/local`, "--secret", "a-secret-of-my-own"];
    const listening = startCommand(["listen", ...forward, ...api(), "--json"], environment());
    await waitFor(() => listening.printed().stdout.includes("listening"));
    const triggered = await run("trigger", "offramp_update", "--status", "bounced", ...api());
    expect(triggered.stdout).toMatch(/^offramp [\w-]{36} was created and moved to bounced\.\n$/);
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

  it("listen prints a line for each requested event, with its state", async () => {
    const listening = startCommand(["listen", ...api(), "--event", "onramp_update"], environment());
    await waitFor(() => listening.printed().stdout.includes("press Ctrl-C to stop"));
    const triggered = await run("trigger", "onramp_update", "--status", "failed", ...api());
    const [, id] = /^onramp ([\w-]{36}) was created and moved to failed\.\n$/.exec(
      triggered.stdout,
    )!;
    const line = `onramp_update           ${id!.slice(0, 8)}…${id!.slice(-4)}  failed  #`;
    await waitFor(() => listening.printed().stdout.includes(line));
    expect(listening.printed().stdout).not.toContain("kyc_update");
    listening.child.kill("SIGINT");
    expect(await listening.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("listen waits for a service that restarts, and continues where it was", async () => {
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
    await waitFor(() => listening.printed().stderr.includes("; retrying."));
    const second = scripted().listen(port, "127.0.0.1");
    await waitFor(() => listening.printed().stderr.includes("answers again"));
    listening.child.kill("SIGINT");
    const { code, stdout } = await listening.ended;
    second.close();
    expect(code).toBe(0);
    expect(stdout.match(/kyc_update/g)).toHaveLength(1);
  });

  it("trigger creates a real invoice for its events, also for those of a payment", async () => {
    const events = ["accept", "paid", "c2fPaymentFailed"];
    const ends = await Promise.all(
      events.map((event) => run("trigger", event, ...api(), "--json")),
    );
    const ids = ends.map((ended) => documentOf(ended).triggered.id);
    const invoices = await Promise.all(ids.map((id) => server.call("GET", `/invoices/${id}`)));
    expect(invoices.map(({ body }) => body.status)).toEqual(["accepted", "paid", "open"]);
    for (const [at, event] of events.entries()) {
      const { body } = await server.call("GET", `/webhook_events?event=${event}`);
      const record_ids = body.webhook_events.map((entry: { record_id: string }) => entry.record_id);
      expect(record_ids, event).toContain(ids[at]);
    }
  });

  it("trigger reports what follows a state that does not last, and keeps the state where it can", async () => {
    const trigger = (event: string, status: string) =>
      run("trigger", event, "--status", status, ...api());
    const [held, passing] = await Promise.all([
      trigger("offramp_update", "ongoing_checks"),
      trigger("onramp_update", "sending_fiat"),
    ]);
    const [, id] = /^offramp (\S+) .* ongoing_checks; it continues .* document/.exec(held.stdout)!;
    expect(passing.stdout).toMatch(/ moved to sending_fiat; it continues automatically\.\n$/);
    await settle(server);
    const { body } = await server.call("GET", "/webhook_events?event=offramp_update&limit=100");
    const found = body.webhook_events.findLast(
      (event: { record_id: string }) => event.record_id === id,
    );
    expect(JSON.parse(found.body).payload.offramp.status).toBe("ongoing_checks");
  });

  it("trigger lists what is possible", async () => {
    const [nothing, listed, unknown, mistyped, needless] = await Promise.all([
      run("trigger", ...api()),
      run("trigger", "--json", ...api()),
      run("trigger", "offramp", ...api()),
      run("trigger", "offramp_update", "--status", "bouncd", ...api()),
      run("trigger", "accept", "--status", "paid", ...api()),
    ]);
    expect([nothing, unknown, mistyped, needless].map(({ code }) => code)).toEqual([0, 1, 1, 1]);
    expect(nothing.stdout).toMatch(/^Events and their values /);
    expect(nothing.stdout).toMatch(/\n {2}offramp_update +fiat_sent, initiated, .*bounced/);
    expect(documentOf(listed).events).toContainEqual({
      event: "accept",
      default_status: "accepted",
      statuses: [],
    });
    expect(unknown.stderr).toMatch(/^sliproad: .*offramp_update, .*; see --help\.\n$/);
    expect(mistyped.stderr).toMatch(/did you mean bounced\?\); choose one of initiated, .*\.\n$/);
    expect(needless.stderr).toBe(
      "sliproad: accept takes no --status: its invoice ends accepted.\n",
    );
  });

  it("listen waits as long as the service asks for, and retries", async () => {
    const asked_ms: number[] = [];
    const busy = createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      if (request.url!.startsWith("/sandbox")) {
        return response.end('{"clock":{"now":"2026-01-01T00:00:00.000Z"}}');
      }
      asked_ms.push(performance.now());
      const status = [200, 503, 429][asked_ms.length - 1] ?? 200;
      response.writeHead(status, { "retry-after": "1" }).end('{"webhook_events":[]}');
    }).listen(0, "127.0.0.1");
    await once(busy, "listening");
    const url = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
    const listening = startCommand(["listen", "--url", url], environment());
    await waitFor(() => asked_ms.length >= 5);
    listening.child.kill("SIGINT");
    expect((await listening.ended).code).toBe(0);
    busy.close();
    expect(asked_ms[2]! - asked_ms[1]!).toBeGreaterThan(900);
    expect(asked_ms[3]! - asked_ms[2]!).toBeGreaterThan(900);
    expect(listening.printed().stderr).toMatch(/ answered 503; retrying\.\n/);
  });

  it("listen refuses a wrong key and a wrong time before it reports that it listens", async () => {
    const [key, since, json] = await Promise.all([
      run("listen", ...api(), "--key", "sk_test_of_somebody_else_entirely"),
      run("listen", ...api(), "--since", "yesterday"),
      run("listen", ...api(), "--since", "yesterday", "--json"),
    ]);
    expect([key, since].map(({ code, stdout }) => ({ code, stdout }))).toEqual([
      { code: 1, stdout: "" },
      { code: 1, stdout: "" },
    ]);
    expect(key.stderr).toMatch(/valid API key/);
    expect(since.stderr).toMatch(/^sliproad: --since: Send an ISO 8601 time/);
    expect(JSON.parse(json.stdout).error.message).toMatch(/^--since: /);
  });

  it("listen refuses what it cannot forward to, and reports when nothing responds", async () => {
    const [odd, nowhere, empty, short] = await Promise.all([
      run("listen", "--forward-to", "localhost:3000/hook", ...api()),
      run("listen", "--url", "http://127.0.0.1:1"),
      run("listen", "--secret", "", ...api()),
      run("listen", "--secret", "x", ...api()),
    ]);
    expect(odd.stderr).toMatch(/^sliproad: --forward-to must be a URL such as http:.*\.\n$/);
    expect(nowhere.stderr).toMatch(/^sliproad: Nothing answers at http:\/\/127\.0\.0\.1:1; /);
    const no_secret =
      "sliproad: --secret is not a valid webhook secret. " +
      "Send 12 to 200 printable characters without spaces.\n";
    expect([empty.stderr, short.stderr]).toEqual([no_secret, no_secret]);
    expect([odd, nowhere, empty, short].map((ended) => ended.code)).toEqual([1, 1, 1, 1]);
  });
});
