import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createFairTurns } from "../../../src/platform/commands/fair-turns.ts";

/** Work of accounts, named by a letter, in the order in which it begins. */
function start(at_once_max: number) {
  const inTurn = createFairTurns(at_once_max);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const send = (account_id: string) =>
    inTurn(account_id, () => {
      begun.push(account_id);
      return new Promise<void>((end) => ends.push(end));
    });
  const endNext = async () => {
    ends.shift()!();
    await turn();
  };
  return { begun, send, endNext };
}

it("one account never has all turns, and accounts that wait take turns", async () => {
  const { begun, send, endNext } = start(3);
  const sent = ["a", "a", "a", "a", "a", "b", "c", "b"].map(send);
  await turn();
  expect(begun).toEqual(["a", "a", "b"]);
  for (let left = sent.length; left > 0; left -= 1) await endNext();
  expect(begun).toEqual(["a", "a", "b", "a", "c", "b", "a", "a"]);
  await Promise.all(sent);
});

it("a single turn serves an account as well", async () => {
  const { begun, send, endNext } = start(1);
  const sent = [send("a"), send("a")];
  await turn();
  expect(begun).toEqual(["a"]);
  await endNext();
  await endNext();
  await Promise.all(sent);
});

it("goes on after work that fails", async () => {
  const inTurn = createFairTurns(1);
  const failed = inTurn("a", () => Promise.reject(new Error("broken")));
  const next = inTurn("a", async () => "next");
  await expect(failed).rejects.toThrow("broken");
  expect(await next).toBe("next");
});

it("so many requests of an account wait, and the others are refused at once", async () => {
  const { begun, send, endNext } = start(2);
  const sent = Array.from({ length: 1_003 }, () => send("a"));
  const refused = sent.slice(-2).map((one) => one.catch(({ code }) => code));
  expect(await Promise.all(refused)).toEqual(["unavailable", "unavailable"]);
  for (let left = 1_001; left > 0; left -= 1) await endNext();
  await Promise.all(sent.slice(0, -2));
  expect(begun).toHaveLength(1_001);
});
