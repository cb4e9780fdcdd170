import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { createIdleConnections } from "../../../src/platform/http/idle-connections.ts";

function open(strangers_max: number, accounts_max: number) {
  const idle = createIdleConnections(strangers_max, accounts_max);
  const add = (name: string, is_account = false) => {
    const socket = new Duplex({ read() {}, write() {} }) as never as Parameters<typeof idle.add>[0];
    idle.add(socket, name, is_account);
    return socket;
  };
  return { idle, add };
}

it("closes the oldest of the network that has most, above the limit", () => {
  const { add } = open(4, 4);
  const other = add("other");
  const flood = [add("flood"), add("flood"), add("flood")];
  const last = add("another");
  expect(flood.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  expect([other.destroyed, last.destroyed]).toEqual([false, false]);
});

it("counts none that has a request, and accounts apart", () => {
  const { idle, add } = open(2, 1);
  const [first, second, third] = [add("one"), add("one"), add("account", true)];
  idle.delete(first);
  add("one");
  expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  add("other account", true);
  expect(third.destroyed).toBe(true);
  idle.add(first, "one", false);
  expect(second.destroyed).toBe(true);
});
