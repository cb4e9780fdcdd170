import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createForwardedAddress } from "../../../src/platform/http/forwarded-address.ts";
import { createOverload } from "../../../src/platform/http/overload.ts";

const LATE_BY_MS = 400;

function open() {
  let refused = 0;
  const told: number[] = [];
  const isAdmitted = createOverload({
    addressOf: createForwardedAddress(["10.0.0.0/8", "fd00::/8"]),
    refuse: () => {
      refused += 1;
    },
    onRefused: (requests) => void told.push(requests),
  });
  const sendAs = (headers: Record<string, string>, remoteAddress: string) => {
    const answer = new EventEmitter();
    const request = { headers, socket: { remoteAddress } } as unknown as IncomingMessage;
    return { is_admitted: isAdmitted(request, answer as unknown as ServerResponse), answer };
  };
  const send = (authorization: string) => sendAs({ authorization }, "192.0.2.1");
  return { send, sendAs, told, refused: () => refused };
}

/** Nothing else runs meanwhile, as when more arrives than can be processed. */
function block(ms: number): void {
  const end_ms = performance.now() + ms;
  while (performance.now() < end_ms);
}

it("a sender has at most two thousand requests under way, and others are served", () => {
  const { send, refused } = open();
  const sent = Array.from({ length: 2_100 }, () => send("one"));
  expect(sent.filter(({ is_admitted }) => is_admitted)).toHaveLength(2_000);
  expect(refused()).toBe(100);
  expect(send("another").is_admitted).toBe(true);
  sent[0]!.answer.emit("close");
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
    for (let sent = 0; sent < 2_000; sent += 1) sendAs({ "x-forwarded-for": forwarded }, proxy);
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
