import type { AddressInfo } from "node:net";
import Type from "typebox";
import { afterAll, expect, it } from "vitest";
import { addRoute } from "../../../src/platform/http/route.ts";
import { createServer } from "../../../src/platform/http/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

type Begun = { account_id: string; text: string; end: () => void };

const app = createServer({
  ...{ log_level: "silent", public_url: () => "http://127.0.0.1", trusted_proxies: [] },
  ...{ rate_limit: 0, rate_limit_anonymous: 0, stalled_seconds: 120 },
  authenticate: async (key) => ({ account_id: key, credential_id: key, key_label: key }),
});
const begun: Begun[] = [];
addRoute(app, Buffer.alloc(32), {
  ...{ method: "POST", path: "/notes", operation: "", summary: "", description: "", tag: "" },
  ...{
    answer: Type.String(),
    errors: [],
    body_bytes_max: 2 ** 24,
    body: Type.Object({ text: Type.String() }),
  },
  handle: ({ caller: { account_id }, body }) =>
    new Promise<string>((resolve) => {
      begun.push({ account_id, text: body.text ?? "", end: () => resolve("{}") });
    }),
});
await app.listen({ host: "127.0.0.1", port: 0 });
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/notes`;

afterAll(() => app.close());

async function send(key: string, text: string, signal: AbortSignal | null = null) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ text });
  const answer = await fetch(url, { method: "POST", headers, body, signal });
  return answer.status;
}

const LARGE = "x".repeat(300_000);
const begunBy = (account_id: string) => begun.filter((one) => one.account_id === account_id).length;

it("an account has one large body in work; others are worked on beside it, and take turns", async () => {
  const gone = new AbortController();
  const left = send("a", LARGE);
  await waitFor(() => begunBy("a") === 1);
  const hung_up = send("a", LARGE, gone.signal).catch(() => "hung up");
  const rest = [send("a", LARGE), send("a", LARGE)];
  // Small ones of the account do not wait.
  const small = send("a", "small");
  await waitFor(() => begunBy("a") === 2);
  expect(begun[1]!.text).toBe("small");
  const others = [send("b", LARGE), send("c", LARGE)];
  await waitFor(() => begun.length === 3);
  gone.abort();
  expect(await hung_up).toBe("hung up");
  begun[2]!.end();
  // The third account is before the next one of the first.
  await waitFor(() => begunBy("b") === 1 && begunBy("c") === 1);
  expect(begunBy("a")).toBe(2);
  for (let ended = 0; ended < 6; ended += 1) {
    await waitFor(() => begun.length > ended);
    begun[ended]!.end();
  }
  const statuses = await Promise.all([left, small, ...rest, ...others]);
  expect(statuses).toEqual(Array(6).fill(200));
  expect(begun).toHaveLength(6);
});

it("large bodies that wait are refused beyond the account's share of the memory", async () => {
  begun.length = 0;
  const statuses: number[] = [];
  const note = async (status: Promise<number>) => statuses.push(await status);
  const text = "x".repeat(15_000_000);
  const sent = Array.from({ length: 10 }, () => note(send("a", text)));
  // One is in work, and four wait: 60 MB of the 64 MiB that an account may use.
  await waitFor(() => statuses.length === 5);
  expect(statuses).toEqual(Array(5).fill(503));
  // What another account sends is accepted.
  const other = send("b", text);
  await waitFor(() => begunBy("b") === 1);
  for (let ended = 0; ended < 6; ended += 1) {
    await waitFor(() => begun.length > ended);
    begun[ended]!.end();
  }
  await Promise.all([...sent, other]);
  expect(await other).toBe(200);
  expect(statuses.slice(5)).toEqual(Array(5).fill(200));
  // Those that were answered are counted no longer.
  const later = send("a", text);
  await waitFor(() => begun.length === 7);
  begun[6]!.end();
  expect(await later).toBe(200);
});

it("accounts whose answers take long do not hold up the large bodies of others", async () => {
  begun.length = 0;
  const slow = [send("a", LARGE), send("a", LARGE), send("b", LARGE)];
  await waitFor(() => begunBy("a") === 1 && begunBy("b") === 1);
  const other = send("c", LARGE);
  await waitFor(() => begunBy("c") === 1);
  begun.find(({ account_id }) => account_id === "c")!.end();
  expect(await other).toBe(200);
  // An account still has one at a time.
  expect(begunBy("a")).toBe(1);
  for (let ended = 0; ended < 4; ended += 1) {
    await waitFor(() => begun.length > ended);
    begun[ended]!.end();
  }
  expect(await Promise.all(slow)).toEqual([200, 200, 200]);
});
