import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { LoopTurns } from "../../../src/platform/http/loop-turns.ts";

function open(per_turn: number) {
  const turns = new LoopTurns(per_turn);
  const begun: string[] = [];
  const send = (sender: string, count = 1) => {
    for (let sent = 0; sent < count; sent += 1) turns.wait(sender, () => begun.push(sender));
  };
  return { send, begun };
}

it("begins at once what one turn has room for, and the rest in the next turns", async () => {
  const { send, begun } = open(3);
  send("a", 7);
  expect(begun).toHaveLength(3);
  await nextTurn();
  expect(begun).toHaveLength(6);
  await nextTurn();
  expect(begun).toHaveLength(7);
  await nextTurn();
  send("a", 5);
  expect(begun).toHaveLength(10);
});

it("senders take turns, however much one sends, and also those who come later", async () => {
  const { send, begun } = open(2);
  send("a", 10);
  send("b", 2);
  await nextTurn();
  send("c");
  await nextTurn();
  await nextTurn();
  expect(begun.join("")).toBe("aaababca");
});

it("what begins something else of its sender is counted in the same turn", async () => {
  const turns = new LoopTurns(1);
  let begun = 0;
  const again = () => {
    begun += 1;
    turns.wait("a", again);
  };
  again();
  expect(begun).toBe(2);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect(begun).toBe(7);
});

it("what leaves before its turn does not begin, and takes nobody's turn", async () => {
  const turns = new LoopTurns(1);
  const begun: string[] = [];
  const leave = ["first", "second", "third"].map((name) =>
    turns.wait("a", () => void begun.push(name)),
  );
  expect(leave[1]!()).toBe(true);
  expect(leave[1]!()).toBe(false);
  await nextTurn();
  expect(begun).toEqual(["first", "third"]);
  expect(leave[2]!()).toBe(false);
});
