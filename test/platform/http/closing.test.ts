import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { addClosing } from "../../../src/platform/http/closing.ts";

const SLOW_MAX_MS = 1_000;

let app: FastifyInstance;
let timers: NodeJS.Timeout[];
let begun: number;
beforeEach(async () => {
  [timers, begun] = [[], 0];
  app = Fastify({ forceCloseConnections: "idle" });
  addClosing(app, SLOW_MAX_MS);
  app.addHook("onRequest", async () => {
    begun += 1;
  });
  app.post("/", async () => "yes");
  app.get("/work", async () => {
    await sleep(3 * SLOW_MAX_MS);
    return "worked";
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => {
  for (const timer of timers) clearInterval(timer);
});

function send(text: string): Socket {
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  client.write(text);
  return client;
}

async function closeMs(): Promise<number> {
  const begun_ms = performance.now();
  await app.close();
  return performance.now() - begun_ms;
}

it.each([
  ["a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n"],
  ["headers", "POST / HTTP/1.1\r\nHost: x\r\nX-Slow: "],
])("a caller that sends %s byte by byte does not delay the stop", async (_name, text) => {
  const accepted = once(app.server, "connection");
  const client = send(text);
  timers.push(setInterval(() => client.write("a"), 50));
  await accepted;
  await sleep(200);
  expect(await closeMs()).toBeLessThan(2 * SLOW_MAX_MS);
});

it("what is worked on is answered, however long it takes", async () => {
  const { port } = app.server.address() as AddressInfo;
  const answer = fetch(`http://127.0.0.1:${port}/work`);
  await expect.poll(() => begun).toBe(1);
  expect(await closeMs()).toBeGreaterThan(2 * SLOW_MAX_MS);
  expect(await (await answer).text()).toBe("worked");
});
