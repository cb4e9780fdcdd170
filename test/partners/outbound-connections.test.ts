import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openSender } from "../../src/app/open-partners.ts";
import {
  createGuardedSender,
  type GuardedSender,
  type GuardedSenderOptions,
} from "../../src/partners/outbound-http/guarded-sender.ts";
import type { OutboundRequest } from "../../src/partners/outbound-http/outbound-request.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { CERT, KEY } from "./test-certificate.ts";

const closing: (() => unknown)[] = [];
const authorities = tls.getCACertificates("default");
beforeAll(() => tls.setDefaultCACertificates([...authorities, CERT]));
afterAll(() => tls.setDefaultCACertificates(authorities));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function sender(options: Partial<GuardedSenderOptions> = {}): GuardedSender {
  const guarded = createGuardedSender({ allow_list: [], allow_loopback: true, ...options });
  closing.push(() => guarded.close());
  return guarded;
}

function send(guarded: GuardedSender, url: string, request: Partial<OutboundRequest> = {}) {
  const defaults = {
    account_id: "one",
    method: "GET",
    headers: {},
    max_answer_bytes: 1e6,
  } as const;
  return guarded.send({ ...defaults, url, ...request });
}

async function start(server: net.Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => {})));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type Requested = { authority: string; authorization: string | undefined };

/** A typical corporate proxy: it supports only CONNECT, and records the requested targets. */
async function startProxy(to_port: number, answer = 200) {
  const requested: Requested[] = [];
  const proxy = http.createServer((_request, response) => response.writeHead(405).end());
  proxy.on("connect", (request, socket: Socket) => {
    const authorization = request.headers["proxy-authorization"];
    requested.push({ authority: request.url!, authorization });
    if (answer !== 200) return socket.end(`HTTP/1.1 ${answer} No\r\n\r\n`);
    const onward = net.connect(to_port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      onward.pipe(socket).pipe(onward);
    });
    onward.on("error", () => socket.destroy());
  });
  return { port: await start(proxy), requested };
}

test("the proxy is asked for the checked IP address, with HTTP and with HTTPS", async () => {
  const plain = http.createServer((request, response) => response.end(request.headers.host));
  const secure = https.createServer({ key: KEY, cert: CERT }, (request, response) =>
    response.end(`secure ${request.headers.host}`),
  );
  for (const [server, url, said] of [
    [plain, "http://hooks.example/x", "hooks.example"],
    [secure, "https://hooks.example/x", "secure hooks.example"],
  ] as const) {
    const proxy = await startProxy(await start(server));
    const guarded = sender({
      resolve: async () => ["8.8.8.8"],
      proxy_url: `http://me:pass%20word@127.0.0.1:${proxy.port}`,
    });
    for (let count = 0; count < 3; count += 1) {
      const answer = await send(guarded, url);
      expect(answer).toMatchObject({ status: 200, body: Buffer.from(said) });
    }
    const authorization = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
    const authority = url.startsWith("https") ? "8.8.8.8:443" : "8.8.8.8:80";
    expect(proxy.requested).toEqual([{ authority, authorization }]);
  }
});

test("a proxy is not used for an IP address that the policy refuses", async () => {
  const proxy = await startProxy(1);
  const proxy_url = `http://127.0.0.1:${proxy.port}`;
  const inside = sender({ allow_loopback: false, proxy_url, resolve: async () => ["10.0.0.1"] });
  for (const url of ["http://hooks.example/", "http://169.254.169.254/", "http://127.0.0.1/"]) {
    expect(await send(inside, url)).toMatchObject({ failure: "refused_address" });
  }
  expect(proxy.requested).toEqual([]);
});

test("a name that resolves to this machine and another is refused with a proxy", async () => {
  const proxy = await startProxy(1);
  const proxy_url = `http://127.0.0.1:${proxy.port}`;
  for (const local of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
    const guarded = sender({ proxy_url, resolve: async () => [local, "8.8.8.8"] });
    expect(await send(guarded, "http://hooks.example/")).toMatchObject({
      failure: "refused_address",
      message: "hooks.example is not a public address.",
    });
  }
  expect(proxy.requested).toEqual([]);
});

test("this machine is reached without the proxy, and a proxy's refusal is reported", async () => {
  const server = http.createServer((_request, response) => response.end("here"));
  const port = await start(server);
  const proxy = await startProxy(port, 403);
  const proxy_url = `http://127.0.0.1:${proxy.port}`;
  const guarded = sender({ proxy_url, resolve: async () => ["8.8.8.8", "1.1.1.1"] });
  expect(await send(guarded, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
  expect(proxy.requested).toEqual([]);
  expect(await send(guarded, "http://hooks.example/")).toMatchObject({
    failure: "connect",
    message: "The outbound proxy answered 403.",
  });
  expect(proxy.requested.map((one) => one.authority)).toEqual(["8.8.8.8:80", "1.1.1.1:80"]);
  const dead = sender({ proxy_url: "http://127.0.0.1:1", resolve: async () => ["8.8.8.8"] });
  expect(await send(dead, "http://hooks.example/")).toMatchObject({ failure: "connect" });
  const silent = await start(net.createServer(() => {}));
  const slow = sender({
    proxy_url: `http://127.0.0.1:${silent}`,
    resolve: async () => ["8.8.8.8"],
    connect_timeout_ms: 50,
  });
  expect(await send(slow, "http://hooks.example/")).toMatchObject({ failure: "timeout" });
});

test("TLS sessions are resumed separately for each account", async () => {
  const resumed: boolean[] = [];
  const server = https.createServer({ key: KEY, cert: CERT }, (_request, response) => {
    response.setHeader("connection", "close").end("ok");
  });
  server.on("secureConnection", (socket: tls.TLSSocket) => resumed.push(socket.isSessionReused()));
  const port = await start(server);
  const guarded = sender({ resolve: async () => ["127.0.0.1"] });
  const url = `https://hooks.example:${port}/`;
  for (const account_id of ["one", "one", "two"]) {
    expect(await send(guarded, url, { account_id })).toMatchObject({ status: 200 });
  }
  expect(resumed).toEqual([false, true, false]);
});

test("a certificate of another host is refused", async () => {
  const port = await start(
    https.createServer({ key: KEY, cert: CERT }, (_q, response) => response.end()),
  );
  const guarded = sender({ resolve: async () => ["127.0.0.1"] });
  expect(await send(guarded, `https://hooks.example:${port}/`)).toMatchObject({ status: 200 });
  for (const host of ["other.example", "127.0.0.1"]) {
    expect(await send(guarded, `https://${host}:${port}/`)).toMatchObject({ failure: "tls" });
  }
});

test("accounts never share a connection to one origin", async () => {
  const used = new Map<string, Set<Socket>>();
  const server = http.createServer((request, response) => {
    const account = String(request.headers["x-account"]);
    used.set(account, (used.get(account) ?? new Set()).add(request.socket));
    response.end();
  });
  const url = `http://127.0.0.1:${await start(server)}/`;
  const guarded = sender();
  for (const account_id of ["one", "two", "one", "two"]) {
    await send(guarded, url, { account_id, headers: { "x-account": account_id } });
  }
  const [one, two] = [[...used.get("one")!], [...used.get("two")!]];
  expect({ one: one.length, two: two.length }).toEqual({ one: 1, two: 1 });
  expect(one[0]).not.toBe(two[0]);
});

test("an account uses at most a quarter of the requests in progress, and ten leave some to others", async () => {
  let open = 0;
  const server = http.createServer(() => {
    open += 1;
  });
  const url = `http://127.0.0.1:${await start(server)}/`;
  const guarded = sender({ requests_max: 200 });
  for (let count = 0; count < 50; count += 1) void send(guarded, url, { account_id: "a" });
  expect(guarded.hasCapacity("a")).toBe(false);
  expect(await send(guarded, url, { account_id: "a" })).toMatchObject({
    failure: "connect",
    message: "Too many requests are in progress.",
  });
  let sent = 50;
  for (const account_id of ["b", "c", "d", "e"]) {
    for (; guarded.hasCapacity(account_id); sent += 1) void send(guarded, url, { account_id });
  }
  expect(sent).toBeLessThan(200);
  expect(guarded.hasCapacity("f")).toBe(true);
  while (open < sent) await sleep(5);
  guarded.close();
  await setImmediate();
  await sleep(20);
  expect(guarded.hasCapacity("a")).toBe(true);
});

test("follows the allowed number of redirects, and checks each URL again", async () => {
  const hits: string[] = [];
  const server = http.createServer((request, response) => {
    hits.push(request.url!);
    const [, left, to] = request.url!.split("/");
    if (left === "0") return response.end("the file");
    const location = to ? decodeURIComponent(to) : `/${Number(left) - 1}`;
    return response.writeHead(302, { location }).end("moved");
  });
  const port = await start(server);
  const url = `http://127.0.0.1:${port}`;
  const guarded = sender();
  const taken: string[] = [];
  const on_body: OutboundRequest["on_body"] = async (body) => {
    for await (const chunk of body) taken.push(String(chunk));
  };
  expect(await send(guarded, `${url}/3`, { redirects_max: 3, on_body })).toMatchObject({
    status: 200,
  });
  expect(taken).toEqual(["the file"]);
  expect(hits).toEqual(["/3", "/2", "/1", "/0"]);
  expect(await send(guarded, `${url}/4`, { redirects_max: 3, on_body })).toMatchObject({
    failure: "redirect",
    message: "There are too many redirects.",
  });
  for (const place of [
    "http://169.254.169.254/latest",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1",
  ]) {
    const there = `${url}/1/${encodeURIComponent(place)}`;
    expect(await send(guarded, there, { redirects_max: 3 })).toMatchObject({
      failure: "refused_address",
    });
  }
  for (const place of ["file:///etc/passwd", "ftp://8.8.8.8/", "http://user:x@8.8.8.8/"]) {
    const there = `${url}/1/${encodeURIComponent(place)}`;
    expect(await send(guarded, there, { redirects_max: 3 })).toMatchObject({
      failure: "refused_address",
    });
  }
  expect(await send(guarded, `${url}/1`)).toMatchObject({ failure: "redirect", status: 302 });
});

test("redirects never lead from https to http, and all requests share the time limit", async () => {
  const secure = https.createServer({ key: KEY, cert: CERT }, (_request, response) => {
    response.writeHead(302, { location: "http://hooks.example/" }).end();
  });
  const port = await start(secure);
  const guarded = sender({ resolve: async () => ["127.0.0.1"] });
  const url = `https://hooks.example:${port}/`;
  expect(await send(guarded, url, { redirects_max: 3 })).toMatchObject({
    failure: "redirect",
    message: "The redirect target is not an https URL.",
  });
  const slow = http.createServer((_request, response) => {
    setTimeout(() => response.writeHead(302, { location: "/" }).end(), 150);
  });
  const slow_url = `http://127.0.0.1:${await start(slow)}/`;
  const begun_ms = performance.now();
  const answer = await send(guarded, slow_url, { redirects_max: 3, whole_timeout_ms: 250 });
  expect(answer).toMatchObject({ failure: "timeout" });
  expect(performance.now() - begun_ms).toBeLessThan(450);
});

test("only an origin that undici cannot read is served by Node's client from then on", async () => {
  const bodies: string[] = [];
  const port = await start(
    net.createServer((socket) => {
      socket.on("data", (data) => {
        bodies.push(data.toString().split("\r\n\r\n")[1]!);
        socket.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    }),
  );
  const guarded = sender();
  for (const body of ["one", "two", "three"]) {
    const url = `http://127.0.0.1:${port}/`;
    expect(await send(guarded, url, { method: "POST", body })).toMatchObject({ status: 200 });
  }
  // Sent twice the first time only: delivery is at least once.
  expect(bodies).toEqual(["one", "one", "two", "three"]);
});

test("an answer in single bytes is read in linear time, by undici and by Node", async () => {
  const timeOf = async (spaces: number) => {
    const text = `HTTP/1.1 200 OK\r\nx-a: a${" ".repeat(spaces)}b\r\nretry-after: ${" ".repeat(
      spaces,
    )}5\r\ncontent-length: 0\r\n\r\n`;
    const port = await start(
      net.createServer((socket) => socket.on("data", () => socket.write(text))),
    );
    const guarded = sender();
    const cpu = process.cpuUsage();
    for (let count = 0; count < 20; count += 1) {
      expect(await send(guarded, `http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
    }
    return process.cpuUsage(cpu).user / 20;
  };
  await timeOf(100);
  // 0.56 s each with a quadratic expression.
  expect(await timeOf(7_000)).toBeLessThan(20_000);
});

test("an answer whose chunks have endless extensions is given up, by undici and by Node", async () => {
  const CHUNK = `20;${"a".repeat(15_000)}\r\n${"b".repeat(32)}\r\n`;
  const begin = { undici: "20;", node: "HTTP/1.1 100 Continue\r\n\r\n" };
  for (const [client, file_bytes] of [
    ["undici", 16_384],
    ["node", 5e6],
  ] as const) {
    const server = net.createServer((socket) => {
      const part = client === "undici" ? "a".repeat(16_384) : CHUNK;
      const fill = () => {
        while (!socket.destroyed && socket.write(part));
      };
      socket.once("data", () => {
        const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write(client === "undici" ? head + begin.undici : begin.node + head);
        socket.on("drain", fill);
        fill();
      });
    });
    const written: Socket[] = [];
    server.on("connection", (socket: Socket) => written.push(socket));
    const url = `http://127.0.0.1:${await start(server)}/`;
    const answer = await send(sender(), url, {
      max_answer_bytes: file_bytes,
      whole_timeout_ms: 8_000,
      on_body: async (body) => {
        for await (const _chunk of body);
      },
    });
    expect(answer).toMatchObject({
      failure: "protocol",
      message: "The server sent too much data outside the body of its response.",
    });
    // What the kernel still buffers comes on top.
    const sent = Math.max(...written.map(({ bytesWritten }) => bytesWritten));
    expect(sent).toBeLessThan(2 * file_bytes + 16e6);
  }
});

test("the data of earlier answers on a kept connection does not count", async () => {
  const bodies = Buffer.alloc(60_000, "a");
  let connections = 0;
  const server = http.createServer((_request, response) => response.end(bodies));
  server.on("connection", () => {
    connections += 1;
  });
  const url = `http://127.0.0.1:${await start(server)}/`;
  const guarded = sender();
  for (let count = 0; count < 30; count += 1) {
    expect(await send(guarded, url, { max_answer_bytes: 60_000 })).toMatchObject({ status: 200 });
  }
  expect(connections).toBe(1);
});

test("loopback is allowed in sandbox only if the service listens on loopback", () => {
  const refusalWith = (environment: Record<string, string>, url = "http://127.0.0.1:9999/") => {
    const guarded = openSender(readConfig(environment));
    guarded.close();
    return guarded.refuse(url);
  };
  expect(refusalWith({})).toBeNull();
  expect(refusalWith({ HOST: "::1" }, "http://localhost:1/")).toBeNull();
  const reached: Record<string, string>[] = [
    { HOST: "0.0.0.0" },
    { SLIPROAD_PUBLIC_URL: "https://pay.example.com" },
    { SLIPROAD_PUBLIC_URL: "http://127.0.0.1:4000" },
    { SLIPROAD_TRUSTED_PROXIES: "127.0.0.1" },
  ];
  for (const environment of reached) {
    for (const url of ["http://127.0.0.1:9999/", "http://[::1]/", "http://localhost/"]) {
      expect(refusalWith(environment, url)).toMatch(/is not a public address/);
    }
    expect(refusalWith(environment, "https://hooks.example:8443/")).toMatch(/port 8443/);
    const listed = { ...environment, SLIPROAD_OUTBOUND_ALLOW: "127.0.0.1:9999" };
    expect(refusalWith(listed)).toBeNull();
  }
});

test("a surplus answer on a connection never answers the next request", async () => {
  const answer = (text: string) => `HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n${text}`;
  const port = await start(
    net.createServer((socket) =>
      socket.on("data", () => socket.write(answer("good") + answer("evil"))),
    ),
  );
  const guarded = sender();
  for (let count = 0; count < 50; count += 1) {
    const got = await send(guarded, `http://127.0.0.1:${port}/`, { method: "POST", body: "{}" });
    expect(got).toMatchObject({ status: 200, body: Buffer.from("good") });
  }
});

test("an answer in pieces of one byte, sent before the request is read, is accepted", async () => {
  const chunks = [..."hello"].map((letter) => `1\r\n${letter}\r\n`).join("");
  const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`;
  const port = await start(
    net.createServer((socket) => {
      socket.once("data", async () => {
        socket.pause();
        for (const byte of text) {
          socket.write(byte);
          await setImmediate();
        }
      });
    }),
  );
  const request = { method: "POST", body: Buffer.alloc(5_000_000) } as const;
  const got = await send(sender(), `http://127.0.0.1:${port}/`, request);
  expect(got).toMatchObject({ status: 200, body: Buffer.from("hello") });
});
