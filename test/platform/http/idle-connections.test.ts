import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { createIdleConnections } from "../../../src/platform/http/idle-connections.ts";

const OWN_MIN = 2;

function open(strangers_max: number, accounts_max: number) {
  const idle = createIdleConnections({ strangers_max, accounts_max, own_min: OWN_MIN });
  const add = (name: string, is_account = false) => {
    const socket = new Duplex({ read() {}, write() {} }) as never as Parameters<typeof idle.add>[0];
    idle.add(socket, name, is_account);
    return socket;
  };
  return { idle, add };
}

const closed = (sockets: { destroyed: boolean }[]) => sockets.map(({ destroyed }) => destroyed);

it("closes the oldest of the network that has most, above the limit", () => {
  const { add } = open(4, 4);
  const other = add("other");
  const flood = [add("flood"), add("flood"), add("flood")];
  const last = add("another");
  expect(closed(flood)).toEqual([true, false, false]);
  expect(closed([other, last])).toEqual([false, false]);
});

it("closes the oldest of all where no network has many, not those of whoever has some", () => {
  const { add } = open(4, 4);
  const flood = [add("a"), add("b"), add("c")];
  const honest = [add("honest"), add("honest")];
  add("d");
  expect(closed(flood)).toEqual([true, true, false]);
  expect(closed(honest)).toEqual([false, false]);
});

it("counts none that has a request, and accounts apart", () => {
  const { idle, add } = open(2, 1);
  const [first, second, third] = [add("one"), add("one"), add("account", true)];
  idle.delete(first);
  add("one");
  expect(closed([first, second, third])).toEqual([false, false, false]);
  add("other account", true);
  expect(third.destroyed).toBe(true);
  idle.add(first, "one", false);
  expect(second.destroyed).toBe(true);
});
