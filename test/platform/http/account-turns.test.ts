import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import Type from "typebox";
import { expect, it } from "vitest";
import { createAccountTurns, createReadTurns } from "../../../src/platform/http/account-turns.ts";
import { addRoute } from "../../../src/platform/http/route.ts";
import { createServer } from "../../../src/platform/http/server.ts";

const LARGE = "x".repeat(300_000);
const isHere = () => false;

it("reads one after the other while an account gets large answers", async () => {
  const readInTurn = createReadTurns();
  await readInTurn("a", async () => LARGE, isHere);
  const at_once: Record<string, number> = { a: 0, b: 0 };
  const ends: (() => void)[] = [];
  const read = (account: string) =>
    readInTurn(
      account,
      () => {
        at_once[account]! += 1;
        return new Promise<string>((resolve) => ends.push(() => resolve("")));
      },
      isHere,
    );
  const asked = [read("a"), read("a"), read("b"), read("b")];
  await turn();
  expect(at_once).toEqual({ a: 1, b: 2 });
  ends[0]!();
  await asked[0];
  // Others have their time of the thread in between.
  expect(at_once.a).toBe(1);
  await expect.poll(() => at_once.a).toBe(2);
  for (const end of ends) end();
  await Promise.all(asked);
});

it("does not begin the reads of callers who hung up while they waited", async () => {
  const readInTurn = createReadTurns();
  await readInTurn("a", async () => LARGE, isHere);
  const held = Promise.withResolvers<string>();
  const first = readInTurn("a", () => held.promise, isHere);
  let [is_gone, is_begun] = [false, false];
  const work = async () => {
    is_begun = true;
    return "";
  };
  const second = readInTurn("a", work, () => is_gone);
  is_gone = true;
  held.resolve("");
  await first;
  await expect(second).rejects.toMatchObject({ code: "bad_request" });
  expect(is_begun).toBe(false);
});

it("goes on after a read that fails, and refuses those that wait too long", async () => {
  const readInTurn = createAccountTurns(1, 0);
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

it("sends ten files of one account at a time, and those of others beside them", async () => {
  const streams: PassThrough[] = [];
  const app = createServer({
    log_level: "silent",
    public_url: () => "http://127.0.0.1",
    trusted_proxies: [],
    rate_limit: 0,
    rate_limit_anonymous: 0,
    stalled_seconds: 120,
    authenticate: async (key) => ({ account_id: key, credential_id: key, key_label: key }),
  });
  addRoute(app, Buffer.alloc(32), {
    ...{ method: "GET", path: "/file", operation: "", summary: "", description: "", tag: "" },
    ...{ answer: Type.String(), errors: [], file_types: ["text/plain"] },
    handle: async () => {
      const file = new PassThrough();
      file.write("begun");
      streams.push(file);
      return { file, media_type: "text/plain", file_name: "file" };
    },
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/file`;
  const ask = (key: string) => fetch(url, { headers: { authorization: `Bearer ${key}` } });
  try {
    const asked = Array.from({ length: 10 }, () => ask("a"));
    const begun = await Promise.all(asked);
    const next = ask("a");
    expect((await ask("b")).status).toBe(200);
    expect(streams).toHaveLength(11);
    streams[0]!.end();
    expect(await begun[0]!.text()).toBe("begun");
    expect((await next).status).toBe(200);
    expect(streams).toHaveLength(12);
    await begun[1]!.body!.cancel();
    expect((await ask("a")).status).toBe(200);
  } finally {
    for (const stream of streams) stream.end();
    await app.close();
  }
});
