import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Running, startCommand } from "../harness/command-line.ts";
import { waitFor } from "../harness/wait-for.ts";

const SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 60);
const TIMES = 5;
/** More than the service lets wait, and as many as one account may have idle. */
const CONNECTIONS = 2_000;
const CAPACITY_CALLERS = 64;
const CAPACITY_SECONDS = 5;
/** What waits is bounded, so memory is: far below what a minute of requests would take. */
const MEMORY_MAX_MB = 600;
const REFUSED_WITHIN_MS = 5_000;
const RECOVERED_WITHIN_MS = 15_000;
const PROMPT_MS = 1_000;
const IDLE_CONNECTIONS = 10_000;
const IDLE_GROWTH_MAX_MB = 250;
const KEY = "sk_test_overloaded_0000000000000000000000";
const READY = /"msg":"Server listening at (http:[^"]+)"/;

let data_dir: string;
let service: Running;
let url: string;
beforeEach(async () => {
  data_dir = await mkdtemp(join(tmpdir(), "sliproad-overload-"));
  service = startCommand(["start"], {
    PORT: "0",
    SLIPROAD_DATA_DIR: data_dir,
    SLIPROAD_API_KEY: KEY,
    SLIPROAD_ADMIN_PASSWORD: crypto.randomUUID(),
    SLIPROAD_RATE_LIMIT: "0",
    SLIPROAD_RATE_LIMIT_ANONYMOUS: "0",
  });
  url = await waitFor(() => READY.exec(service.printed().stdout)?.[1], 60_000);
  await waitFor(async () => (await fetch(`${url}/readyz`)).ok, 60_000);
}, 180_000);
afterEach(async () => {
  service.child.kill("SIGTERM");
  await service.ended;
  await rm(data_dir, { recursive: true, force: true });
}, 60_000);

it(
  `${TIMES} times the capacity for ${SECONDS} s: refused quickly, in bounded memory, and then over`,
  async () => {
    const callers = await openCallers(CONNECTIONS);
    const capacity = await findCapacity(callers);
    const outcomes = await overload(callers, capacity * TIMES);
    const recovered_ms = await untilPrompt(callers[0]!);
    const peak = await peakMemory();
    const of = (status: number) => outcomes.filter((outcome) => outcome.status === status);
    const refused_ms = of(503).map(({ latency_ms }) => latency_ms);
    console.log(
      `capacity ${capacity.toFixed(0)}/s; sent ${outcomes.length} in ${SECONDS} s: ` +
        `${of(200).length} done (p99 ${at(
          of(200).map(({ latency_ms }) => latency_ms),
          0.99,
        )} ms), ${refused_ms.length} refused (p50 ${at(refused_ms, 0.5)} ms, ` +
        `p99 ${at(refused_ms, 0.99)} ms), prompt again after ${recovered_ms} ms, ${peak} MB`,
    );
    // Every request has an answer, and each is one of these two.
    expect(of(200).length + of(503).length).toBe(outcomes.length);
    expect(of(200).length).toBeGreaterThan((capacity * SECONDS) / 10);
    expect(at(refused_ms, 0.99)).toBeLessThan(REFUSED_WITHIN_MS);
    expect(recovered_ms).toBeLessThan(RECOVERED_WITHIN_MS);
    expect(peak).toBeLessThan(MEMORY_MAX_MB);
    for (const { socket } of callers) socket.destroy();
  },
  (SECONDS + 120) * 1000,
);

it(`${IDLE_CONNECTIONS} idle, half-open and slow connections delay nobody`, async () => {
  const callers = await openCallers(CAPACITY_CALLERS);
  await findCapacity(callers);
  const before = await peakMemory();
  const { port } = new URL(url);
  const sockets: Socket[] = [];
  // Nothing, half a head, and a body that never comes.
  const beginnings = [
    "",
    "POST /users HTTP/1.1\r\nHost: sliproad\r\n",
    `POST /users HTTP/1.1\r\nHost: sliproad\r\nAuthorization: Bearer ${KEY}\r\n` +
      "Content-Type: application/json\r\nContent-Length: 200\r\n\r\n{",
  ];
  for (let opened = 0; opened < IDLE_CONNECTIONS; opened += 1) {
    const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    socket.write(beginnings[opened % beginnings.length]!);
    if (opened % 500 === 499) await once(socket, "connect").catch(() => {});
  }
  // By somebody else: the account of the slow ones has used its share.
  const latencies: number[] = [];
  for (let round = 0; round < 100; round += 1) {
    const begun_ms = performance.now();
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    latencies.push(performance.now() - begun_ms);
  }
  const grown = (await peakMemory()) - before;
  console.log(
    `p50 ${at(latencies, 0.5)} ms, p99 ${at(latencies, 0.99)} ms beside ${IDLE_CONNECTIONS} ` +
      `connections, ${grown} MB more`,
  );
  expect(at(latencies, 0.99)).toBeLessThan(PROMPT_MS);
  expect(grown).toBeLessThan(IDLE_GROWTH_MAX_MB);
  for (const socket of [...sockets, ...callers.map((caller) => caller.socket)]) socket.destroy();
}, 120_000);

type Outcome = { status: number; latency_ms: number };

let users = 0;
function newRequest(): string {
  users += 1;
  const names = { first_name: "Ana", last_name: "Sample" };
  const user = { beneficiary_type: "individual", email: `payer${users}@example.com`, ...names };
  const body = JSON.stringify({ user });
  const head = [
    "POST /users HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${KEY}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

const WHOLE = /^HTTP\/1\.1 (\d+).*?\r\ncontent-length: (\d+).*?\r\n\r\n/is;

/** One connection, one request at a time. Raw sockets: the load shares the processors. */
type Caller = { send(): Promise<Outcome>; socket: Socket };

async function openCaller(): Promise<Caller> {
  const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", noDelay: true });
  socket.setEncoding("latin1");
  await once(socket, "connect");
  let received = "";
  let answered: (status: number) => void = () => {};
  socket.on("data", (text) => {
    received += text;
    const head = WHOLE.exec(received);
    if (!head || received.length < head[0].length + Number(head[2])) return;
    received = "";
    answered(Number(head[1]));
  });
  socket.on("error", () => {}).on("close", () => answered(0));
  const send = async () => {
    const begun_ms = performance.now();
    const status = await new Promise<number>((resolve) => {
      answered = resolve;
      if (socket.destroyed) resolve(0);
      else socket.write(newRequest());
    });
    return { status, latency_ms: performance.now() - begun_ms };
  };
  return { send, socket };
}

async function openCallers(count: number): Promise<Caller[]> {
  const callers: Caller[] = [];
  while (callers.length < count) {
    callers.push(...(await Promise.all(Array.from({ length: 200 }, openCaller))));
  }
  return callers;
}

/** Requests a second, with as many callers as are served best. */
async function findCapacity(callers: readonly Caller[]): Promise<number> {
  const end_ms = performance.now() + CAPACITY_SECONDS * 1000;
  let done = 0;
  await Promise.all(
    callers.slice(0, CAPACITY_CALLERS).map(async ({ send }) => {
      while (performance.now() < end_ms) {
        expect((await send()).status).toBe(200);
        done += 1;
      }
    }),
  );
  return done / CAPACITY_SECONDS;
}

/** All send at that rate together, each as soon as it is due and its last answer has come. */
async function overload(callers: readonly Caller[], per_second: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const every_ms = (callers.length / per_second) * 1000;
  const begun_ms = performance.now();
  const end_ms = begun_ms + SECONDS * 1000;
  await Promise.all(
    callers.map(async ({ send }, index) => {
      let due_ms = begun_ms + (every_ms * index) / callers.length;
      while (due_ms < end_ms) {
        await sleep(Math.max(0, due_ms - performance.now()));
        outcomes.push(await send());
        due_ms = Math.max(due_ms + every_ms, performance.now());
      }
    }),
  );
  return outcomes;
}

/** How long it takes until a request is answered as promptly as before. */
async function untilPrompt({ send }: Caller): Promise<number> {
  const begun_ms = performance.now();
  await waitFor(async () => {
    const { status, latency_ms } = await send();
    return status === 200 && latency_ms < PROMPT_MS;
  }, 60_000);
  return Math.round(performance.now() - begun_ms);
}

async function peakMemory(): Promise<number> {
  const status = await readFile(`/proc/${service.child.pid}/status`, "utf8");
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) / 1024);
}

function at(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
}
