import { expect, it } from "vitest";
import { createTurns } from "../../../src/platform/commands/in-turn.ts";
import type { Outcome } from "../../../src/platform/commands/model.ts";
import { Refusal } from "../../../src/platform/errors.ts";

const WAITING_MAX = 1_000;
const KEY = { index: Buffer.from("key"), request_hash: Buffer.from("request") };
const REFUSED: Outcome = { refusal: new Refusal("record_not_found") };
const ANSWERED: Outcome = { answer: { body: "{}", replayed: false } };

/** As many requests with one key at once; each notes its number when its work begins. */
function sendAtOnce(requests: number, outcomeOf: (number: number) => Outcome) {
  const inTurn = createTurns();
  const begun: number[] = [];
  const at_once = { now: 0, most: 0 };
  const sent = Array.from({ length: requests }, (_, number) =>
    inTurn("account", KEY, async () => {
      begun.push(number);
      at_once.now += 1;
      at_once.most = Math.max(at_once.most, at_once.now);
      await new Promise((done) => setImmediate(done));
      at_once.now -= 1;
      return outcomeOf(number);
    }),
  );
  return { begun, at_once, answers: Promise.allSettled(sent) };
}

it("a refusal frees the key for the next request alone, in their order", async () => {
  const { begun, at_once, answers } = sendAtOnce(50, () => REFUSED);
  await answers;
  expect(at_once.most).toBe(1);
  expect(begun).toEqual(Array.from({ length: 50 }, (_, number) => number));
});

it("once an answer is stored, all that wait read it at once", async () => {
  const { at_once, answers } = sendAtOnce(50, (number) => (number < 10 ? REFUSED : ANSWERED));
  const settled = await answers;
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(50);
  expect(at_once.most).toBe(39);
});

it("of many requests with one key, so many wait and the others are refused at once", async () => {
  const { begun, answers } = sendAtOnce(WAITING_MAX + 3, () => REFUSED);
  const settled = await answers;
  const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused.map(({ code }) => code)).toEqual(["unavailable", "unavailable"]);
  expect(begun).toHaveLength(WAITING_MAX + 1);
});
