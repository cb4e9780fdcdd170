import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createForwardedAddress } from "../../../src/platform/http/forwarded-address.ts";
import { createOverload } from "../../../src/platform/http/overload.ts";

const LATE_BY_MS = 400;

function open() {
  const told: number[] = [];
  const known = new Map<string, string>();
  const admit = createOverload({
    accountOf: ({ headers }) => known.get(headers.authorization ?? ""),
    addressOf: createForwardedAddress(["10.0.0.0/8", "fd00::/8"]),
    onRefused: (requests) => void told.push(requests),
  });
  const requestAs = (headers: Record<string, string>, remoteAddress: string, url: string) =>
    ({ headers, url, socket: { remoteAddress } }) as unknown as IncomingMessage;
  const sendAs = (headers: Record<string, string>, remoteAddress: string, url = "/users") => {
    const answer = new EventEmitter();
    const request = requestAs(headers, remoteAddress, url);
    return { is_admitted: !admit(request, answer as unknown as ServerResponse).is_refused, answer };
  };
  const know = (authorization: string, account_id: string) =>
    void known.set(authorization, account_id);
  for (const key of ["one", "another"]) know(key, `account of ${key}`);
  const send = (authorization: string) => sendAs({ authorization }, "192.0.2.1");
  return { send, sendAs, know, told };
}

/** Nothing else runs meanwhile, as when more arrives than can be processed. */
function block(ms: number): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

it("a sender has at most a thousand requests under way, and others are served", async () => {
  const { send } = open();
  const sent = Array.from({ length: 1_100 }, () => send("one"));
  expect(sent.filter(({ is_admitted }) => is_admitted)).toHaveLength(1_000);
  expect(send("another").is_admitted).toBe(true);
  sent[0]!.answer.emit("close");
  // What is answered at once must not make room for more before others have had their turn.
  expect(send("one").is_admitted).toBe(false);
  await nextTurn();
  expect(send("one").is_admitted).toBe(true);
  expect(send("one").is_admitted).toBe(false);
});

it("while the event loop is late, those with many requests are refused, and it is told", async () => {
  const { send, told } = open();
  const sent = Array.from({ length: 600 }, () => send("one"));
  expect(sent.every(({ is_admitted }) => is_admitted)).toBe(true);
  block(LATE_BY_MS);
  await sleep(1);
  expect(send("one").is_admitted).toBe(false);
  expect(send("another").is_admitted).toBe(true);
  await sleep(200);
  expect(send("one").is_admitted).toBe(true);
  expect(told).toEqual([1]);
});

it("behind a proxy, people without a credential are told apart, and nobody can choose who they are", () => {
  const { sendAs } = open();
  const fill = (forwarded: string, proxy = "10.1.2.3") => {
    for (let sent = 0; sent < 1_000; sent += 1) sendAs({ "x-forwarded-for": forwarded }, proxy);
  };
  const isServed = (forwarded: string, proxy = "::ffff:10.1.2.4") =>
    sendAs({ "x-forwarded-for": forwarded }, proxy).is_admitted;
  fill("203.0.113.7");
  expect(isServed("203.0.113.7")).toBe(false);
  expect(isServed("203.0.113.8")).toBe(true);
  // What a client writes there itself stands before what the proxy adds.
  expect(isServed("203.0.113.9, 203.0.113.7")).toBe(false);
  expect(isServed("203.0.113.9, 203.0.113.7, 10.9.9.9")).toBe(false);
  expect(isServed("203.0.113.7, nobody")).toBe(true);
  expect(isServed("203.0.113.7:50123")).toBe(false);
  expect(isServed("203.0.113.7:50124, 10.9.9.9:443")).toBe(false);
  fill("2001:db8::7");
  expect(isServed("[2001:db8::7]:50123")).toBe(false);
  expect(isServed("[2001:db8::7]")).toBe(false);
  expect(isServed("[2001:db8:9::7]:50123")).toBe(true);
  expect(isServed("203.0.113.8", "203.0.113.7")).toBe(false);
  expect(sendAs({}, "10.1.2.3").is_admitted).toBe(true);
});

it("keys of one account have one number together", () => {
  const { send, know } = open();
  know("a second key", "account of one");
  for (let sent = 0; sent < 1_000; sent += 1) send(sent % 2 === 0 ? "one" : "a second key");
  expect(send("one").is_admitted).toBe(false);
  expect(send("a second key").is_admitted).toBe(false);
  expect(send("another").is_admitted).toBe(true);
});

it("with made-up credentials nobody gets more than their network's part", () => {
  const { send, sendAs } = open();
  for (let sent = 0; sent < 1_000; sent += 1) send(`made up ${sent}`);
  expect(send("made up").is_admitted).toBe(false);
  expect(sendAs({ cookie: "session=made-up" }, "192.0.2.1").is_admitted).toBe(false);
  expect(send("one").is_admitted).toBe(true);
});

it("all who have no account share one number, and each network has its part of it", () => {
  const { send, sendAs } = open();
  const addresses = Array.from({ length: 200 }, (_, index) => `198.51.100.${index}`);
  let admitted = 0;
  for (const address of addresses) {
    for (let sent = 0; sent < 100; sent += 1) admitted += sendAs({}, address).is_admitted ? 1 : 0;
  }
  // At least two of each.
  expect(admitted).toBeLessThanOrEqual(1_000 + 2 * addresses.length);
  expect(sendAs({}, addresses[0]!).is_admitted).toBe(false);
  expect(sendAs({}, "203.0.113.1").is_admitted).toBe(true);
  expect(send("one").is_admitted).toBe(true);
});

it("with thousands of networks there is a last limit for all of them", () => {
  const { send, sendAs } = open();
  let admitted = 0;
  for (let network = 0; network < 5_000; network += 1) {
    const address = `198.${network >> 8}.${network & 255}.1`;
    for (let sent = 0; sent < 2; sent += 1) admitted += sendAs({}, address).is_admitted ? 1 : 0;
  }
  expect(admitted).toBe(3_000);
  expect(send("one").is_admitted).toBe(true);
});

it("beyond that limit the probes of health from private networks are still served", () => {
  const { sendAs } = open();
  for (let sent = 0; sent < 3_000; sent += 1) {
    sendAs({}, `198.${18 + (sent >> 9)}.${(sent >> 1) & 255}.1`);
  }
  const isServed = (address: string, url: string, headers = {}) =>
    sendAs(headers, address, url).is_admitted;
  expect(isServed("203.0.113.1", "/healthz")).toBe(false);
  expect(isServed("127.0.0.1", "/users")).toBe(false);
  // Through a proxy in a private network.
  expect(isServed("10.1.2.3", "/healthz", { "x-forwarded-for": "203.0.113.2" })).toBe(false);
  for (const address of ["127.0.0.1", "::1", "172.20.1.1", "::ffff:192.168.1.1", "fd01::2"]) {
    expect(isServed(address, "/healthz"), address).toBe(true);
    expect(isServed(address, "/readyz"), address).toBe(true);
  }
});
