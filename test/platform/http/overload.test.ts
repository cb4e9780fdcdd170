import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createOverload } from "../../../src/platform/http/overload.ts";

const LATE_BY_MS = 400;

function open() {
  let refused = 0;
  const told: number[] = [];
  const isAdmitted = createOverload({
    refuse: () => {
      refused += 1;
    },
    onRefused: (requests) => void told.push(requests),
  });
  const send = (authorization: string) => {
    const answer = new EventEmitter();
    const request = { headers: { authorization }, socket: {} } as unknown as IncomingMessage;
    return { is_admitted: isAdmitted(request, answer as unknown as ServerResponse), answer };
  };
  return { send, told, refused: () => refused };
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
