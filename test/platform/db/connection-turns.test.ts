import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import {
  type CallerContext,
  contextOf,
  contextOfNetwork,
} from "../../../src/platform/db/caller-context.ts";
import { ConnectionTurns } from "../../../src/platform/db/connection-turns.ts";
import { DatabaseUnavailableError } from "../../../src/platform/db/outages.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Work of callers in the order in which it begins. */
function start(connections: number) {
  const turns = new ConnectionTurns(connections);
  const begun: string[] = [];
  const ends: { name: string; end: () => void }[] = [];
  const take = async (caller: CallerContext) => {
    const { name } = caller;
    const end = await turns.take(caller);
    begun.push(name);
    ends.push({ name, end });
  };
  const send = (name: string, is_begun = false) => take(contextOf(name, is_begun));
  const sendUnknown = (network: string) => take(contextOfNetwork(network));
  const end = async (name: string) => {
    const [ended] = ends.splice(
      ends.findIndex((one) => one.name === name),
      1,
    );
    ended!.end();
    await turn();
  };
  const count = (name: string) => ends.filter((one) => one.name === name).length;
  return { turns, begun, send, sendUnknown, take, end, count };
}

/** Their turns may come after the end of the test, or never. */
function many(count: number, send: () => Promise<void>): void {
  for (let sent = 0; sent < count; sent += 1) send().catch(() => {});
}

it("a caller alone uses three quarters of what callers may use; the rest is left to others", async () => {
  const { turns, send, count } = start(16);
  many(100, () => send("greedy"));
  await turn();
  expect([count("greedy"), turns.waiting]).toEqual([9, 91]);
  for (const name of ["a", "b", "c"]) {
    void send(name);
    await turn();
    expect(count(name)).toBe(1);
  }
});

it("callers who wait take turns, whoever sends more", async () => {
  const { begun, send, end, count } = start(4);
  many(50, () => send("greedy"));
  many(50, () => send("second"));
  await turn();
  expect([count("greedy"), count("second")]).toEqual([2, 1]);
  void send("other");
  await end("second");
  expect(count("other")).toBe(0);
  await end("greedy");
  expect(begun.slice(3)).toEqual(["second", "other"]);
});

it("what a request needs after its first statement comes before new requests of its caller", async () => {
  const { turns, send, take, end } = start(2);
  const first = contextOf("a");
  await take(first);
  const fresh = send("a");
  const again = take(first);
  let is_fresh_begun = false;
  void fresh.then(() => {
    is_fresh_begun = true;
  });
  await end("a");
  await again;
  expect([is_fresh_begun, turns.waiting]).toEqual([false, 1]);
  await end("a");
  await fresh;
});

it("a caller with a thousand requests that wait is refused another, and others are not", async () => {
  const { send, end } = start(4);
  many(1_002, () => send("greedy"));
  await turn();
  const refused = { code: "too_many_requests", status: 429, retry_after_seconds: 1 };
  await expect(send("greedy")).rejects.toMatchObject(refused);
  await send("other");
  // A request that has begun may have changed something: it waits.
  const begun = send("greedy", true);
  await end("other");
  await end("greedy");
  await begun;
});

it("requests of callers who hung up while they waited do not begin", async () => {
  const { begun, take, send, end } = start(2);
  await send("a");
  const gone = contextOf("a");
  const refused = expect(take(gone)).rejects.toMatchObject({ code: "bad_request" });
  const next = send("a");
  gone.is_gone = true;
  await end("a");
  await refused;
  await next;
  expect(begun).toEqual(["a", "a"]);
});

it("who waits for ten seconds gets the answer of a database that is unavailable", async () => {
  vi.useFakeTimers();
  const { turns, begun, send } = start(2);
  await send("a");
  const late = expect(send("a")).rejects.toThrow(DatabaseUnavailableError);
  await vi.advanceTimersByTimeAsync(10_000);
  await late;
  expect([turns.waiting, begun]).toEqual([0, ["a"]]);
});

it("networks whose account is not known use at most half together", async () => {
  const { turns, begun, send, sendUnknown } = start(11);
  for (let at = 0; at < 100; at += 1) many(1, () => sendUnknown(`network ${at}`));
  await turn();
  expect([begun.length, turns.waiting]).toEqual([4, 96]);
  many(1, () => send("account"));
  await turn();
  expect(begun.slice(4)).toEqual(["account"]);
});

it("an account waits for one unknown network at a time, however many there are", async () => {
  const { begun, send, sendUnknown, end } = start(11);
  for (let at = 0; at < 8; at += 1) many(1, () => send(`first ${at}`));
  for (let at = 0; at < 100; at += 1) many(1, () => sendUnknown(`network ${at}`));
  for (let at = 0; at < 3; at += 1) many(1, () => send(`account ${at}`));
  await turn();
  expect(begun.length).toBe(8);
  for (let at = 0; at < 6; at += 1) await end(`first ${at}`);
  const turns = [0, 1, 2].flatMap((at) => [`account ${at}`, `network ${at}`]);
  expect(begun.slice(8)).toEqual(turns);
});
