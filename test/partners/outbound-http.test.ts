import { spawn } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import {
  createAddressPolicy,
  isLoopbackHost,
  readAllowEntry,
} from "../../src/partners/outbound-http/address-policy.ts";
import {
  createGuardedSender,
  type GuardedSender,
  type GuardedSenderOptions,
} from "../../src/partners/outbound-http/guarded-sender.ts";
import type { OutboundRequest } from "../../src/partners/outbound-http/outbound-request.ts";
import { CERT, KEY } from "./test-certificate.ts";

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe("IP addresses", () => {
  const LOOPBACK = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7F.0.0.0x1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.1./",
    "http://１２７.0.0.1/",
    "http://127。0。0。1/",
    "http://%31%32%37.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http:127.0.0.1",
    "http://127.0.0.1\t/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://ⓛocalhost/",
    "http://hooks.localhost/",
  ];
  const NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "127.0.0.1",
    "168.63.129.16",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:7f00:1::1",
    "2001:2::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ];
  const PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
  ];

  test.each([
    ...["https://foo.1../x", "http://./", "http://../", "https://1../", "http://a.0x../"],
    ...["http://127.0.0.1../", "https://foo.0x7f../"],
  ])("refuses %s, whose host is none without its last dot", async (url) => {
    const resolving = sender({ resolve: async () => ["8.8.8.8"] });
    expect(await get(resolving, url)).toMatchObject({ failure: "refused_address", status: null });
    expect(resolving.refuse(url)).not.toBeNull();
  });

  test.each(LOOPBACK)("refuses loopback spelled %j", async (url) => {
    expect(await get(sender(), url)).toMatchObject({ failure: "refused_address", status: null });
  });

  test.each(NOT_PUBLIC)("refuses %s, in the URL and as the answer of a name server", async (to) => {
    const literal = to.includes(":") ? `[${to}]` : to;
    const refusal = { failure: "refused_address" };
    expect(await get(sender(), `http://${literal}/`)).toMatchObject(refusal);
    expect(await get(sender(), `https://${literal}/`)).toMatchObject(refusal);
    const answer = await get(sender({ resolve: async () => [to] }), "http://hooks.example/");
    expect(answer).toMatchObject(refusal);
    expect(JSON.stringify(answer)).not.toContain(to);
    // One refused address among allowed ones is enough.
    const mixed = sender({ resolve: async () => ["8.8.8.8", to] });
    expect(await get(mixed, "http://hooks.example/")).toMatchObject(refusal);
  });

  test.each(PUBLIC)("allows %s", (address) => {
    const policy = createAddressPolicy({ allow_list: [], allow_loopback: false });
    expect(policy.refuse(address, address, 443)).toBe(null);
    expect(policy.refuse(address, address, 80)).toBe(null);
    expect(policy.refuse(address, address, 8080)).toMatch(/port 8080/);
  });

  test("refuses any private IPv4 address in any notation of its four parts", async () => {
    const notation = fc.constantFrom(
      (part: number) => String(part),
      (part: number) => `0x${part.toString(16)}`,
      (part: number) => `0${part.toString(8)}`,
      (part: number) => `0X000${part.toString(16).toUpperCase()}`,
    );
    const first = fc.constantFrom([10], [127], [192, 168], [169, 254], [172, 20], [0]);
    const rest = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 3, maxLength: 3 });
    const notations = fc.array(notation, { minLength: 4, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        first,
        rest,
        notations,
        fc.integer({ min: 1, max: 4 }),
        async (a, b, n, count) => {
          const bytes = [...a, ...b].slice(0, 4);
          // Fewer parts: the last one contains the remaining bytes.
          const parts = bytes.slice(0, count - 1);
          const last = bytes.slice(count - 1).reduce((sum, byte) => sum * 256 + byte, 0);
          const host = [...parts, last].map((part, index) => n[index]!(part)).join(".");
          const answer = await get(sender(), `http://${host}/`);
          expect(answer).toMatchObject({ failure: "refused_address" });
        },
      ),
      { numRuns: 300 },
    );
  });

  test("refuses zone ids, other schemes, credentials and invalid URLs", async () => {
    const urls = [
      "http://[fe80::1%25eth0]/",
      "http://[fe80::1%eth0]/",
      "ftp://8.8.8.8/",
      "file:///etc/passwd",
      "gopher://8.8.8.8/",
      "data:text/plain,x",
      "https://user@8.8.8.8/",
      "https://:secret@8.8.8.8/",
      "https://8.8.8.8@127.0.0.1/",
      "//8.8.8.8/",
      "hooks.example",
      "http://",
      "",
    ];
    for (const url of urls) {
      expect(await get(sender(), url), url).toMatchObject({ failure: "refused_address" });
    }
    const zoned = sender({ resolve: async () => ["fe80::1%lo"] });
    expect(await get(zoned, "http://hooks.example/")).toMatchObject({ failure: "refused_address" });
  });

  test("allows ports 80 and 443 and those that are listed", async () => {
    const refusal = { failure: "refused_address" };
    const urls = ["http://8.8.8.8:8080/", "https://8.8.8.8:22/", "http://8.8.8.8:0/"];
    for (const url of urls) {
      expect(await get(sender(), url), url).toMatchObject(refusal);
    }
    const listed = sender({ allow_list: ["*:8080"] });
    expect(await get(listed, "http://8.8.8.8:8081/")).toMatchObject(refusal);
    const policy = createAddressPolicy({ allow_list: ["*:8080"], allow_loopback: false });
    // By the policy alone: a test sends nothing beyond this machine.
    expect(policy.refuse("8.8.8.8", "8.8.8.8", 8080)).toBeNull();
    const told = "has port 8081; only 80, 443 and 8080 are served";
    expect(policy.refuse("8.8.8.8", "8.8.8.8", 8081)).toBe(told);
    expect(policy.refuseName("hooks.example", 8081)).toBe(told);
    expect(await get(listed, "http://10.0.0.1:8080/")).toMatchObject(refusal);
    for (const port of [80, 443]) expect(policy.refuse("8.8.8.8", "8.8.8.8", port)).toBeNull();
  });

  test("allows loopback on any port if configured, by IP address and by name", async () => {
    const { port } = await serve((_request, response) => response.end("here"));
    const resolve = async () => ["127.0.0.1"];
    for (const host of ["127.0.0.1", "localhost", "2130706433"]) {
      const url = `http://${host}:${port}/`;
      expect(await get(sender({ allow_loopback: true }), url)).toMatchObject({ status: 200 });
      expect(await get(sender(), url)).toMatchObject({ failure: "refused_address" });
    }
    const url = `http://hooks.example:${port}/`;
    expect(await get(sender({ allow_loopback: true, resolve }), url)).toMatchObject({
      status: 200,
    });
    const inside = sender({ allow_loopback: true });
    expect(await get(inside, "http://10.0.0.1/")).toMatchObject({ failure: "refused_address" });
  });

  test("an allow list permits exactly its entries", async () => {
    const { port } = await serve((_request, response) => response.end("here"));
    const resolve = async () => ["127.0.0.1"];
    const ok = { status: 200 };
    const refusal = { failure: "refused_address" };
    const by_host = sender({ allow_list: [`Hooks.Internal:${port}`], resolve });
    expect(await get(by_host, `http://hooks.internal:${port}/`)).toMatchObject(ok);
    expect(await get(by_host, `http://HOOKS.INTERNAL.:${port}/`)).toMatchObject(ok);
    expect(await get(by_host, "http://hooks.internal/")).toMatchObject(refusal);
    expect(await get(by_host, `http://other.internal:${port}/`)).toMatchObject(refusal);
    expect(await get(by_host, `http://127.0.0.1:${port}/`)).toMatchObject(refusal);
    const by_network = sender({ allow_list: ["127.0.0.0/30"], resolve });
    expect(await get(by_network, `http://127.0.0.1:${port}/`)).toMatchObject(ok);
    expect(await get(by_network, `http://hooks.example:${port}/`)).toMatchObject(ok);
    expect(await get(by_network, `http://127.0.0.4:${port}/`)).toMatchObject(refusal);
  });

  test("reads the entries of an allow list, or names the invalid one", () => {
    expect(readAllowEntry("Bücher.example.")).toMatchObject({
      kind: "host",
      hostname: "xn--bcher-kva.example",
      port: null,
    });
    expect(readAllowEntry("hooks.internal:8080")).toMatchObject({ kind: "host", port: 8080 });
    expect(readAllowEntry("10.0.0.0/8")).toMatchObject({ kind: "network", port: null });
    expect(readAllowEntry("10.1.2.3:9000")).toMatchObject({ kind: "network", port: 9000 });
    expect(readAllowEntry("fd00::/8")).toMatchObject({ kind: "network", port: null });
    expect(readAllowEntry("[fd00::/8]:8443")).toMatchObject({ kind: "network", port: 8443 });
    expect(readAllowEntry("[::1]")).toMatchObject({ kind: "network", port: null });
    expect(readAllowEntry("*:8443")).toEqual({ kind: "port", port: 8443 });
    const wrong = [
      "",
      "*",
      "10.0.0.0/33",
      "10.0.0.0/x",
      "a b",
      "x:0",
      "x:70000",
      "http://x",
      "0x7f.1",
    ];
    for (const text of [...wrong, "*.example", "10.0.0.0/8/8", "user@host", "fe80::1%eth0"]) {
      expect(() => readAllowEntry(text), text).toThrow(/not a host, address, network/);
    }
  });

  test("recognizes a service that only this machine can reach", () => {
    for (const host of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
      expect(isLoopbackHost(host)).toBe(true);
    }
    for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com"]) {
      expect(isLoopbackHost(host)).toBe(false);
    }
  });
});

describe("connections", () => {
  test("a name server that changes its answer gets the checked IP address or none", async () => {
    let victim_hits = 0;
    const { port } = await serve((_request, response) => {
      response.setHeader("connection", "close").end("allowed");
    }, "127.0.0.2");
    await serve(
      (_request, response) => {
        victim_hits += 1;
        response.end("secret");
      },
      "127.0.0.1",
      port,
    );
    let asked = 0;
    const resolve = async () => [asked++ === 0 ? "127.0.0.2" : "127.0.0.1"];
    const guarded = sender({ allow_list: ["127.0.0.2"], resolve });
    const url = `http://rebinding.example:${port}/`;
    expect(bodyOf(await get(guarded, url))).toBe("allowed");
    expect(asked).toBe(1);
    expect(await get(guarded, url)).toMatchObject({ failure: "refused_address" });
    expect(victim_hits).toBe(0);
  });

  test("a kept connection is used for its own host only", async () => {
    const sockets = new Set<Socket>();
    const { port } = await serve((request, response) => {
      sockets.add(request.socket);
      response.end("here");
    });
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return ["127.0.0.1"];
    };
    const guarded = sender({ allow_list: ["hooks.internal"], resolve });
    const url = `http://hooks.internal:${port}/`;
    for (let count = 0; count < 3; count += 1) {
      expect(await get(guarded, url)).toMatchObject({ status: 200 });
    }
    expect({ sockets: sockets.size, asked }).toEqual({ sockets: 1, asked: 1 });
    for (const host of ["other.example", "127.0.0.1", "localhost"]) {
      const answer = await get(guarded, `http://${host}:${port}/`);
      expect(answer).toMatchObject({ failure: "refused_address" });
    }
  });

  test("a kept connection that the server closed is replaced without a failure", async () => {
    const bodies: string[] = [];
    const first_socket = new WeakSet<Socket>();
    const { url } = await serve(async (request, response) => {
      if (first_socket.has(request.socket)) return request.socket.destroy();
      first_socket.add(request.socket);
      bodies.push(Buffer.concat(await request.toArray()).toString());
      response.end();
    });
    const guarded = sender({ allow_loopback: true });
    for (const body of ["one", "two"]) {
      const answer = await get(guarded, url, { method: "POST", body });
      expect(answer).toMatchObject({ status: 200 });
    }
    expect(bodies).toEqual(["one", "two"]);
  });

  test("a request whose answer began is not sent again, even on a kept connection", async () => {
    let requests = 0;
    const { url } = await listen((socket) => {
      socket.on("data", () => {
        requests += 1;
        if (requests === 1) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        else socket.end("HTTP/1.1 200 OK\r\nx-half:");
      });
    });
    const guarded = sender({ allow_loopback: true });
    expect(await get(guarded, url)).toMatchObject({ status: 200 });
    expect(await get(guarded, url)).toMatchObject({ failure: "protocol" });
    expect(requests).toBe(2);
  });

  test.each([
    ["the answer was its last", "connection: close\r\ncontent-length: 2\r\n\r\nok", ""],
    [
      "it will be closed within the second",
      "keep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok",
      "",
    ],
    ["more came than was asked for", "content-length: 2\r\n\r\nok and more", ""],
    ["something comes unasked", "content-length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\n"],
  ])("a connection is not reused when %s", async (_name, rest, later) => {
    let connections = 0;
    const { url } = await listen((socket) => {
      connections += 1;
      socket.on("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\n${rest}`);
        if (later !== "") setTimeout(() => socket.write(later), 20);
      });
    });
    const guarded = sender({ allow_loopback: true });
    for (let count = 0; count < 3; count += 1) {
      expect(bodyOf(await get(guarded, url))).toMatch(/^ok/);
      await sleep(60);
    }
    expect(connections).toBe(3);
  });

  test("a connection is not reused while its request is still being written", async () => {
    let connections = 0;
    const { url } = await listen((socket) => {
      connections += 1;
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno");
      });
    });
    const guarded = sender({ allow_loopback: true });
    const body = Buffer.alloc(20_000_000);
    for (let count = 0; count < 2; count += 1) {
      expect(await get(guarded, url, { method: "POST", body })).toMatchObject({ status: 413 });
    }
    expect(connections).toBe(2);
  });

  test("closing the sender ends requests in progress, with an answer", async () => {
    const silent = await listen(() => {});
    const guarded = sender({ allow_loopback: true });
    const answers = [silent.url, silent.url].map((url) => get(guarded, url));
    await sleep(50);
    guarded.close();
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ failure: "connect", message: "The sender was closed." });
    }
  });

  test("a connection is reused even if its answer was read slowly", async () => {
    let connections = 0;
    const { server, url } = await serve((_request, response) => {
      response.end(Buffer.alloc(600_000, "a"));
    });
    server.on("connection", () => {
      connections += 1;
    });
    const guarded = sender({ allow_loopback: true });
    for (let count = 0; count < 3; count += 1) {
      let taken = 0;
      const on_body: OutboundRequest["on_body"] = async (body) => {
        for await (const chunk of body) {
          taken += chunk.length;
          await sleep(1);
        }
      };
      expect(await get(guarded, url, { on_body })).toMatchObject({ status: 200 });
      expect(taken).toBe(600_000);
    }
    expect(connections).toBe(1);
  });

  test("distinguishes a name that cannot be resolved from a closed port", async () => {
    const missing = Object.assign(new Error("no"), { code: "ENOTFOUND" });
    const unknown = sender({ resolve: () => Promise.reject(missing) });
    expect(await get(unknown, "http://hooks.example/")).toMatchObject({ failure: "dns" });
    const empty = sender({ resolve: async () => [] });
    expect(await get(empty, "http://hooks.example/")).toMatchObject({ failure: "dns" });
    const { url, server } = await serve(() => {});
    server.close();
    const here = sender({ allow_loopback: true });
    expect(await get(here, url)).toMatchObject({ failure: "connect" });
  });

  test("times out on a name server and on a handshake that never end", async () => {
    const silent = sender({ resolve: () => new Promise(() => {}), connect_timeout_ms: 50 });
    expect(await get(silent, "http://hooks.example/")).toMatchObject({ failure: "timeout" });
    const { port } = await listen(() => {});
    const here = sender({ allow_loopback: true, connect_timeout_ms: 50 });
    expect(await get(here, `https://127.0.0.1:${port}/`)).toMatchObject({ failure: "timeout" });
  });

  test("refuses an untrusted certificate and invalid TLS", async () => {
    const secure = https.createServer({ key: KEY, cert: CERT }, (_request, response) =>
      response.end(),
    );
    const secure_port = await start(secure);
    const plain = await serve((_request, response) => response.end());
    const resolve = async () => ["127.0.0.1"];
    const here = sender({ allow_loopback: true, resolve });
    for (const port of [secure_port, plain.port]) {
      const answer = await get(here, `https://hooks.example:${port}/`);
      expect(answer).toMatchObject({ failure: "tls" });
    }
  });

  test("ignores proxy environment variables", async () => {
    const target = await serve((_request, response) => response.end("direct"));
    const proxy = await serve((_request, response) => response.end("proxied"));
    const module = new URL("../../src/partners/outbound-http/guarded-sender.ts", import.meta.url);
    const program = `
      const { createGuardedSender } = await import(${JSON.stringify(module.href)});
      const sender = createGuardedSender({ allow_list: [], allow_loopback: true });
      const answer = await sender.send({ account_id: "one", method: "GET", url: "${target.url}", headers: {}, max_answer_bytes: 99 });
      sender.close();
      console.log(String(answer.body));`;
    const env = {
      ...process.env,
      NODE_USE_ENV_PROXY: "1",
      HTTP_PROXY: proxy.url,
      http_proxy: proxy.url,
    };
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { env });
    const [said] = await Promise.all([child.stdout.toArray(), once(child, "exit")]);
    expect(Buffer.concat(said).toString().trim()).toBe("direct");
  });
});

describe("answers", () => {
  test("sends method, headers and body unchanged and returns the whole answer", async () => {
    const { url } = await serve(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      response.setHeader("x-seen", `${request.method} ${request.url} ${body}`);
      response.setHeader("set-cookie", ["a=1", "b=2"]);
      response.statusCode = 410;
      response.end(
        `${request.headers["x-webhook-signature"]} ${request.headers["accept-encoding"]}`,
      );
    });
    const answer = await get(sender({ allow_loopback: true }), `${url}/path?a=1#part`, {
      method: "POST",
      headers: { "x-webhook-signature": "abc" },
      body: Buffer.from("{}"),
    });
    expect(answer).toMatchObject({
      status: 410,
      headers: { "x-seen": "POST /path?a=1 {}", "set-cookie": "a=1, b=2" },
      truncated: false,
    });
    expect(bodyOf(answer)).toBe("abc identity");
  });

  test("of accounts whose hosts stall brotli answers, five leave a decoder to the next", async () => {
    const stalled: http.ServerResponse[] = [];
    const { url } = await serve((request, response) => {
      response.setHeader("content-encoding", "br");
      const bytes = brotliCompressSync(Buffer.from("hello"));
      if (request.url !== "/stall") response.end(bytes);
      else response.write(bytes.subarray(0, 1), () => void stalled.push(response));
    });
    const here = sender({ allow_loopback: true });
    const stall = (account_id: string) =>
      Array.from({ length: 4 }, () => get(here, `${url}/stall`, { account_id }));
    const held: Promise<unknown>[] = [];
    for (const account_id of ["one", "two", "three", "four", "five"]) {
      held.push(...stall(account_id));
      while (bodyOf(await get(here, url, { account_id })) === "hello") await sleep(10);
      expect(bodyOf(await get(here, url, { account_id: "other" }))).toBe("hello");
    }
    held.push(...stall("other"));
    while (bodyOf(await get(here, url, { account_id: "other" })) === "hello") await sleep(10);
    let file = "";
    const on_body = async (body: AsyncIterable<Buffer>) => {
      for await (const chunk of body) file += chunk.toString();
    };
    const waiting = get(here, url, { on_body });
    await get(here, url);
    expect(file).toBe("");
    for (const response of stalled) response.destroy();
    expect(await waiting).toMatchObject({ status: 200 });
    expect(file).toBe("hello");
    await Promise.all(held);
    expect(bodyOf(await get(here, url))).toBe("hello");
  });

  test("an answer of single bytes is read in part; a file of single bytes is refused", async () => {
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    const { url } = await listen((socket) => {
      socket.once("data", () => socket.write(`${head}${"1\r\na\r\n".repeat(5_000)}0\r\n\r\n`));
    });
    const here = sender({ allow_loopback: true });
    const start = await get(here, url);
    expect(start).toMatchObject({ status: 200, truncated: true });
    expect(bodyOf(start)).toBe("a".repeat(1_001));
    const on_body = async (body: AsyncIterable<Buffer>) => {
      for await (const _ of body);
    };
    expect(await get(here, url, { on_body })).toMatchObject({ failure: "protocol", status: 200 });
  });

  test("headers after those that are too large cost nothing", async () => {
    const here = sender({ allow_loopback: true });
    const costOf = async (headers: number) => {
      const large = `x: ${"a".repeat(16_390)}\r\n`;
      const { url } = await listen((socket) => {
        socket.once("data", () =>
          socket.write(`HTTP/1.1 200 OK\r\n${large}${"t:\r\n".repeat(headers)}\r\n`),
        );
      });
      const costs: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const before = process.cpuUsage();
        const answers = await Promise.all([get(here, url), get(here, url), get(here, url)]);
        costs.push(process.cpuUsage(before).user);
        expect(answers).toMatchObject(Array(3).fill({ failure: "protocol" }));
      }
      return Math.min(...costs);
    };
    const few = await costOf(1_000);
    expect(await costOf(11_500)).toBeLessThan(4 * few);
  });

  test.each([301, 302, 303, 307, 308])("never follows a %d", async (status) => {
    let hits = 0;
    const { url } = await serve((_request, response) => {
      hits += 1;
      response.writeHead(status, { location: "/elsewhere" }).end("moved");
    });
    const answer = await get(sender({ allow_loopback: true }), url);
    expect(answer).toMatchObject({ failure: "redirect", status, body: Buffer.from("moved") });
    expect(hits).toBe(1);
  });

  test("accepts an unrequested 100 Continue in any form", async () => {
    const continued = "HTTP/1.1 100 Continue\r\nx: y\r\n\r\n";
    const final = "HTTP/1.1 200 OK\r\ncontent-length: 21\r\n\r\nHTTP/1.1 100 Continue";
    const written = [
      [`${continued}${final}`],
      [continued, final],
      [`${continued}${continued}`, `HTTP/1.1 103 Hints\r\n\r\n${final}`],
      [...`${continued}${final}`],
      [`HTTP/1.1 103 Hints\r\nlink: x\r\n\r\n${continued}${final}`],
      ["HTTP/1.1 200 OK\r\nx: ", `${continued.slice(0, 21)}\r\n${final.slice(17)}`],
      [final.slice(0, 41), final.slice(41)],
    ];
    for (const parts of written) {
      const { url } = await listen((socket) => {
        socket.on("data", async () => {
          for (const part of parts) {
            socket.write(part);
            await setImmediate();
          }
        });
      });
      const here = sender({ allow_loopback: true });
      const send = () => get(here, url, { method: "POST", body: "{}" });
      expect(bodyOf(await send()), JSON.stringify(parts)).toBe("HTTP/1.1 100 Continue");
      expect(bodyOf(await send()), "on the kept connection").toBe("HTTP/1.1 100 Continue");
    }
    const endless = await listen((socket) => drip(socket, continued, continued));
    const hasty = sender({ allow_loopback: true, whole_timeout_ms: 150 });
    expect(await get(hasty, endless.url)).toMatchObject({ failure: "timeout", status: null });
  });

  test.each([
    ["one that has no end", "HTTP/1.1 100 Continue\r\nx: ", "a".repeat(64 * 1024)],
    ["one after the other", "", "HTTP/1.1 100 Continue\r\n\r\n".repeat(2_500)],
    ["hints without end", "", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(1_500)],
  ])("limits what precedes the answer: %s", async (_name, first, then) => {
    const { url } = await listen((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        socket.write(first);
        const flood = () => {
          while (socket.writable && socket.write(then));
        };
        socket.on("drain", flood);
        flood();
      });
    });
    const here = sender({ allow_loopback: true, whole_timeout_ms: 3_000 });
    expect(await get(here, url)).toMatchObject({ failure: "protocol", status: null });
  });

  test("returns the received part of an interrupted, slow or corrupt answer", async () => {
    const here = sender({ allow_loopback: true, whole_timeout_ms: 1_500 });
    const packed = gzipSync(Buffer.from("hello ".repeat(100)));
    const gzip = "HTTP/1.1 500 X\r\ncontent-encoding: gzip\r\ncontent-length: 1000\r\n\r\n";
    const answers = [
      ["HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", "half"],
      ["HTTP/1.1 302 X\r\ncontent-length: 100\r\n\r\nhalf", "half"],
      [Buffer.concat([Buffer.from(gzip), packed.subarray(0, -4)]), "hello ".repeat(100)],
      [`${gzip}not gzip`, "not gzip"],
    ] as const;
    for (const [said, came] of answers) {
      const ways = [true, false].map(async (is_closed) => {
        const { url } = await listen((socket) => {
          socket.write(said);
          if (is_closed) setTimeout(() => socket.end(), 300);
        });
        const answer = await get(here, url);
        expect(answer, came).toMatchObject({ failure: expect.any(String) });
        expect(answer.body!.toString()).toBe(came);
      });
      await Promise.all(ways);
    }
    const silent = await listen(() => {});
    expect(await get(here, silent.url)).toMatchObject({ failure: "timeout", body: null });
    const long = await listen((socket) => {
      socket.write(`HTTP/1.1 307 X\r\ncontent-length: 9000\r\n\r\n${"x".repeat(9000)}`);
    });
    const cut = await get(here, long.url, { max_answer_bytes: 1000 });
    expect(cut).toMatchObject({ failure: "redirect", body: Buffer.alloc(1000, "x") });
  });

  test("truncates an endless body at the limit, or fails if all of it is required", async () => {
    const { url } = await serve((_request, response) => pour(response));
    const here = sender({ allow_loopback: true });
    const answer = await get(here, url, { max_answer_bytes: 16 * 1024 });
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(bodyOf(answer).length).toBe(16 * 1024);
    let taken = 0;
    const streamed = await get(here, url, {
      max_answer_bytes: 100_000,
      on_body: async (body) => {
        for await (const chunk of body) taken += chunk.length;
      },
    });
    expect(streamed).toMatchObject({ failure: "too_large", status: 200 });
    expect(taken).toBeLessThanOrEqual(100_000);
  });

  test("a body of exactly the limit is complete; one announced as larger is not read", async () => {
    const { url } = await serve((request, response) => {
      const size = request.url === "/large" ? 5_000_000 : 1000;
      response.writeHead(200, { "content-length": size }).end(Buffer.alloc(size));
    });
    const here = sender({ allow_loopback: true });
    expect(await get(here, url, { max_answer_bytes: 1000 })).toMatchObject({ truncated: false });
    expect(await get(here, url, { max_answer_bytes: 999 })).toMatchObject({ truncated: true });
    let is_begun = false;
    const on_body = async () => {
      is_begun = true;
    };
    const large = await get(here, `${url}/large`, { max_answer_bytes: 1000, on_body });
    expect(large).toMatchObject({ failure: "too_large" });
    expect(is_begun).toBe(false);
  });

  test.each([
    ["gzip", gzipSync],
    ["x-gzip", gzipSync],
    ["deflate", deflateSync],
    ["br", brotliCompressSync],
    ["zstd", zstdCompressSync],
  ] as const)("expands %s, within the cap", async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(4_000_000));
    const { url } = await serve((request, response) => {
      response.setHeader("content-encoding", encoding);
      if (request.url === "/bomb") response.end(bomb);
      else if (request.url === "/broken") response.end("this is not compressed at all");
      else if (request.url === "/empty") response.end();
      else response.end(compress(Buffer.from("hello")));
    });
    const here = sender({ allow_loopback: true });
    expect(bodyOf(await get(here, url))).toBe("hello");
    expect(bodyOf(await get(here, `${url}/empty`))).toBe("");
    expect(await get(here, `${url}/broken`)).toMatchObject({ failure: "protocol", status: 200 });
    const cut = await get(here, `${url}/bomb`, { max_answer_bytes: 1000 });
    expect(cut).toMatchObject({ truncated: true, status: 200 });
    let taken = 0;
    const streamed = await get(here, `${url}/bomb`, {
      max_answer_bytes: 1_000_000,
      on_body: async (body) => {
        for await (const chunk of body) taken += chunk.length;
      },
    });
    expect(streamed).toMatchObject({ failure: "too_large" });
    expect(taken).toBeLessThanOrEqual(1_000_000);
  });

  test("an unknown encoding is passed through", async () => {
    const { url } = await serve((_request, response) => {
      response.writeHead(200, { "content-encoding": "utf-8" }).end("hello");
    });
    expect(bodyOf(await get(sender({ allow_loopback: true }), url))).toBe("hello");
  });

  test("slow headers and bodies end with the timeout, and endless ones are refused", async () => {
    const here = sender({ allow_loopback: true, whole_timeout_ms: 150 });
    const slow_head = await listen((socket) => drip(socket, "HTTP/1.1 200 OK\r\n", "x: y\r\n"));
    expect(await get(here, slow_head.url)).toMatchObject({ failure: "timeout", status: null });
    const slow_body = await listen((socket) => drip(socket, "HTTP/1.1 200 OK\r\n\r\n", "x"));
    expect(await get(here, slow_body.url)).toMatchObject({ failure: "timeout", status: 200 });
    const streamed = await get(here, slow_body.url, {
      on_body: async (body) => {
        for await (const _ of body);
      },
    });
    expect(streamed).toMatchObject({ failure: "timeout", status: 200 });
    const silent = await listen(() => {});
    expect(await get(here, silent.url)).toMatchObject({ failure: "timeout" });
    const endless = await listen((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${"x: yyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(5000)}`);
    });
    expect(await get(here, endless.url)).toMatchObject({ failure: "protocol" });
  });

  test("reports a server that sends no HTTP, disconnects or switches the protocol", async () => {
    const here = sender({ allow_loopback: true });
    const said = [
      "SSH-2.0-OpenSSH_9.9\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
      "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd",
      "HTTP/1.1 200 OK\ncontent-length: 3\n\nabc",
      "HTTP/1.1 200 OK\r\n folded: x\r\ncontent-length: 3\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
      "",
    ];
    for (const text of said) {
      const { url } = await listen((socket) => socket.end(text));
      expect(await get(here, url), text).toMatchObject({ failure: "protocol" });
    }
    const { url } = await listen(() => {});
    for (const [name, value] of [
      ["x-bad", "a\r\nb"],
      ["x bad", "a"],
      ["Content-Length", "1"],
    ] as const) {
      const answer = await get(here, url, { headers: { [name]: value } });
      expect(answer, name).toMatchObject({ failure: "protocol" });
    }
  });

  test("passes the body of a 2xx to a consumer, and rethrows the consumer's error", async () => {
    const { url } = await serve((request, response) => {
      response.statusCode = request.url === "/missing" ? 404 : 200;
      response.end(Buffer.alloc(300_000, "a"));
    });
    const here = sender({ allow_loopback: true });
    let taken = 0;
    const on_body: OutboundRequest["on_body"] = async (body, head) => {
      expect(head.status).toBe(200);
      for await (const chunk of body) taken += chunk.length;
    };
    const whole = await get(here, url, { on_body, max_answer_bytes: 300_000 });
    expect(whole).toMatchObject({ status: 200, truncated: false });
    expect(taken).toBe(300_000);
    const missing = await get(here, `${url}/missing`, { on_body, max_answer_bytes: 100 });
    expect(missing).toMatchObject({ status: 404, truncated: true });
    const failing = async () => {
      throw new Error("disk full");
    };
    await expect(get(here, url, { on_body: failing })).rejects.toThrow("disk full");
    // Also in the middle of the body, whether it is read or piped.
    const reading: OutboundRequest["on_body"] = async (body) => {
      for await (const _ of body) throw new Error("disk full");
    };
    const piping: OutboundRequest["on_body"] = (body) =>
      pipeline(body, async (content: AsyncIterable<Buffer>) => {
        for await (const _ of content) throw new Error("disk full");
      });
    for (const on_body of [reading, piping]) {
      await expect(get(here, url, { on_body, max_answer_bytes: 300_000 })).rejects.toThrow(
        "disk full",
      );
    }
    // A consumer that starts reading after the connection broke gets the error then.
    const broken = await listen((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    const late: OutboundRequest["on_body"] = async (body) => {
      await sleep(60);
      for await (const _ of body);
    };
    expect(await get(here, broken.url, { on_body: late })).toMatchObject({ failure: "protocol" });
    // A consumer may also stop reading early.
    expect(await get(here, url, { on_body: async () => {} })).toMatchObject({ status: 200 });
  });
});

function sender(options: Partial<GuardedSenderOptions> = {}): GuardedSender {
  const guarded = createGuardedSender({ allow_list: [], allow_loopback: false, ...options });
  closing.push(() => guarded.close());
  return guarded;
}

function get(guarded: GuardedSender, url: string, request: Partial<OutboundRequest> = {}) {
  return guarded.send({
    account_id: "one",
    method: "GET",
    url,
    headers: {},
    max_answer_bytes: 1_000_000,
    ...request,
  });
}

function bodyOf(answer: Awaited<ReturnType<GuardedSender["send"]>>): string {
  if ("failure" in answer) throw new Error(`${answer.failure}: ${answer.message}`);
  return answer.body.toString();
}

async function serve(handle: http.RequestListener, host = "127.0.0.1", port = 0) {
  const server = http.createServer(handle);
  const actual_port = await start(server, host, port);
  return { server, port: actual_port, url: `http://${host}:${actual_port}` };
}

/** A server with an arbitrary protocol. */
async function listen(handle: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    handle(socket);
  });
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  const port = await start(server);
  return { port, url: `http://127.0.0.1:${port}/` };
}

async function start(server: net.Server, host = "127.0.0.1", port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  closing.push(() => {
    if ("closeAllConnections" in server) (server as http.Server).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function pour(response: http.ServerResponse): void {
  response.on("error", () => {});
  const write = () => {
    while (!response.destroyed && response.write(Buffer.alloc(16_384)));
  };
  response.on("drain", write);
  write();
}

function drip(socket: Socket, start_text: string, text: string): void {
  socket.write(start_text);
  const timer = setInterval(() => socket.write(text), 10);
  socket.on("close", () => clearInterval(timer));
}
