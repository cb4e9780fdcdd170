import type { AddressInfo } from "node:net";
import Type from "typebox";
import { afterEach, expect, it } from "vitest";
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
  ...{ answer: Type.String(), errors: [], body: Type.Object({ text: Type.String() }) },
  handle: ({ caller: { account_id }, body }) =>
    new Promise<string>((resolve) => {
      begun.push({ account_id, text: body.text ?? "", end: () => resolve("{}") });
    }),
});
await app.listen({ host: "127.0.0.1", port: 0 });
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/notes`;

afterEach(() => app.close());

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
