import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
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

function openSender() {
  const resolve = async () => ["127.0.0.1"];
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

test("handshakes that fail with long chains are few, and only of their own account", async () => {
  const chain = Array.from({ length: 200 }, () => CERT).join("\n");
  const url = `https://other.example:${await start({ key: KEY, cert: chain })}/`;
  const send = openSender();
  const answers = await Promise.all(Array.from({ length: 40 }, () => send(url)));
  const failures = answers.map((answer) => "failure" in answer && answer.failure);
  const handshakes = failures.filter((failure) => failure === "tls").length;
  expect(handshakes).toBeGreaterThan(0);
  // Those that use up what is allowed, and those beside them; twice if the minute ends meanwhile.
  expect(handshakes).toBeLessThanOrEqual(2 * 12);
  expect(failures.filter((failure) => failure === "connect")).toHaveLength(40 - handshakes);
  expect(await send(url, "two")).toMatchObject({ failure: "tls" });
});
