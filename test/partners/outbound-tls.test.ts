import { once } from "node:events";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import tls from "node:tls";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createGuardedSender } from "../../src/partners/outbound-http/guarded-sender.ts";
import { CERT, KEY, RSA_CERT, RSA_KEY } from "./test-certificate.ts";

const closing: (() => unknown)[] = [];
const authorities = tls.getCACertificates("default");
beforeAll(() => tls.setDefaultCACertificates([...authorities, CERT, RSA_CERT]));
afterAll(() => tls.setDefaultCACertificates(authorities));
afterEach(() => {
  for (const close of closing.splice(0).reverse()) close();
});

async function start(options: tls.TlsOptions): Promise<number> {
  const server = https.createServer(options, (_request, response) => response.end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** 420 bytes each. */
function chainOf(certificates: number): string {
  return Array.from({ length: certificates }, () => CERT).join("\n");
}

/** The head of a handshake record, with the largest size that there is. */
const RECORD = Buffer.from("160303ffff", "hex");
const FLOOD = "The server sent too much data outside the content of its TLS connection.";
const TOO_MANY = "Too many TLS connections failed within a minute.";
const resolve = async () => ["127.0.0.1"];

function openSender() {
  const guarded = createGuardedSender({ allow_list: [], allow_loopback: true, resolve });
  closing.push(() => guarded.close());
  return (url: string, account_id = "one") =>
    guarded.send({ account_id, url, method: "GET", headers: {}, max_answer_bytes: 1000 });
}

test("a server cannot choose the size of the key exchange", async () => {
  const key = { key: RSA_KEY, cert: RSA_CERT, maxVersion: "TLSv1.2" } as const;
  const send = openSender();
  const fixed = await start({ ...key, ciphers: "ECDHE-RSA-AES128-GCM-SHA256" });
  expect(await send(`https://hooks.example:${fixed}/`)).toMatchObject({ status: 200 });
  const chosen = { ciphers: "DHE-RSA-AES128-GCM-SHA256", dhparam: "auto" };
  const port = await start({ ...key, ...chosen });
  expect(await send(`https://hooks.example:${port}/`)).toMatchObject({ failure: "tls" });
});

test("a server cannot ask for another handshake", async () => {
  const asked = Promise.withResolvers<unknown>();
  const options = { key: KEY, cert: CERT, maxVersion: "TLSv1.2" } as const;
  const server = tls.createServer(options, (socket) => {
    const end = (outcome: unknown) => {
      asked.resolve(outcome);
      socket.destroy();
    };
    socket.on("error", end).once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
      socket.renegotiate({}, end);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  await openSender()(`https://hooks.example:${port}/`);
  expect(await asked.promise).toMatchObject({ code: "ERR_SSL_NO_RENEGOTIATION" });
});

test("handshakes that fail with long chains are few, and only of their own account", async () => {
  const url = `https://other.example:${await start({ key: KEY, cert: chainOf(30) })}/`;
  const send = openSender();
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(url)));
  const failures = answers.map((answer) => "failure" in answer && answer.failure);
  const handshakes = failures.filter((failure) => failure === "tls").length;
  expect(handshakes).toBeGreaterThan(0);
  // Those that use up what is allowed, and those beside them; twice if the minute ends meanwhile.
  expect(handshakes).toBeLessThanOrEqual(2 * 18);
  expect(new Set(failures)).toContain("connect");
  expect(await send(url, "two")).toMatchObject({ failure: "tls" });
});

test("a handshake is ended when its certificates are many times as long as usual", async () => {
  const send = openSender();
  const usual = await start({ key: KEY, cert: chainOf(30) });
  expect(await send(`https://hooks.example:${usual}/`)).toMatchObject({ status: 200 });
  const long = await start({ key: KEY, cert: chainOf(50) });
  const refused = { failure: "tls", message: "The server's certificates are too large." };
  expect(await send(`https://hooks.example:${long}/`)).toMatchObject(refused);
});

test.each([
  ["a line of text", Buffer.from("HTTP/1.1 200 OK\r\n\r\n")],
  ["more than its certificates may have, at once", Buffer.alloc(20_000, "A")],
  [
    "a record that says it is long, and much besides",
    Buffer.concat([RECORD, Buffer.alloc(90_000)]),
  ],
])("a server that answers a handshake with %s is a failure, not the end", async (_title, sent) => {
  const server = net.createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.write(sent));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const send = openSender();
  const url = `https://hooks.example:${(server.address() as AddressInfo).port}/`;
  for (let tries = 0; tries < 3; tries += 1) {
    const failure = expect.stringMatching(/^(tls|connect)$/);
    expect(await send(url)).toMatchObject({ failure, status: null });
  }
});

test.each([
  [200, { failure: "protocol", message: FLOOD }],
  [1_400, { status: 200 }],
])("an answer in records of %i bytes", async (size, expected) => {
  const total = 3_500 * 200;
  const server = tls.createServer({ key: KEY, cert: CERT }, async (socket) => {
    socket.on("error", () => {});
    await once(socket, "data");
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
    for (let sent = 0; sent < total && !socket.destroyed; sent += size) {
      await new Promise((done) => socket.write(Buffer.alloc(size), done));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => server.close());
  const guarded = createGuardedSender({ allow_list: [], allow_loopback: true, resolve });
  closing.push(() => guarded.close());
  const { port } = server.address() as AddressInfo;
  const answer = await guarded.send({
    ...{ account_id: "one", url: `https://hooks.example:${port}/`, method: "GET", headers: {} },
    max_answer_bytes: total,
    on_body: async (content) => {
      for await (const _chunk of content);
    },
  });
  expect(answer).toMatchObject(expected);
});

test("records of one byte end the connection, and count like handshakes that fail", async () => {
  const body = Buffer.alloc(3_000_000, "a");
  const good = https.createServer({ key: KEY, cert: CERT }, (_request, response) => {
    response.end(body);
  });
  const server = tls.createServer({ key: KEY, cert: CERT }, async (socket) => {
    socket.on("error", () => {});
    await once(socket, "data");
    // The parser skips the extension of a chunk without an end.
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
    for (let sent = 0; sent < 3_000 && !socket.destroyed; sent += 1) {
      await new Promise((done) => socket.write("a", done));
    }
    socket.end("\r\na\r\n0\r\n\r\n");
  });
  const portOf = async (one: tls.Server) => {
    one.listen(0, "127.0.0.1");
    await once(one, "listening");
    closing.push(() => one.close());
    return (one.address() as AddressInfo).port;
  };
  const url = `https://hooks.example:${await portOf(server)}/`;
  const send = openSender();
  expect(await send(url)).toMatchObject({ failure: "protocol", message: FLOOD });
  // Each counts 20 KiB; the count begins anew every minute.
  const messages = new Set<unknown>();
  for (let sent = 0; sent < 30 && !messages.has(TOO_MANY); sent += 1) {
    messages.add(((await send(url)) as { message?: string }).message);
  }
  expect([...messages]).toEqual([FLOOD, TOO_MANY]);
  // Content is not limited by this: only what comes besides it.
  const guarded = createGuardedSender({ allow_list: [], allow_loopback: true, resolve });
  closing.push(() => guarded.close());
  let received = 0;
  const answer = await guarded.send({
    ...{ account_id: "two", url: `https://hooks.example:${await portOf(good)}/`, method: "GET" },
    ...{ headers: {}, max_answer_bytes: body.length },
    on_body: async (content) => {
      for await (const chunk of content) received += chunk.length;
    },
  });
  expect(answer).toMatchObject({ status: 200 });
  expect(received).toBe(body.length);
});
