import { isSliproadError, Sliproad, SliproadError } from "@sliproad/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { withRetries } from "../../sdk/src/retry.ts";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../../src/platform/errors.ts";
import {
  answer,
  breakOff,
  resetConnection,
  type ScriptedServer,
  stall,
  startScriptedServer,
  staySilent,
} from "../harness/scripted-http.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: ScriptedServer;
let sliproad: Sliproad;
beforeAll(async () => {
  server = await startScriptedServer();
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: "sk_test_invented" });
});
afterAll(() => server.close());
beforeEach(() => {
  // The minimum that jitter allows: tests about waiting set their own.
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => vi.restoreAllMocks());

const USER = { id: "01a1dd11-4aee-7000-adc7-78aca4556f62" };
const success = answer(200, { user: USER });
const NEW_USER = { beneficiary_type: "individual", email: "ana@example.com" } as const;

function refusal(code: ErrorCode, headers: Record<string, string | number> = {}) {
  const status = ERRORS[code][0];
  const message = "Do something else.";
  const doc_url = `http://127.0.0.1/docs/errors#${code}`;
  const errors = [{ field: "user.email", code, message }];
  const body = { error_code: code, message, status, request_id: "req_1", doc_url, errors };
  return answer(status, body, headers);
}

async function failureOf(call: Promise<unknown>): Promise<SliproadError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!isSliproadError(error)) throw new Error(`not a SliproadError: ${error}`);
  return error;
}

function keysSeen(): unknown[] {
  return server.requests.map((request) => request.headers["idempotency-key"]);
}

it("a list that returns the same page again ends with an error", async () => {
  server.play(answer(200, { users: [USER], has_more: true }));
  const seen: string[] = [];
  const walk = async () => {
    for await (const { id } of sliproad.users.list()) seen.push(id);
  };
  const failure = await failureOf(walk());
  expect(failure.error_code).toBe("answer_unreadable");
  expect(failure.message).toContain(`The page after ${USER.id} ends with`);
  expect(seen.length).toBeLessThanOrEqual(2);
});

describe("temporary failures are retried, with the same key", () => {
  it.each([
    ["429", refusal("too_many_requests")],
    ["503 unavailable", refusal("unavailable", { "retry-after": 0 })],
    ["503 outcome_unknown", refusal("outcome_unknown")],
    ["502 of a proxy", answer(502, "<h1>Bad gateway</h1>")],
    ["504 of a proxy", answer(504, "")],
    ["a reset connection", resetConnection],
    ["an answer that breaks off", breakOff],
  ])("%s", async (_, step) => {
    server.play(step, step, success);
    expect(await sliproad.users.create(NEW_USER)).toEqual(USER);
    expect(keysSeen()).toHaveLength(3);
    expect(new Set(keysSeen()).size).toBe(1);
    expect(keysSeen()[0]).toMatch(/^[0-9a-f]{32}$/);
    const bodies = server.requests.map((request) => String(request.body));
    expect(new Set(bodies)).toEqual(new Set([JSON.stringify({ user: NEW_USER })]));
  });

  it("a response that is too late, and one that never ends", async () => {
    server.play(staySilent, stall, success);
    expect(await sliproad.users.create(NEW_USER, { timeout_ms: 100 })).toEqual(USER);
    expect(keysSeen()).toHaveLength(3);
    expect(new Set(keysSeen()).size).toBe(1);
  });

  it("not before Retry-After, in seconds or as a date", async () => {
    server.play(refusal("too_many_requests", { "retry-after": 1 }), success);
    await sliproad.users.show(USER.id);
    const [first, second] = server.requests;
    expect(second!.arrived_ms - first!.arrived_ms).toBeGreaterThanOrEqual(1000);

    // HTTP dates have whole seconds: this one is between one and two seconds away.
    const date = new Date(Date.now() + 2000).toUTCString();
    server.play(refusal("unavailable", { "retry-after": date }), success);
    await sliproad.users.show(USER.id);
    const [third, fourth] = server.requests;
    expect(fourth!.arrived_ms - third!.arrived_ms).toBeGreaterThanOrEqual(900);

    server.play(refusal("too_many_requests", { "retry-after": "1.5" }));
    const options = { retries_max: 0 };
    expect(await failureOf(sliproad.users.show(USER.id, options))).toMatchObject({
      retry_after_seconds: 2,
    });
  });

  it("up to retries_max times; the last failure is reported", async () => {
    server.play(resetConnection);
    const failure = await failureOf(sliproad.users.create(NEW_USER, { retries_max: 2 }));
    expect(failure.error_code).toBe("connection_failed");
    expect(failure.status).toBeNull();
    expect(failure.cause).toBeInstanceOf(Error);
    expect(keysSeen()).toEqual(Array(3).fill(failure.idempotency_key));

    server.play(staySilent);
    const options = { retries_max: 1, timeout_ms: 50, idempotency_key: "payout-7" };
    const late = await failureOf(sliproad.users.create(NEW_USER, options));
    expect(late.error_code).toBe("timed_out");
    expect(keysSeen()).toEqual(["payout-7", "payout-7"]);
  });

  it("after waits that double and are drawn at random up to their limit", async () => {
    vi.useFakeTimers();
    try {
      vi.mocked(Math.random).mockReturnValue(0.5);
      const tried_ms: number[] = [];
      const broken = async () => {
        tried_ms.push(Date.now());
        throw new SliproadError("connection_failed", "broken");
      };
      const run = withRetries(broken, { retries_max: 6, signal: null }).catch(() => {});
      await vi.runAllTimersAsync();
      await run;
      const waits = tried_ms.slice(1).map((time_ms, index) => time_ms - tried_ms[index]!);
      expect(waits).toEqual([250, 500, 1000, 2000, 4000, 4000]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("final failures are not retried", () => {
  const RETRIED: ErrorCode[] = ["too_many_requests", "unavailable", "outcome_unknown"];

  it.each(ERROR_CODES)("%s has its own error", async (code) => {
    server.play(refusal(code));
    const failure = await failureOf(sliproad.users.create(NEW_USER, { retries_max: 1 }));
    expect(failure).toMatchObject({
      name: "SliproadError",
      error_code: code,
      status: ERRORS[code][0],
      request_id: "req_1",
      doc_url: `http://127.0.0.1/docs/errors#${code}`,
      errors: [{ field: "user.email", code, message: "Do something else." }],
      idempotency_key: keysSeen()[0],
    });
    expect(failure.message).toContain(`${code}: Do something else.`);
    expect(isSliproadError(failure, code)).toBe(true);
    expect(isSliproadError(failure, "timed_out")).toBe(false);
    expect(server.requests).toHaveLength(RETRIED.includes(code) ? 2 : 1);
  });

  it("a Retry-After of more than a minute is not waited for", async () => {
    server.play(refusal("unavailable", { "retry-after": 61 }));
    const failure = await failureOf(sliproad.users.show(USER.id));
    expect(failure).toMatchObject({ error_code: "unavailable", retry_after_seconds: 61 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["errors is null", { errors: null }],
    ["errors is an object", { errors: { field: "user.email" } }],
    ["errors holds other things", { errors: [null, 7, { field: 1 }] }],
    ["all else is missing", { message: undefined, request_id: undefined, doc_url: 7 }],
  ])("an error response is read as far as possible: %s", async (_, odd) => {
    const body = { error_code: "record_invalid", message: "No.", request_id: "req_1", ...odd };
    server.play(answer(422, body, { "x-request-id": "req_1" }));
    const failure = await failureOf(sliproad.users.create(NEW_USER));
    const expected = { error_code: "record_invalid", status: 422, errors: [], request_id: "req_1" };
    expect(failure).toMatchObject(expected);
    expect(failure.message).not.toContain("undefined");
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["null", null],
    ["nothing", {}],
    ["a list", []],
    ["another record", { quote: USER }],
    ["null in the record's place", { user: null }],
  ])("a 2xx response that contains %s is an error", async (_, body) => {
    server.play(answer(200, body));
    const failure = await failureOf(sliproad.users.show(USER.id));
    expect(failure).toMatchObject({ error_code: "answer_unreadable", status: 200 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["without its key", { has_more: false }],
    ["with no list under its key", { users: {}, has_more: false }],
    ["of records without ids, which would never end", { users: [{}], has_more: true }],
    ["that is null", null],
  ])("a page %s is an error", async (_, body) => {
    server.play(answer(200, body));
    const failure = await failureOf(sliproad.users.list().page());
    expect(failure).toMatchObject({ error_code: "answer_unreadable", status: 200 });
    expect(server.requests).toHaveLength(1);
  });

  it("an unexpected 2xx response is an error with the request id and its key", async () => {
    server.play(answer(201, { quote: USER }, { "x-request-id": "req_7" }));
    const idempotency_key = "order-7";
    const failure = await failureOf(sliproad.users.create(NEW_USER, { idempotency_key }));
    expect(failure).toMatchObject({ status: 201, request_id: "req_7", idempotency_key });

    server.play(answer(200, { has_more: false }, { "x-request-id": "req_8" }));
    const page_failure = await failureOf(sliproad.users.list().page());
    expect(page_failure).toMatchObject({ status: 200, request_id: "req_8" });
  });

  it.each(["two\nlines", "naïve", "key\0", " key", "key ", "", "k".repeat(256)])(
    "the idempotency key %j is refused before anything is sent, and not repeated in the error",
    async (idempotency_key) => {
      server.play(success);
      const call = sliproad.users.create(NEW_USER, { idempotency_key });
      await expect(call).rejects.toThrow(/^idempotency_key must be/);
      expect(server.requests).toHaveLength(0);
    },
  );

  it("a response that is not from the service is recognised", async () => {
    server.play(answer(404, "<h1>Not found</h1>", { "x-request-id": "proxy_1" }));
    const failure = await failureOf(sliproad.users.show(USER.id));
    expect(failure).toMatchObject({ error_code: "answer_unreadable", status: 404 });
    expect(failure.request_id).toBe("proxy_1");

    server.play(answer(200, "<h1>Welcome</h1>"));
    const welcomed = await failureOf(sliproad.users.show(USER.id));
    expect(welcomed).toMatchObject({ error_code: "answer_unreadable", status: 200 });
    expect(server.requests).toHaveLength(1);
  });

  it.each([200, 503])("a %i response without end is cut off", async (status) => {
    let [requests, sent, is_cancelled] = [0, 0, false];
    const part = new Uint8Array(4 * 1024 * 1024).fill(0x20);
    const endless = async () => {
      requests += 1;
      const pull = (controller: ReadableStreamDefaultController) => {
        sent += part.length;
        controller.enqueue(part);
      };
      const cancel = () => {
        is_cancelled = true;
      };
      return new Response(new ReadableStream({ pull, cancel }), { status });
    };
    const client = new Sliproad({
      baseUrl: server.url,
      apiKey: "sk_test_1",
      fetch: endless,
      retries_max: 0,
    });
    const failure = await failureOf(client.users.create(NEW_USER, { idempotency_key: "order-8" }));
    expect(failure).toMatchObject({ error_code: "answer_unreadable", status });
    expect(failure.idempotency_key).toBe("order-8");
    expect(failure.message).toContain("larger than 64 MiB");
    expect([requests, is_cancelled]).toEqual([1, true]);
    expect(sent).toBeLessThan(80 * 1024 * 1024);
  });

  it("a redirect is not followed: the key is not sent to another host", async () => {
    server.play(answer(307, "", { location: `${server.url}/elsewhere` }));
    const failure = await failureOf(sliproad.users.create(NEW_USER));
    expect(failure).toMatchObject({ error_code: "answer_unreadable", status: 307 });
    expect(server.requests).toHaveLength(1);
  });
});

describe("abort", () => {
  it("before the call: nothing is sent", async () => {
    server.play(success);
    const signal = AbortSignal.abort(new Error("no longer wanted"));
    await expect(sliproad.users.create(NEW_USER, { signal })).rejects.toThrow("no longer wanted");
    expect(server.requests).toHaveLength(0);
  });

  it("while waiting for or reading the response, and while waiting to retry", async () => {
    for (const step of [staySilent, stall, refusal("unavailable", { "retry-after": 60 })]) {
      server.play(step);
      const control = new AbortController();
      const call = sliproad.users.create(NEW_USER, { signal: control.signal });
      const outcome = expect(call).rejects.toThrow("no longer wanted");
      await waitFor(() => server.requests.length === 1 && server.requests[0]!.body !== null);
      control.abort(new Error("no longer wanted"));
      await outcome;
      expect(server.requests).toHaveLength(1);
    }
  });
});

describe("limits", () => {
  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40])(
    "timeout_ms %d means no limit, not an immediate timeout",
    async (timeout_ms) => {
      server.play((response) => void setTimeout(() => success(response), 100));
      expect(await sliproad.users.show(USER.id, { timeout_ms, retries_max: 0 })).toEqual(USER);
    },
  );

  it.each([Number.NaN, -1, 0, "5" as never])(
    "timeout_ms %s is refused, and so is such a number of retries",
    async (wrong) => {
      server.play(success);
      const baseUrl = server.url;
      const make = (options: object) => new Sliproad({ baseUrl, accessToken: "token", ...options });
      expect(() => make({ timeout_ms: wrong })).toThrow(/^timeout_ms must be above 0/);
      const call = sliproad.users.show(USER.id, { timeout_ms: wrong });
      await expect(call).rejects.toThrow(/^timeout_ms must be above 0/);
      if (wrong === 0) return;
      const repeated = sliproad.users.show(USER.id, { retries_max: wrong });
      await expect(repeated).rejects.toThrow(/^retries_max must be 0 or more/);
      expect(server.requests).toHaveLength(0);
    },
  );

  it("apply to an access token that never arrives", async () => {
    server.play(success);
    const accessToken = () => new Promise<string>(() => {});
    const waiting = new Sliproad({ baseUrl: server.url, accessToken, retries_max: 0 });
    const late = await failureOf(waiting.users.show(USER.id, { timeout_ms: 50 }));
    expect(late.error_code).toBe("timed_out");
    const control = new AbortController();
    const call = waiting.users.show(USER.id, { signal: control.signal });
    setTimeout(() => control.abort(new Error("no longer wanted")), 20);
    await expect(call).rejects.toThrow("no longer wanted");
    expect(server.requests).toHaveLength(0);
  });
});

describe("every request contains", () => {
  it("the version, the credential, and a new key unless it is a GET", async () => {
    server.play(success, success, success, answer(200, { retention: {} }), success);
    await sliproad.users.create(NEW_USER);
    await sliproad.users.create(NEW_USER);
    await sliproad.users.update(USER.id, { city: "Lisbon" });
    await sliproad.users.delete(USER.id);
    await sliproad.users.show(USER.id);
    const keys = keysSeen();
    expect(keys.slice(0, 4)).not.toContain(undefined);
    expect(new Set(keys.slice(0, 4)).size).toBe(4);
    expect(keys[4]).toBeUndefined();
    for (const { headers } of server.requests) {
      expect(headers.authorization).toBe("Bearer sk_test_invented");
      expect(headers["sliproad-version"]).toBe("2026-11-15");
    }
  });

  it("a fresh access token for every attempt, and the version that was asked for", async () => {
    let tokens = 0;
    const accessToken = async () => {
      tokens += 1;
      return `token_${tokens}`;
    };
    const other = new Sliproad({ baseUrl: `${server.url}/`, accessToken, version: "2030-01-01" });
    server.play(refusal("unavailable"), success);
    await other.users.show(USER.id);
    const seen = server.requests.map(({ headers }) => headers.authorization);
    expect(seen).toEqual(["Bearer token_1", "Bearer token_2"]);
    expect(server.requests[0]!.path).toBe(`/users/${USER.id}`);
    expect(server.requests[0]!.headers["sliproad-version"]).toBe("2030-01-01");
  });

  it("no token that is invalid in a header, and the error does not repeat it", async () => {
    server.play(success);
    const other = new Sliproad({ baseUrl: server.url, accessToken: () => "secret\ntoken" });
    const error = await other.users.show(USER.id).catch((thrown) => thrown);
    expect(error.message).toMatch(/^accessToken must be printable/);
    expect(`${error.stack} ${error.cause}`).not.toContain("secret");
    expect(server.requests).toHaveLength(0);
  });

  it("ids that are whole path segments; otherwise nothing is sent", async () => {
    server.play(success);
    for (const wrong of ["", ".", "..", undefined as never]) {
      await expect(sliproad.users.show(wrong)).rejects.toThrow(/user_id must be an id/);
    }
    expect(server.requests).toHaveLength(0);
    await sliproad.users.show("a/../b?c");
    expect(server.requests[0]!.path).toBe("/users/a%2F..%2Fb%3Fc");
  });
});

describe("a client with invalid options is refused at construction", () => {
  it.each([
    [{ baseUrl: "", apiKey: "key" }, /baseUrl/],
    [{ baseUrl: "ftp://127.0.0.1", apiKey: "key" }, /baseUrl/],
    [{ baseUrl: "http://127.0.0.1", apiKey: "" }, /apiKey or accessToken/],
    [{ baseUrl: "http://127.0.0.1" }, /apiKey or accessToken/],
    [{ baseUrl: "http://127.0.0.1", apiKey: "a", accessToken: "b" }, /not both/],
    [{ baseUrl: "http://127.0.0.1", apiKey: "secret\n" }, /^apiKey must be(?!.*secret)/s],
    [{ baseUrl: "http://127.0.0.1", apiKey: "sécret" }, /^apiKey must be(?!.*sécret)/s],
    [{ baseUrl: "http://127.0.0.1", accessToken: "a b" }, /^accessToken must be/],
    [{ baseUrl: "http://127.0.0.1", apiKey: "key", version: "1\n2" }, /^version must be/],
    [{ baseUrl: "http://me:secret@127.0.0.1", apiKey: "key" }, /baseUrl(?!.*secret)/],
    [{ baseUrl: "http://127.0.0.1/?a=b", apiKey: "key" }, /baseUrl/],
  ])("%j", (options, message) => {
    expect(() => new Sliproad(options as never)).toThrow(message);
  });

  it.each([
    ["a page", { window: {}, document: {} }],
    ["a worker", { WorkerGlobalScope: class {}, importScripts: () => {}, process: undefined }],
  ])("an API key in %s of a browser", (_, scope) => {
    for (const [name, value] of Object.entries(scope)) vi.stubGlobal(name, value);
    try {
      const baseUrl = "http://127.0.0.1";
      expect(() => new Sliproad({ baseUrl, apiKey: "key" })).toThrow(/browser/);
      new Sliproad({ baseUrl, accessToken: "token" });
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it.each([
    ["Node", {}],
    ["Deno", { Deno: {}, process: undefined }],
    ["Bun", { Bun: {}, process: undefined }],
  ])("but not one in a worker of %s", (_, scope) => {
    const worker = { WorkerGlobalScope: class {}, importScripts: () => {}, ...scope };
    for (const [name, value] of Object.entries(worker)) vi.stubGlobal(name, value);
    try {
      const made = new Sliproad({ baseUrl: "http://127.0.0.1", apiKey: "key" });
      expect(made).toBeInstanceOf(Sliproad);
    } finally {
      vi.unstubAllGlobals();
    }
  });
});
