import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDemoReceiver } from "../../src/cli/demo/receiver.ts";
import { type Ended, runCommand, startCommand } from "../harness/command-line.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good, openStory } from "../offramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const environmentOf = ({ db, data_dir, key }: TestServer) => ({
  DATABASE_URL: db.url,
  SLIPROAD_DATA_DIR: data_dir,
  SLIPROAD_API_KEY: key,
});
const run = (args: string[], on = server, environment: Record<string, string> = {}) =>
  runCommand(["demo", "--url", on.url, ...args], { ...environmentOf(on), ...environment });

function expectSentence(ended: Ended, words: string | RegExp): void {
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/^sliproad: [^\n]+\.\n$/);
  expect(ended.stderr).toMatch(words);
}

describe("a demo payout", () => {
  it("ends with fiat_sent and its proof, shows every request, and no key, secret or colour", async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const requests = [
      "POST /users  → 200",
      "payment_details  → 200",
      "quotes  → 200",
      "offramps  → 200",
      "supporting-documents  → 200",
      "execute  → 422",
      "kycs  → 200",
      "execute  → 200",
    ];
    const places = requests.map((text) => stdout.indexOf(text));
    expect(places).not.toContain(-1);
    expect(stdout).toContain(`url ${server.url}/kyc/`);
    expect(stdout).toContain("error_code not_yet_passed_kyc_kyb");
    expect(stdout).toContain("payout_booked");
    expect(stdout).toMatch(/\nfiat_sent after \d+\.\d s\.\n {2}Bank {7}\w+, \w+\n/);
    expect(stdout).not.toContain(server.key);
    expect(stdout).not.toContain("whsec_");
    expect(stdout).not.toContain("\u001b");
  });

  it("--json prints one document; the application is reused, and left without a URL", async () => {
    const { code, stdout, stderr } = await run(["--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { ok, status, steps, proof } = JSON.parse(stdout);
    expect({ ok, status }).toEqual({ ok: true, status: "fiat_sent" });
    expect(steps.map((step: { title: string }) => step.title)).toContain(
      "The webhook arrived, and the SDK verified its signature",
    );
    expect(proof.webhook).toMatchObject({ verified: true, signature: expect.any(String) });
    const [offramp] = proof.offramps;
    const shown = await server.call("GET", "/webhook_events?event=offramp_update&limit=100");
    const events = shown.body.webhook_events.filter(
      (event: { record_id: string }) => event.record_id === offramp.id,
    );
    expect(events.length).toBeGreaterThan(3);
    const booked = proof.ledger.filter((entry: { kind: string }) => entry.kind === "payout_booked");
    expect(booked).toHaveLength(2);
    expect(stdout).not.toMatch(/whsec_/);
    const { apps } = (await server.call("GET", "/apps")).body;
    expect(apps).toHaveLength(1);
    expect(apps[0].webhook).toMatchObject({ url: null, events: [] });
  });

  it("shows the refusal and continues where KYC is already required for a bank account", async () => {
    const environment = { SLIPROAD_KYC_ENFORCEMENT: "payment_detail" };
    const beside = await startTestServer({ beside: server, environment });
    try {
      const { code, stdout } = await run([], beside);
      expect(code).toBe(0);
      expect(stdout).toMatch(/payment_details {2}→ 422.*payment_details {2}→ 200/s);
    } finally {
      await beside.close();
    }
  });
});

describe("an interrupted demo leaves no URL without a receiver", () => {
  const addresses = async () => {
    const { apps } = (await server.call("GET", "/apps")).body;
    return apps.flatMap((app: { webhook: { url: string | null } }) => app.webhook.url ?? []);
  };
  const begin = async () => {
    const running = startCommand(["demo", "--url", server.url], environmentOf(server));
    await waitFor(() => running.printed().stdout.includes("Start a webhook receiver"));
    return running;
  };

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("by %s", async (signal, exit_code) => {
    const running = await begin();
    running.child.kill(signal);
    expect((await running.ended).code).toBe(exit_code);
    expect(await addresses()).toEqual([]);
  });

  it("when its reader closes the pipe", async () => {
    const running = await begin();
    running.child.stdout!.destroy();
    expect((await running.ended).code).toBe(1);
    expect(await addresses()).toEqual([]);
  });

  it("after kill -9, once the next one runs", async () => {
    const own = "http://127.0.0.1:3/my-receiver";
    for (const webhook_url of ["http://127.0.0.1:1/hook", "http://127.0.0.1:2/hook", own]) {
      const app = { name: "sliproad demo", webhook_url, events: [] };
      expect((await server.call("POST", "/apps", { app })).status).toBe(200);
    }
    expect((await run([])).code).toBe(0);
    expect(await addresses()).toEqual([own]);
  });
});

describe("a demo after an interrupted one", () => {
  it("ignores the deliveries left by that one, and verifies its own", async () => {
    const { apps } = (await server.call("GET", "/apps?limit=100")).body;
    const left = apps.find((app: { webhook: { url: string | null } }) => app.webhook.url === null);
    const webhook = { webhook_url: "http://127.0.0.1:1/hook", events: ["offramp_update"] };
    good(await server.call("PATCH", `/apps/${left.id}`, { app: webhook }));
    good(await server.call("POST", `/apps/${left.id}/pause`));
    for (let story = 0; story < 3; story += 1) good(await (await openStory(server)).execute());
    const { code, stderr } = await run([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("the receiver accepts what it cannot verify, and keeps whom it concerns", async () => {
    const receiver = await startDemoReceiver();
    try {
      const body = JSON.stringify({ event: "offramp_update", payload: { offramp: { id: "o1" } } });
      for (const sent of [body, "no JSON"]) {
        expect((await fetch(receiver.url, { method: "POST", body: sent })).status).toBe(204);
      }
      expect(receiver.refused.map(({ offramp_id }) => offramp_id)).toEqual(["o1", null]);
      expect(receiver.received).toEqual([]);
    } finally {
      await receiver.close();
    }
  });
});

describe("errors are reported in one sentence, with exit code 1", () => {
  it("no service runs; another key; a malformed URL", async () => {
    const none = { DATABASE_URL: "", SLIPROAD_DATA_DIR: join(server.data_dir, "none"), PORT: "1" };
    const [nowhere, stranger, odd] = await Promise.all([
      runCommand(["demo"], none),
      run(["--key", "sk_test_of_somebody_else_entirely"]),
      runCommand(["demo", "--url", "localhost:4000"], none),
    ]);
    expectSentence(nowhere, "start the service with npm start (or sliproad start)");
    expect(nowhere.stdout).toBe("");
    expectSentence(stranger, "refused the API key");
    expectSentence(odd, "--url must be a URL");
  });

  it("KYC enforcement is off", async () => {
    const environment = { SLIPROAD_KYC_ENFORCEMENT: "off" };
    const careless = await startTestServer({ beside: server, environment });
    try {
      const ended = await run(["--json"], careless);
      expectSentence(ended, "KYC enforcement is off");
      const { ok, problem, steps } = JSON.parse(ended.stdout);
      expect({ ok, problem: `sliproad: ${problem}\n` }).toEqual({
        ok: false,
        problem: ended.stderr,
      });
      expect(steps.at(-1).facts).toEqual({ problem });
    } finally {
      await careless.close();
    }
  });

  it("the service stops in the middle, or is not ready, or has no sandbox", async () => {
    const me = JSON.stringify({ user: null, account: { id: server.account_id, name: "demo" } });
    const [gone, unready, live] = await Promise.all([
      startScripted({ "/readyz": [200, "{}"], "/me": [200, me] }),
      startScripted({ "/readyz": [503, '{"problems":["No worker is running."]}'] }),
      startScripted({
        "/readyz": [200, "{}"],
        "/me": [200, me],
        "/sandbox/clock": [404, '{"error_code":"route_not_found","message":"No such route."}'],
      }),
    ]);
    try {
      const [middle, waiting, real] = await Promise.all(
        [gone, unready, live].map(({ url }) => run(["--url", url])),
      );
      expectSentence(middle!, /stopped answering \(connection_failed\) in the step "The service"/);
      expectSentence(waiting!, "is not ready: No worker is running.");
      expectSentence(real!, "is not in sandbox mode");
    } finally {
      for (const { http } of [gone, unready, live]) http.close();
    }
  });
});

/** Sends scripted responses and closes every other connection. */
async function startScripted(script: Record<string, [number, string]>) {
  const http: Server = createServer((request, response) => {
    const scripted = script[request.url!];
    if (!scripted) return request.socket.destroy();
    const [status, body] = scripted;
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}
