import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createReadTurns } from "../../../src/platform/http/read-turns.ts";

it("runs as many reads of one account at once as half the connections, others beside them", async () => {
  const readInTurn = createReadTurns(4);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const read = (account: string, name: string) =>
    readInTurn(account, () => {
      begun.push(name);
      return new Promise<string>((resolve) => ends.push(() => resolve(name)));
    });
  const asked = ["a1", "a2", "a3", "a4"].map((name) => read("a", name));
  const other = read("b", "b1");
  await turn();
  expect(begun).toEqual(["a1", "a2", "b1"]);
  ends[1]!();
  await asked[1];
  await turn();
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
  ends[0]!();
  await turn();
  for (const end of ends) end();
  expect(await Promise.all([...asked, other])).toEqual(["a1", "a2", "a3", "a4", "b1"]);
});

it("goes on after a read that fails, and refuses those that wait too long", async () => {
  const readInTurn = createReadTurns(2, 0);
  const failed = readInTurn("a", () => Promise.reject(new Error("broken")));
  await expect(failed).rejects.toThrow("broken");
  const held = Promise.withResolvers<string>();
  const first = readInTurn("a", () => held.promise);
  await expect(readInTurn("a", async () => "never")).rejects.toMatchObject({
    code: "unavailable",
    retry_after_seconds: 2,
  });
  held.resolve("first");
  expect(await first).toBe("first");
  expect(await readInTurn("a", async () => "next")).toBe("next");
});
