import { expect, it } from "vitest";
import { Rounds } from "../../../src/platform/commands/rounds.ts";

/** "a1" is of account a and its sender 1. */
type One = { at: number; command: { account_id: string; sender: string } };

function open(...names: string[]) {
  const rounds = new Rounds<One>();
  let at = 0;
  const add = (...more: string[]) => {
    for (const name of more) {
      at += 1;
      rounds.add({ at, command: { account_id: name[0]!, sender: name[1]! } });
    }
  };
  add(...names);
  const places = () => rounds.next().map(({ members }) => members.map(nameOf).join(" "));
  const take = (place: number, count: number) => rounds.take(rounds.next()[place]!, count);
  return { rounds, add, places, take };
}

function nameOf({ at, command: { account_id, sender } }: One): string {
  return `${account_id}${sender}:${at}`;
}

it("accounts take turns, and the senders of each by themselves", () => {
  const { places, take } = open("a1", "a2", "a1", "b1", "a3");
  expect(places()).toEqual(["a1:1 a1:3", "b1:4"]);
  take(0, 1);
  expect(places()).toEqual(["b1:4", "a2:2"]);
  take(0, 1);
  expect(places()).toEqual(["a2:2"]);
  take(0, 1);
  take(0, 1);
  expect(places()).toEqual(["a1:3"]);
  take(0, 1);
  expect(places()).toEqual([]);
});

it("what was put off as a whole has its turn again, of the account and of the sender", () => {
  const { rounds, add, places, take } = open("a1", "a1", "a2", "b1", "c1");
  const part = take(0, 2);
  add("d1");
  expect(places()).toEqual(["b1:4", "c1:5", "a2:3", "d1:6"]);
  rounds.putBack(part, part.members);
  expect(places()).toEqual(["a1:1 a1:2", "b1:4", "c1:5", "d1:6"]);
});

it("of what was put off in part the turn is used", () => {
  const { rounds, places, take } = open("a1", "a1", "a2", "b1");
  const part = take(0, 2);
  rounds.putBack(part, part.members.slice(1));
  expect(places()).toEqual(["b1:4", "a2:3"]);
});

it("who overtook somebody for whom there was no room is behind them again", () => {
  const { rounds, places, take } = open("a1", "b1", "c1");
  const overtaking = take(2, 1);
  rounds.putBack(overtaking, overtaking.members);
  expect(places()).toEqual(["a1:1", "b1:2", "c1:3"]);
});

it("two sets of one sender put back in any order, and the order is that of their arrival", () => {
  for (const is_reversed of [false, true]) {
    const { rounds, add, places, take } = open("a1", "a1", "a1", "a1", "b1");
    const parts = [take(0, 2), take(1, 2)];
    add("a1");
    for (const part of is_reversed ? parts.toReversed() : parts) {
      rounds.putBack(part, part.members);
    }
    expect(places()).toEqual(["a1:1 a1:2 a1:3 a1:4 a1:6", "b1:5"]);
  }
});
