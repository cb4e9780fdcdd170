import { fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { updateAccountEnabled } from "../src/apps/store.ts";
import { type NewEvent, recordEvents } from "../src/events/record-events.ts";
import { traceparentOf } from "../src/platform/http/trace-context.ts";
import { digestOf } from "../src/platform/sealing/seal.ts";
import { USER_AGENT } from "../src/webhooks/delivery/request.ts";
import { readSecret, signatureHeaders } from "../src/webhooks/delivery/sign.ts";
import type { Bench } from "./creation-scenarios.ts";
import type { Latency, Scenario } from "./measure.ts";
import { type Account, addAccount } from "./payers.ts";
import type { Receipts } from "./webhook-receiver.ts";

const RECEIVER = fileURLToPath(import.meta.resolve("./webhook-receiver.ts"));
const DELIVERIES = 40_000;
const CONCURRENCY = 64;
const BODY_BYTES = 1_000;
const GOOD_ENDPOINTS = 100;
const EVENTS = 60;
const EVENT_EVERY_MS = 50;
const READY_MAX_MS = 120_000;

type Receiver = { url: string; get(path: string): Promise<string> };

/** Deliveries (signed, read from the database, recorded) compared to the same requests alone. */
export async function deliveries(bench: Bench): Promise<Scenario> {
  const receiver = await startReceiver();
  const account = await enabledAccount(bench);
  const app_id = await addApp(bench, account, `${receiver.url}/count`);
  const service = async () => {
    await change(bench, account, app_id, "pause");
    await emit(bench, account, DELIVERIES);
    await untilWaiting(bench, account, DELIVERIES);
    await receiver.get("/reset");
    const begun_ms = performance.now();
    await change(bench, account, app_id, "resume");
    await untilCount(receiver, DELIVERIES);
    await untilWritten(bench, account);
    return { value: (DELIVERIES / (performance.now() - begun_ms)) * 1000 };
  };
  const bare = (postAll: PostAll) => async () => {
    await receiver.get("/reset");
    const begun_ms = performance.now();
    const body = bodyOf(randomUUID());
    await postAll(receiver.url, "/count", { headers: sampleHeaders(body), body }, DELIVERIES);
    return { value: (DELIVERIES / (performance.now() - begun_ms)) * 1000 };
  };
  return {
    name: "deliveries",
    times: 2,
    contenders: [
      { name: "bare POST loop", unit: "per second", run: bare(postAll) },
      { name: "bare loop of undici", unit: "per second", run: bare(postAllByUndici) },
      { name: "deliveries", unit: "per second", run: service },
    ],
    ratios: [
      {
        name: "deliveries / bare POST loop",
        top: "deliveries",
        bottom: "bare POST loop",
        bar: { at_least: 0.55 },
      },
      // Without a bar: shown because it is the fastest client that we know of.
      {
        name: "deliveries / bare loop of undici",
        top: "deliveries",
        bottom: "bare loop of undici",
      },
    ],
  };
}

/** A hundred working endpoints, alone and next to one that never answers. */
export async function deadEndpoint(bench: Bench): Promise<Scenario> {
  const receiver = await startReceiver();
  // An account has 50 applications at most.
  const accounts = await Promise.all(Array.from({ length: 4 }, () => enabledAccount(bench)));
  for (let at = 0; at < GOOD_ENDPOINTS; at += 1) {
    await addApp(bench, accounts[at % accounts.length]!, `${receiver.url}/good/${at}`);
  }
  const dead_id = await addApp(bench, accounts[0]!, `${receiver.url}/dead`);
  const run = (has_dead: boolean) => async () => {
    await change(bench, accounts[0]!, dead_id, has_dead ? "resume" : "pause");
    await receiver.get("/reset");
    for (let event = 0; event < EVENTS; event += 1) {
      for (const account of accounts) await emit(bench, account, 1);
      await sleep(EVENT_EVERY_MS);
    }
    await untilCount(receiver, EVENTS * GOOD_ENDPOINTS);
    const { delays_ms } = JSON.parse(await receiver.get("/receipts")) as Receipts;
    const latency_ms = latencyOf(delays_ms);
    return { value: latency_ms.p99, latency_ms };
  };
  return {
    name: "dead-endpoint",
    contenders: [
      { name: "100 good, p99", unit: "ms a request", run: run(false) },
      { name: "beside a dead one, p99", unit: "ms a request", run: run(true) },
    ],
    ratios: [
      {
        name: "delay beside a dead endpoint / without",
        top: "beside a dead one, p99",
        bottom: "100 good, p99",
        bar: { at_most: 1.5 },
      },
    ],
  };
}

/** An application of the account that receives its payouts; returns how to wait for the queue. */
export async function addReceiver(bench: Bench, account: Account): Promise<() => Promise<void>> {
  const { database, clock } = bench.stage.core;
  await database.transaction(async (tx) =>
    updateAccountEnabled(tx, account.account_id, clock.now()),
  );
  const receiver = await startReceiver();
  const app = { name: "Bench", webhook_url: `${receiver.url}/count`, events: ["offramp_update"] };
  await post(bench, account, "/apps", { app });
  return async () => {
    await until(async () => {
      const [row] = await database.query<{ left: boolean }>(
        `select exists (select from seal_pending where account_id = $1 and log = 'events')
           or exists (select from webhook_queue where account_id = $1) as left`,
        [account.account_id],
      );
      return !row!.left;
    }, 250);
  };
}

async function startReceiver(): Promise<Receiver> {
  const child = fork(RECEIVER, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  // Must not keep this process alive.
  child.unref();
  child.channel?.unref();
  const url = `http://127.0.0.1:${port}`;
  return { url, get: async (path) => (await fetch(`${url}${path}`)).text() };
}

async function enabledAccount({ stage }: Bench): Promise<Account> {
  const account = await addAccount(stage.core);
  const { database, clock } = stage.core;
  await database.transaction(async (tx) =>
    updateAccountEnabled(tx, account.account_id, clock.now()),
  );
  return account;
}

async function addApp(bench: Bench, account: Account, webhook_url: string): Promise<string> {
  const { app } = await post(bench, account, "/apps", { app: { name: "Bench", webhook_url } });
  return app.id;
}

function change(bench: Bench, account: Account, app_id: string, how: "pause" | "resume") {
  return post(bench, account, `/apps/${app_id}/${how}`, {});
}

// biome-ignore lint/suspicious/noExplicitAny: the shape of a response depends on the route.
async function post({ stage }: Bench, account: Account, path: string, body: unknown): Promise<any> {
  const answer = await fetch(`${stage.service.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return answer.json();
}

async function emit({ stage }: Bench, { account_id }: Account, count: number): Promise<void> {
  const { database, keyring, clock } = stage.core;
  const key = await keyring.openAccount(database, account_id);
  for (let left = count; left > 0; left -= 1_000) {
    const events = Array.from({ length: Math.min(left, 1_000) }, () => newEvent(account_id, key));
    await database.transaction(async (tx) => recordEvents(tx, events, clock.now()));
  }
}

function newEvent(account_id: string, key: Buffer): NewEvent {
  const record_id = randomUUID();
  return {
    account_id,
    name: "create",
    record_id,
    sequence: 1,
    from_status: null,
    to_status: "open",
    facts: digestOf(record_id),
    subject_id: null,
    key,
    body: bodyOf(record_id),
    invoice: {
      change_id: randomUUID(),
      role: "seller",
      app_id: null,
      counterpart_account_id: null,
    },
  };
}

function bodyOf(id: string): string {
  const invoice = { id, note: "x".repeat(BODY_BYTES - 150) };
  return JSON.stringify({
    variant: "svc_invoice",
    event: "create",
    timestamp: Date.now(),
    invoice,
  });
}

async function untilWaiting({ stage }: Bench, account: Account, count: number): Promise<void> {
  await until(async () => {
    const [row] = await stage.core.database.query<{ count: bigint }>(
      "select count(*) from webhook_queue where account_id = $1",
      [account.account_id],
    );
    return Number(row!.count) >= count;
  }, 250);
}

/** Waits until the outcome of the last delivery is written, too. */
function untilWritten({ stage }: Bench, account: Account): Promise<void> {
  return until(async () => {
    const rows = await stage.core.database.query(
      "select from webhook_queue where account_id = $1 limit 1",
      [account.account_id],
    );
    return rows.length === 0;
  }, 10);
}

async function untilCount({ url }: Receiver, count: number): Promise<void> {
  await fetch(`${url}/until/${count}`, { signal: AbortSignal.timeout(READY_MAX_MS) });
}

async function until(isSo: () => Promise<boolean>, ask_ms: number): Promise<void> {
  const end_ms = performance.now() + READY_MAX_MS;
  while (!(await isSo())) {
    if (performance.now() > end_ms) throw new Error("the deliveries did not come");
    await sleep(ask_ms);
  }
}

/** What every request of a bare loop sends. */
type Sample = { headers: Record<string, string>; body: string };
type PostAll = (origin: string, path: string, sample: Sample, count: number) => Promise<void>;

/** The headers of a delivery: the bare loops send what it sends, only made once. */
function sampleHeaders(body: string): Record<string, string> {
  const current = readSecret(`whsec_${randomBytes(32).toString("base64")}`);
  const message = { id: randomUUID(), timestamp_s: 1_800_000_000, body: Buffer.from(body) };
  return {
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": USER_AGENT,
    traceparent: traceparentOf(message.id),
    "x-webhook-sequence": "1",
    ...signatureHeaders({ current, next: null }, message),
  };
}

/** Only the requests: Node's own client with keep-alive connections. */
const postAll: PostAll = async (origin, path, { headers, body }, count) => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const options = { method: "POST", agent, headers };
  const sendOne = () =>
    new Promise<void>((resolve, reject) => {
      const outgoing = request(`${origin}${path}`, options, (incoming) => {
        incoming.resume().once("end", resolve).once("error", reject);
      });
      outgoing.once("error", reject).end(body);
    });
  await inLoops(sendOne, count);
  agent.destroy();
};

/** The same with undici instead of Node's own client. */
const postAllByUndici: PostAll = async (origin, path, { headers, body }, count) => {
  const pool = new Pool(origin, { connections: CONCURRENCY, pipelining: 1 });
  const options = { method: "POST", path, headers, body };
  const sendOne = async () => {
    const answer = await pool.request(options);
    await answer.body.dump();
  };
  await inLoops(sendOne, count);
  await pool.close();
};

async function inLoops(sendOne: () => Promise<void>, count: number): Promise<void> {
  let left = count;
  const loop = async () => {
    while (left-- > 0) await sendOne();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, loop));
}

function latencyOf(delays_ms: readonly number[]): Latency {
  const sorted = delays_ms.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
