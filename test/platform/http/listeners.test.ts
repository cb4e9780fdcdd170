import { once } from "node:events";
import { Agent, get } from "node:http";
import { connect, createServer } from "node:net";
import { text } from "node:stream/consumers";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, expect, it } from "vitest";
import { listenOnPort } from "../../../src/platform/http/listeners.ts";

const HOST = "127.0.0.1";

const opened: FastifyInstance[] = [];
afterEach(() => Promise.all(opened.splice(0).map((app) => app.close())));

function open(answer: () => Promise<string> = async () => "answered"): FastifyInstance {
  const app = Fastify({ forceCloseConnections: "idle" });
  app.get("/", answer);
  opened.push(app);
  return app;
}

async function findFreePort(): Promise<number> {
  const app = open();
  const port = await listenOnPort(app, { host: HOST, port: 0 });
  await app.close();
  return port;
}

it("of many new connections several are accepted in a turn of the event loop", async () => {
  const CONNECTIONS = 64;
  const app = open();
  const port = await listenOnPort(app, { host: HOST, port: 0 });
  const turns = new Set<number>();
  let [turn, accepted] = [0, 0];
  const count = () => {
    turn += 1;
    if (accepted < CONNECTIONS) setImmediate(count);
  };
  app.server.on("connection", () => {
    turns.add(turn);
    accepted += 1;
  });
  const clients = Array.from({ length: CONNECTIONS }, () => connect(port, HOST));
  count();
  await expect.poll(() => accepted).toBe(CONNECTIONS);
  for (const client of clients) client.destroy();
  expect(turns.size).toBeLessThan(CONNECTIONS / 2);
});

it("requests under way on each of its sockets are answered before it is closed", async () => {
  const REQUESTS = 40;
  let go = () => {};
  let waiting = 0;
  const app = open(async () => {
    waiting += 1;
    await new Promise<void>((resolve) => {
      const before = go;
      go = () => {
        before();
        resolve();
      };
    });
    return "answered";
  });
  const port = await listenOnPort(app, { host: HOST, port: 0 });
  const agent = new Agent({ keepAlive: true });
  const answers = Array.from({ length: REQUESTS }, async () => {
    const [answer] = await once(get({ host: HOST, port, agent }), "response");
    return text(answer);
  });
  await expect.poll(() => waiting).toBe(REQUESTS);
  let is_closed = false;
  const closed = app.close().then(() => {
    is_closed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(is_closed).toBe(false);
  go();
  expect(await Promise.all(answers)).toEqual(Array(REQUESTS).fill("answered"));
  agent.destroy();
  await closed;
  const [error] = await once(connect(port, HOST), "error");
  expect(error.code).toBe("ECONNREFUSED");
});

it("a port that another program or installation uses is refused", async () => {
  const port = await listenOnPort(open(), { host: HOST, port: 0 });
  await expect(listenOnPort(open(), { host: HOST, port })).rejects.toThrow("EADDRINUSE");
  const other = createServer().listen(0, HOST);
  await once(other, "listening");
  const { port: taken } = other.address() as { port: number };
  await expect(listenOnPort(open(), { host: HOST, port: taken })).rejects.toThrow("EADDRINUSE");
  other.close();
});

it("a program that begins while another one begins is refused", async () => {
  const [first, second] = [open(), open()];
  const listen = first.listen.bind(first);
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  first.listen = (async (options: object) => {
    begun.resolve();
    await goOn.promise;
    return listen(options);
  }) as typeof first.listen;
  const port = await findFreePort();
  const listening = listenOnPort(first, { host: HOST, port });
  await begun.promise;
  await expect(listenOnPort(second, { host: HOST, port })).rejects.toThrow("EADDRINUSE");
  goOn.resolve();
  expect(await listening).toBe(port);
});

it("the same port can be used again at once", async () => {
  const port = await findFreePort();
  expect(await listenOnPort(open(), { host: HOST, port })).toBe(port);
});
