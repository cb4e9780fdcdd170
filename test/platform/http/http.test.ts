import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { revokeApiKey } from "../../../src/accounts/revoke-api-key.ts";
import { ERRORS, type ErrorCode } from "../../../src/platform/errors.ts";
import { VERSION } from "../../../src/platform/http/check-headers.ts";
import { exampleBody, fillPath, readDocument } from "../../harness/api-document.ts";
import {
  type Answer,
  countConnections,
  startTestServer,
  type TestServer,
} from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UNKNOWN_ID = "01900000-0000-7000-8000-000000000000";
const PUBLIC_URL = "https://pay.example.com/ramp";

let server: TestServer;
let user_id: string;
beforeAll(async () => {
  server = await startTestServer({
    environment: {
      SLIPROAD_PUBLIC_URL: `${PUBLIC_URL}/`,
      SLIPROAD_SECURITY_CONTACT: "mailto:security@example.com, https://example.com/report",
    },
  });
  user_id = (await createUser(server)).body.user.id;
});
afterAll(() => server.close());

let created = 0;
function newUser(): Record<string, unknown> {
  created += 1;
  const email = `invented${created}@example.com`;
  return { beneficiary_type: "individual", email, first_name: "Ina", last_name: "Vented" };
}

function createUser(on: TestServer, key?: string): Promise<Answer> {
  return on.call("POST", "/users", { user: newUser() }, key === undefined ? {} : { key });
}

function expectError(answer: Answer, code: ErrorCode): void {
  const { error_code, status } = answer.body ?? {};
  expect([answer.status, status, error_code]).toEqual([ERRORS[code][0], ERRORS[code][0], code]);
}

/** `field code` of every problem in the answer. */
function problemsOf(answer: Answer): string[] {
  const { errors = [] } = answer.body as { errors?: { field: string; code: string }[] };
  return errors.map(({ field, code }) => `${field} ${code}`);
}

describe("every answer", () => {
  it.each([
    ["a success", "GET", "/users"],
    ["a refusal", "GET", `/users/${UNKNOWN_ID}`],
    ["an unknown route", "GET", "/nowhere"],
    ["an unknown method", "DELETE", "/users"],
    ["an address that cannot be decoded", "GET", "/%zz"],
    ["health", "GET", "/healthz"],
    ["readiness", "GET", "/readyz"],
    ["metrics", "GET", "/metrics"],
    ["the reference", "GET", "/docs/errors"],
    ["the sign-in page", "GET", "/sign-in"],
  ])("%s has its own request id and the version", async (_name, method, path) => {
    const [one, two] = [await server.call(method, path), await server.call(method, path)];
    expect(one.headers.get("x-request-id")).toMatch(UUID);
    expect(one.headers.get("x-request-id")).not.toBe(two.headers.get("x-request-id"));
    expect(one.headers.get("sliproad-version")).toBe(VERSION);
  });

  it("requires https from browsers if the public URL uses https, and only then", async () => {
    for (const path of ["/healthz", "/sign-in", "/nowhere", "/docs", `/users/${UNKNOWN_ID}`]) {
      const { headers } = await server.call("GET", path);
      const policy = headers.get("strict-transport-security");
      expect(policy, path).toBe("max-age=31536000; includeSubDomains");
    }
    const plain = await startTestServer({ beside: server });
    const { headers } = await plain.call("GET", "/sign-in");
    await plain.app.close();
    expect(headers.get("strict-transport-security")).toBeNull();
  });

  it("has status 200 on success, including creations, and is JSON", async () => {
    const answer = await createUser(server);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  });

  it("to a failed request has one flat body whose request id is that of the header", async () => {
    const answer = await server.call("GET", `/users/${UNKNOWN_ID}`);
    expect(answer.body).toEqual({
      error_code: "record_not_found",
      message: "user_id: This record does not exist; check the id.",
      status: 404,
      request_id: answer.headers.get("x-request-id"),
      doc_url: `${PUBLIC_URL}/docs/errors#record_not_found`,
      errors: [
        {
          field: "user_id",
          code: "record_not_found",
          message: "This record does not exist; check the id.",
        },
      ],
    });
  });

  it("contains absolute URLs from SLIPROAD_PUBLIC_URL, never from the Host header", async () => {
    const address = new URL(server.url);
    const text = await exchange(
      `GET /nowhere HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n` +
        "Connection: close\r\n\r\n",
      address,
    );
    expect(text).toContain(`"doc_url":"${PUBLIC_URL}/docs/errors#route_not_found"`);
    expect(text).not.toContain("evil.example");
  });

  it("has no entry in errors if no field is wrong", async () => {
    const answer = await server.call("GET", "/nowhere");
    expectError(answer, "route_not_found");
    expect(answer.body).not.toHaveProperty("errors");
  });
});

describe("version and format", () => {
  it("the pinned version is served", async () => {
    const headers = { "sliproad-version": VERSION };
    expect((await server.call("GET", "/users", undefined, { headers })).status).toBe(200);
  });

  it.each(["2020-01-01", "latest", ""])("400 for the unknown version %j", async (version) => {
    const headers = { "sliproad-version": version };
    const answer = await server.call("GET", "/users", undefined, { headers });
    expectError(answer, "version_unknown");
    expect(answer.body.message).toContain(VERSION);
  });

  it.each(["application/xml", "text/html", "image/*"])(
    "400 when only %s is accepted",
    async (accept) => {
      const answer = await server.call("GET", "/users", undefined, { headers: { accept } });
      expectError(answer, "unknown_format");
    },
  );

  it.each(["application/json", "APPLICATION/JSON", "*/*", "text/html, application/*;q=0.5"])(
    "JSON is served to Accept: %s",
    async (accept) => {
      const answer = await server.call("GET", "/users", undefined, { headers: { accept } });
      expect(answer.status).toBe(200);
    },
  );
});

describe("bodies", () => {
  const post = (raw: string | Uint8Array, headers: Record<string, string> = {}) =>
    server.call("POST", "/users", undefined, { raw, headers });

  it.each([
    ["a cut one", '{"user":'],
    ["a trailing comma", '{"user":{},}'],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
    ["two documents", "{}{}"],
    ["nesting without end", "[".repeat(5_000)],
  ])("400 bad_request for malformed JSON: %s", async (_name, raw) => {
    expectError(await post(raw), "bad_request");
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "nonsense"])(
    "415 for the content type %s",
    async (type) => {
      expectError(await post("{}", { "content-type": type }), "unsupported_media_type");
    },
  );

  it.each(["gzip", "br", "deflate", "identity, gzip", "nonsense"])(
    "415 for a body with the Content-Encoding %s, and the answer says to send it uncompressed",
    async (encoding) => {
      const raw = gzipSync(JSON.stringify({ user: newUser() }));
      const answer = await post(raw, { "content-encoding": encoding });
      expectError(answer, "unsupported_media_type");
      expect(answer.body.message).toContain("uncompressed");
      expect(answer.headers.get("accept-encoding")).toBe("identity");
    },
  );

  it("Content-Encoding identity is read, and a page's route refuses any other", async () => {
    const raw = JSON.stringify({ user: newUser() });
    expect((await post(raw, { "content-encoding": "Identity" })).status).toBe(200);
    const headers = { "content-encoding": "gzip" };
    const refused = await server.call("PATCH", "/kyc/session/identity", {}, { key: null, headers });
    expectError(refused, "unsupported_media_type");
  });

  it("415 for a body without a content type", async () => {
    const text = await exchange(
      `POST /users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.key}\r\n` +
        "Content-Length: 2\r\nConnection: close\r\n\r\n{}",
    );
    expect(text).toMatch(/^HTTP\/1\.1 415 /);
    expect(text).toContain('"error_code":"unsupported_media_type"');
  });

  it("a content type with parameters and in any case is JSON", async () => {
    const raw = JSON.stringify({ user: newUser() });
    const answer = await post(raw, { "content-type": "Application/JSON; charset=UTF-8" });
    expect(answer.status).toBe(200);
  });

  it("1 MiB is read, one byte more is 413", async () => {
    const fill = (bytes: number) => {
      const [head, tail] = ['{"user":{"first_name":"', '"}}'];
      return `${head}${"x".repeat(bytes - head.length - tail.length)}${tail}`;
    };
    expectError(await post(fill(1024 * 1024)), "parameter_missing");
    const answer = await post(fill(1024 * 1024 + 1));
    expectError(answer, "body_too_large");
    expect(answer.headers.get("x-request-id")).toMatch(UUID);
  });

  it("400 parameter_missing for an empty body, with and without a content type", async () => {
    for (const raw of ["", undefined]) {
      const answer = await server.call(
        "POST",
        "/users",
        undefined,
        raw === undefined ? {} : { raw },
      );
      expectError(answer, "parameter_missing");
    }
  });

  it.each([
    ["null", "parameter_missing", 400],
    ["[]", "record_invalid", 422],
    ['"text"', "record_invalid", 422],
    ["7", "record_invalid", 422],
  ])("the body %s, which is not an object, has one problem: %s", async (raw, code, status) => {
    const answer = await post(raw);
    expect(problemsOf(answer)).toEqual([`body ${code}`]);
    expect(answer.status).toBe(status);
  });

  it("a route without a body accepts an empty object, and refuses fields", async () => {
    const detail = await createDetail(server, user_id);
    const path = `/users/${user_id}/payment_details/${detail}/deactivate`;
    expect((await server.call("PATCH", path, {})).status).toBe(200);
    const answer = await server.call("PATCH", path, { reason: "moved" });
    expectError(answer, "parameter_unknown");
  });

  it("an answer stays small however many problems there are", async () => {
    const metadata = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, "\0"]));
    const answer = await server.call("POST", "/users", { user: { ...newUser(), metadata } });
    expect(answer.body.errors.length).toBeLessThanOrEqual(200);
  });
});

describe("malformed HTTP", () => {
  const POST = "POST /users HTTP/1.1\r\nHost: x\r\n";
  const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";
  it.each([
    ["a bad request line", "NONSENSE\r\n\r\n"],
    ["a bad header", "GET /users HTTP/1.1\r\nHost: x\r\nbroken header\r\n\r\n"],
    ["oversized headers", `GET /users HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(40_000)}\r\n\r\n`],
    ["a bad length", "POST /users HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n"],
    ["two lengths", `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ["a length beside chunks", `${POST}Content-Length: 2\r\n${CHUNKED}0\r\n\r\n`],
  ])("%s gets the flat JSON error body", async (_name, sent) => {
    const [head = "", body = ""] = (await exchange(sent)).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(head).toContain(`Sliproad-Version: ${VERSION}`);
    const id = /X-Request-Id: (\S+)/.exec(head)?.[1];
    expect(JSON.parse(body)).toEqual({
      error_code: "bad_request",
      message: expect.any(String),
      status: 400,
      request_id: id,
      doc_url: `${PUBLIC_URL}/docs/errors#bad_request`,
    });
  });
});

describe("routes and ids", () => {
  it.each([
    ["GET", "/nowhere"],
    ["POST", "/nowhere"],
    ["DELETE", "/users"],
    ["PUT", "/users"],
    ["GET", "/users/x/y/z"],
    ["GET", "/Users"],
  ])("404 route_not_found for %s %s", async (method, path) => {
    expectError(await server.call(method, path), "route_not_found");
  });

  const malformed = [
    "",
    "x",
    "1",
    UNKNOWN_ID.slice(1),
    `${UNKNOWN_ID}0`,
    "%00",
    "%zz",
    "%c0",
    "y".repeat(900),
  ];
  const routes = (id: string) => [
    ["GET", `/users/${id}`],
    ["PATCH", `/users/${id}`, { user: { city: "Lisbon" } }],
    ["GET", `/users/${id}/payment_details`],
    ["GET", `/users/${id}/payment_details/${UNKNOWN_ID}`],
    ["GET", `/users/${user_id}/payment_details/${id}`],
    ["PATCH", `/users/${user_id}/payment_details/${id}/deactivate`],
    ["POST", `/users/${id}/payment_details/validate`, { payment_detail: {} }],
    ["POST", `/users/${id}/payment_details`, { payment_detail: { shoe_size: "43" } }],
  ];

  it.each(malformed)("the malformed id %j is answered exactly as an unknown one", async (id) => {
    const asked = routes(id);
    for (const [at, [method, path, body]] of routes(UNKNOWN_ID).entries()) {
      const unknown = await server.call(method as string, path as string, body);
      const answer = await server.call(method as string, asked[at]![1] as string, body);
      expect({ ...answer.body, request_id: "" }).toEqual({ ...unknown.body, request_id: "" });
      expect(answer.body.errors).toContainEqual(
        expect.objectContaining({ code: "record_not_found" }),
      );
    }
  });

  it("a record of another account or of another user is answered like an unknown one", async () => {
    const other = await server.addAccount("Other");
    const theirs = (await createUser(server, other.key)).body.user.id;
    expectError(await server.call("GET", `/users/${theirs}`), "record_not_found");
    const detail = await createDetail(server, user_id);
    const neighbour = (await createUser(server)).body.user.id;
    const path = `/users/${neighbour}/payment_details/${detail}`;
    expectError(await server.call("GET", path), "record_not_found");
    expectError(await server.call("PATCH", `${path}/deactivate`), "record_not_found");
  });

  it("an id may be written in upper case", async () => {
    const answer = await server.call("GET", `/users/${user_id.toUpperCase()}`);
    expect(answer.body.user.id).toBe(user_id);
  });
});

describe("problems of a request", () => {
  it("an unknown field of the body is refused with the nearest known one", async () => {
    const answer = await server.call("POST", "/users", { user: { ...newUser(), emial: "x" } });
    expectError(answer, "parameter_unknown");
    expect(answer.body.errors[0]).toMatchObject({ field: "user.emial" });
    expect(answer.body.message).toContain("Did you mean email?");
  });

  it("an unknown query parameter is refused with the nearest known one", async () => {
    const answer = await server.call("GET", "/users?limt=3");
    expectError(answer, "parameter_unknown");
    expect(answer.body.message).toBe("limt: This field is unknown. Did you mean limit?");
    expectError(await server.call("GET", `/users/${user_id}?expand=kyc`), "parameter_unknown");
  });

  it("an unknown query parameter is refused by every operation", async () => {
    const missing = new Proxy({}, { get: () => UNKNOWN_ID });
    const accepted: string[] = [];
    for (const operation of readDocument(server.app.server).operations) {
      // Both look for their user first: a file is read, and a payee is judged, only for one.
      if (operation.is_upload || operation.name === "validatePaymentDetail") continue;
      const url = `${fillPath(operation, missing)}?no_such_parameter=1`;
      const { body } = await server.call(operation.method, url, exampleBody(operation, missing));
      if (body.error_code !== "parameter_unknown") accepted.push(operation.name);
    }
    expect(accepted).toEqual([]);
  });

  it("a field similar to none is refused with the list of known ones", async () => {
    const answer = await server.call("POST", "/users", { user: newUser(), zzzzzzzzzz: 1 });
    expect(answer.body.errors).toEqual([
      {
        field: "zzzzzzzzzz",
        code: "parameter_unknown",
        message: "This field is unknown. Known fields: user.",
      },
    ]);
  });

  // Each request adds one problem of a lower rank to the one before.
  const faulty: [ErrorCode, string, Record<string, unknown>][] = [
    ["parameter_unknown", UNKNOWN_ID, { shoe_size: "43", rails: 7 }],
    ["parameter_missing", UNKNOWN_ID, { rails: 7 }],
    [
      "record_not_found",
      UNKNOWN_ID,
      { ...detailFields(), iban: "DE00", bank_name: "x".repeat(200) },
    ],
    ["record_invalid", "own", { ...detailFields(), iban: "DE00", bank_name: "x".repeat(200) }],
    ["value_too_long", "own", { ...detailFields(), country: "KP", bank_name: "x".repeat(200) }],
    ["country_not_supported", "own", { ...detailFields(), country: "KP", rails: "wire" }],
    ["currency_not_supported", "own", { ...detailFields(), currency: "xxx" }],
    ["rails_not_available", "own", { ...detailFields(), rails: "wire" }],
  ];
  it.each(faulty)(
    "%s is the top-level code if nothing of higher rank is wrong",
    async (code, id, fields) => {
      const path = `/users/${id === "own" ? user_id : id}/payment_details`;
      const answer = await server.call("POST", path, { payment_detail: fields });
      expectError(answer, code);
      // A single problem is the top-level message; for several it is the code's own advice.
      const [only, ...more] = answer.body.errors;
      const message = more.length === 0 ? `${only.field}: ${only.message}` : ERRORS[code][1];
      expect(answer.body.message).toBe(message);
    },
  );

  it("all problems are reported together, each once", async () => {
    const answer = await server.call("POST", `/users/${UNKNOWN_ID}/payment_details?colour=red`, {
      payment_detail: {
        ...detailFields(),
        iban: "DE00",
        country: "KP",
        city: " ",
        shoe_size: "43",
      },
    });
    expectError(answer, "parameter_unknown");
    expect(problemsOf(answer).sort()).toEqual([
      "colour parameter_unknown",
      "payment_detail.city parameter_missing",
      "payment_detail.country country_not_supported",
      "payment_detail.iban record_invalid",
      "payment_detail.shoe_size parameter_unknown",
      "user_id record_not_found",
    ]);
  });

  it.each([
    ["absent", undefined],
    ["null", null],
    ["empty", ""],
    ["blank", " \t "],
  ])("a required field that is %s is 400 parameter_missing", async (_name, value) => {
    for (const field of ["email", "beneficiary_type", "first_name"]) {
      const answer = await server.call("POST", "/users", {
        user: { ...newUser(), [field]: value },
      });
      expectError(answer, "parameter_missing");
      expect(problemsOf(answer)).toEqual([`user.${field} parameter_missing`]);
    }
    expectError(await server.call("POST", "/users", { user: value }), "parameter_missing");
  });

  it.each([
    ["NUL", "An\0a"],
    ["a lone high surrogate", "An\ud800a"],
    ["a lone low surrogate", "An\udc00a"],
  ])("%s is record_invalid in any field", async (_name, text) => {
    const raw = (user: unknown) => ({ raw: JSON.stringify({ user }) });
    for (const fields of [{ first_name: text }, { metadata: { note: text } }]) {
      const answer = await server.call(
        "POST",
        "/users",
        undefined,
        raw({ ...newUser(), ...fields }),
      );
      expectError(answer, "record_invalid");
    }
    const keyed = raw({ ...newUser(), metadata: { [text]: "x" } });
    expectError(await server.call("POST", "/users", undefined, keyed), "record_invalid");
    const path = `/users?starting_after=${encodeURIComponent("a\0")}`;
    expectError(await server.call("GET", path), "record_invalid");
  });

  it("a surrogate pair is a character like any other", async () => {
    const answer = await server.call("POST", "/users", {
      user: { ...newUser(), first_name: "\u{1f600}" },
    });
    expect(answer.body.user.first_name).toBe("\u{1f600}");
  });

  it("names that objects inherit are ordinary data", async () => {
    const raw = `{"user":{"beneficiary_type":"business","email":"proto@example.com","company_name":
      "Proto","metadata":{"__proto__":"a","constructor":"b","toString":"c"}}}`;
    const answer = await server.call("POST", "/users", undefined, { raw });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"metadata":{"__proto__":"a","constructor":"b","toString":"c"}');
    const spoilt = `{"user":{"__proto__":{"email":"x@example.com"}}}`;
    expectError(
      await server.call("POST", "/users", undefined, { raw: spoilt }),
      "parameter_unknown",
    );
  });

  it.each(["", "x".repeat(256), "naïve"])("422 for the Idempotency-Key %j", async (key) => {
    const headers = { "idempotency-key": key };
    const answer = await server.call("POST", "/users", { user: newUser() }, { headers });
    expectError(answer, "record_invalid");
    expect(problemsOf(answer)).toEqual(["Idempotency-Key record_invalid"]);
  });
});

describe("unauthorized", () => {
  it.each([
    ["no key", null],
    ["a wrong key", "sk_test_wrong0000000000000000000000000"],
    ["a key for the other mode", "sk_live_0000000000000000000000000000"],
    ["a key that is too long", "x".repeat(5_000)],
    ["an empty key", ""],
  ])("401 for %s", async (_name, key) => {
    const answer = await server.call("GET", "/users", undefined, { key });
    expectError(answer, "unauthorized");
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expectError(await server.call("POST", "/users", { user: newUser() }, { key }), "unauthorized");
  });

  it("401 for another scheme, and the scheme is case-insensitive", async () => {
    const basic = { authorization: `Basic ${server.key}` };
    expectError(
      await server.call("GET", "/users", undefined, { key: null, headers: basic }),
      "unauthorized",
    );
    const lower = { authorization: `bearer ${server.key}` };
    const answer = await server.call("GET", "/users", undefined, { key: null, headers: lower });
    expect(answer.status).toBe(200);
  });

  it("401 takes precedence over everything else that is wrong", async () => {
    const headers = { "sliproad-version": "1", accept: "text/html" };
    const answer = await server.call("POST", "/users?x=1", undefined, {
      key: null,
      raw: "{",
      headers,
    });
    expectError(answer, "unauthorized");
  });

  it("another server refuses a revoked key: writes at once, reads within a second", async () => {
    const beside = await startTestServer({ beside: server });
    try {
      const account = await server.addAccount("Revoked");
      const { key } = account;
      expect((await beside.call("GET", "/users", undefined, { key })).status).toBe(200);
      expect((await createUser(beside, key)).status).toBe(200);
      const [row] = await server.db.database.query<{ id: string }>(
        "select id from api_keys where account_id = $1",
        [account.account_id],
      );
      const by = { id: row!.id, actor: "command line", reason: "test" } as const;
      await revokeApiKey(server.core.database, by, server.core.clock.now());
      const revoked_ms = performance.now();

      expectError(await createUser(beside, key), "unauthorized");
      expectError(await createUser(server, key), "unauthorized");
      await waitFor(async () => {
        const asked_ms = performance.now();
        const { status } = await beside.call("GET", "/users", undefined, { key });
        if (status === 200) expect(asked_ms - revoked_ms).toBeLessThan(1_000);
        return status === 401;
      });
    } finally {
      await beside.app.close();
    }
  });
});

describe("an internal error", () => {
  it("is a 500 without a stack trace or SQL, and a log line with both", async () => {
    const lines: string[] = [];
    const broken = await startTestServer({
      log_destination: { write: (line) => lines.push(line) },
    });
    try {
      await broken.db.database.query("alter table users rename to gone");
      for (const answer of [await broken.call("GET", "/users"), await createUser(broken)]) {
        expectError(answer, "internal_error");
        expect(Object.keys(answer.body).sort()).toEqual(
          ["doc_url", "error_code", "message", "request_id", "status"].sort(),
        );
        expect(answer.text).not.toMatch(/select|relation|users|\.ts|at /i);
        const line = lines.find((text) => text.includes(answer.body.request_id))!;
        expect(JSON.parse(line)).toMatchObject({
          err: { message: 'relation "users" does not exist', stack: expect.any(String) },
        });
      }
    } finally {
      await broken.close();
    }
  });
});

describe("a body that is interrupted", () => {
  it("is the caller's error, and the log reports no failure of ours", async () => {
    const lines: string[] = [];
    const watched = await startTestServer({
      log_destination: { write: (line) => void lines.push(line) },
    });
    const open = countConnections(watched);
    try {
      const form = "application/x-www-form-urlencoded";
      const page = `Accept: text/html\r\nCookie: sliproad_form=${"a".repeat(43)}`;
      for (const [path, type, more] of [
        ["/users", "application/json", `Authorization: Bearer ${watched.key}`],
        ["/oauth/token", form, "Accept: application/json"],
        ["/sign-in", form, page],
      ]) {
        const head = `Host: x\r\nContent-Type: ${type}\r\n${more}\r\nTransfer-Encoding: chunked`;
        const sent = `POST ${path} HTTP/1.1\r\n${head}\r\n\r\nZZ\r\n`;
        const text = await exchange(sent, new URL(watched.url));
        expect(text.split("\r\n")[0]).toBe("HTTP/1.1 400 Bad Request");
      }
      await waitFor(async () => open() === 0);
      await watched.call("GET", "/healthz");
      expect(lines.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
    } finally {
      await watched.close();
    }
  });
});

describe("lists", () => {
  let listed: TestServer;
  let ids: string[];
  beforeAll(async () => {
    listed = await startTestServer();
    // One after the other, so that each has its own time.
    for (let count = 0; count < 7; count += 1) await createUser(listed);
    ids = (await listed.call("GET", "/users")).body.users.map((user: { id: string }) => user.id);
  });
  afterAll(() => listed.close());
  const list = (query: string) => listed.call("GET", `/users?${query}`);
  const idsOf = (answer: Answer) => answer.body.users.map((user: { id: string }) => user.id);

  it("are newest first, under their key, with has_more", async () => {
    const { body } = await list("");
    expect(Object.keys(body)).toEqual(["users", "has_more"]);
    const times = body.users.map((user: { created_at: string }) => user.created_at);
    expect(times).toEqual([...times].sort().reverse());
    expect(idsOf(await list("limit=7"))).toEqual(ids);
    expect((await list("limit=7")).body.has_more).toBe(false);
    expect((await list("limit=6")).body.has_more).toBe(true);
  });

  it.each([
    "0",
    "101",
    "-1",
    "1.5",
    "many",
    "",
    "3&limit=4",
    "%205",
    "5%20",
    "0x5",
    "1e1",
    "5.0",
    "+5",
  ])("422 for limit=%s", async (limit) => {
    expectError(await list(`limit=${limit}`), "record_invalid");
  });

  it("the limit is 25 by default and at most 100", async () => {
    const account = await listed.addAccount("Many");
    await Promise.all(Array.from({ length: 102 }, () => createUser(listed, account.key)));
    const options = { key: account.key };
    expect((await listed.call("GET", "/users", undefined, options)).body.users).toHaveLength(25);
    const whole = await listed.call("GET", "/users?limit=100", undefined, options);
    expect(whole.body.users).toHaveLength(100);
    expect(whole.body.has_more).toBe(true);
  });

  it("starting_after returns all records once while others are inserted", async () => {
    const account = await listed.addAccount("Walked");
    const { key } = account;
    const before = await Promise.all(Array.from({ length: 30 }, () => createUser(listed, key)));
    const expected = new Set(before.map((answer) => answer.body.user.id));
    const walked: string[] = [];
    const inserting: Promise<Answer>[] = [];
    for (let cursor = "", has_more = true; has_more; cursor = `&starting_after=${walked.at(-1)}`) {
      inserting.push(createUser(listed, key), createUser(listed, key));
      const page = await listed.call("GET", `/users?limit=4${cursor}`, undefined, { key });
      walked.push(...idsOf(page));
      has_more = page.body.has_more;
    }
    await Promise.all(inserting);
    expect(new Set(walked).size).toBe(walked.length);
    expect([...expected].filter((id) => !walked.includes(id as string))).toEqual([]);
    expect(walked).toEqual([...walked].sort().reverse());
  });

  it("a page after the last record is empty", async () => {
    const answer = await list(`starting_after=${ids.at(-1)}`);
    expect(answer.body).toEqual({ users: [], has_more: false });
  });

  it("created_after and created_before exclude the exact time they name", async () => {
    const { body } = await list("limit=7");
    const times: string[] = body.users.map((user: { created_at: string }) => user.created_at);
    const [after, before] = [times[5]!, times[1]!];
    expect(idsOf(await list(`created_after=${after}&created_before=${before}`))).toEqual(
      ids.filter((_, at) => times[at]! > after && times[at]! < before),
    );
    const zoned = encodeURIComponent("2001-01-01T00:00:00+02:00");
    expect(idsOf(await list(`created_before=${zoned}`))).toEqual([]);
    expect(idsOf(await list("created_after=2001-01-01"))).toEqual(ids);
    expect(idsOf(await list("created_after=9999-12-31T23:59:59.999Z"))).toEqual([]);
    expect(idsOf(await list("created_after=0001-01-01"))).toEqual(ids);
  });

  it.each([
    "created_after=yesterday",
    "created_before=2026-02-30",
    "created_after=2026-13-01T00:00:00Z",
    "created_after=2026-01-01T25:00:00Z",
    "created_after=",
    "starting_after=x",
    "starting_after=",
    "status=asleep",
    "status=",
  ])("422 for %s", async (query) => {
    expectError(await list(query), "record_invalid");
  });

  it("all problems of the query are reported together", async () => {
    const answer = await list("limit=0&starting_after=x&created_after=y&status=z");
    expect(problemsOf(answer).sort()).toEqual([
      "created_after record_invalid",
      "limit record_invalid",
      "starting_after record_invalid",
      "status record_invalid",
    ]);
  });
});

describe("rate limits", () => {
  let limited: TestServer;
  beforeAll(async () => {
    const environment = { SLIPROAD_RATE_LIMIT: "3", SLIPROAD_RATE_LIMIT_ANONYMOUS: "2" };
    limited = await startTestServer({ environment });
  });
  afterAll(() => limited.close());

  /** More than two windows allow: some are refused wherever a window ends. */
  const burst = (path: string, key?: string | null) =>
    Promise.all(
      Array.from({ length: 10 }, () =>
        limited.call("GET", path, undefined, key === undefined ? {} : { key }),
      ),
    );

  it("are enforced per key: 429 with Retry-After, and allowed again after it", async () => {
    const answers = await burst("/users");
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(4);
    for (const answer of answers) {
      expect(answer.headers.get("ratelimit-limit")).toBe("3");
      expect(Number(answer.headers.get("ratelimit-remaining"))).toBeLessThan(3);
      expect(answer.headers.get("ratelimit-reset")).toBe("1");
    }
    expectError(refused[0]!, "too_many_requests");
    expect(refused[0]!.headers.get("retry-after")).toBe("1");
    expect(refused[0]!.headers.get("ratelimit-remaining")).toBe("0");
    const other = await limited.addAccount("Other");
    await burst("/users");
    expect((await limited.call("GET", "/users", undefined, { key: other.key })).status).toBe(200);
    await waitFor(async () => (await limited.call("GET", "/users")).status === 200);
  });

  it("count calls without a valid key per IP address", async () => {
    const answers = await burst("/users", "sk_test_nobody00000000000000");
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([401, 429]));
    expect(answers[0]!.headers.get("ratelimit-limit")).toBe("2");
  });

  it("do not apply to health checks and pages", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/docs/errors", "/sign-in"]) {
      const answers = await burst(path, null);
      expect(answers.filter((answer) => answer.status === 429)).toEqual([]);
      expect(answers[0]!.headers.has("ratelimit-limit")).toBe(false);
    }
  });

  it("trust X-Forwarded-For only from a trusted proxy", async () => {
    const environment = {
      SLIPROAD_RATE_LIMIT_ANONYMOUS: "1",
      SLIPROAD_TRUSTED_PROXIES: "127.0.0.1",
    };
    const behind = await startTestServer({ beside: limited, environment });
    const ask = (on: TestServer, address: string) =>
      on.call("GET", "/users", undefined, { key: null, headers: { "x-forwarded-for": address } });
    const addresses = Array.from({ length: 10 }, (_, n) => `203.0.113.${n}`);
    try {
      const trusted = await Promise.all(addresses.map((address) => ask(behind, address)));
      expect(trusted.map((answer) => answer.status)).toEqual(addresses.map(() => 401));
      for (const address of ["203.0.113.77", "[2001:db8::77]"]) {
        const ports = addresses.map((_, n) => `${address}:${50_000 + n}`);
        const same = await Promise.all(ports.map((one) => ask(behind, one)));
        expect(same.map((answer) => answer.status)).toContain(429);
      }
      const direct = await Promise.all(addresses.map((address) => ask(limited, address)));
      expect(direct.map((answer) => answer.status)).toContain(429);
    } finally {
      await behind.app.close();
    }
  });

  it("are disabled by 0", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => server.call("GET", "/users", undefined, { key: null })),
    );
    expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([401]));
    expect(answers[0]!.headers.has("ratelimit-limit")).toBe(false);
  });
});

describe("security.txt", () => {
  const path = "/.well-known/security.txt";

  it("names the contacts, its own address and an end that lies ahead", async () => {
    const answer = await fetch(`${server.url}${path}`);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const [first, second, expires, language, canonical, rest] = (await answer.text()).split("\n");
    expect([first, second]).toEqual([
      "Contact: mailto:security@example.com",
      "Contact: https://example.com/report",
    ]);
    expect(expires).toMatch(/^Expires: \d{4}-\d{2}-\d{2}T00:00:00Z$/);
    const days = (Date.parse(expires!.slice(9)) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(80);
    expect(days).toBeLessThan(100);
    expect([language, canonical, rest]).toEqual([
      "Preferred-Languages: en",
      `Canonical: ${PUBLIC_URL}${path}`,
      "",
    ]);
  });

  it("does not exist where no contact is set", async () => {
    const plain = await startTestServer({ beside: server });
    const answer = await plain.call("GET", path, undefined, { key: null });
    await plain.app.close();
    expect(answer.status).toBe(404);
  });
});

describe("health", () => {
  it("healthz answers without a key, also while the database is unavailable", async () => {
    const away = await startTestServer();
    const name = new URL(away.db.url).pathname.slice(1);
    const { database } = server.db;
    try {
      expect((await away.call("GET", "/readyz", undefined, { key: null })).body).toEqual({
        status: "ready",
      });
      await database.query(`alter database ${name} allow_connections false`);
      await database.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
        [name],
      );
      const health = await away.call("GET", "/healthz", undefined, { key: null });
      expect(health.body).toEqual({ status: "ok" });
      const ready = await away.call("GET", "/readyz", undefined, { key: null });
      expect(ready.status).toBe(503);
      expect(ready.body).toEqual({
        status: "not_ready",
        problems: [expect.stringMatching(/^The database cannot be (reached|used; .*)\.$/)],
      });
      await database.query(`alter database ${name} allow_connections true`);
      await waitFor(async () => (await away.call("GET", "/readyz")).status === 200);
    } finally {
      await database.query(`alter database ${name} allow_connections true`);
      await away.close();
    }
  });

  it("readyz queries the database once for all concurrent requests", async () => {
    const refresh = vi.spyOn(server.core.clock, "refresh");
    try {
      const asked = Array.from({ length: 50 }, () => server.call("GET", "/readyz"));
      const answers = await Promise.all(asked);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(refresh.mock.calls.length).toBeLessThan(25);
    } finally {
      refresh.mockRestore();
    }
  });

  it.each([
    [2_000, 200],
    [2_001, 503],
    [-2_001, 503],
  ])("readyz with a clock that differs from the database's by %i ms: %i", async (ms, status) => {
    const difference = vi.spyOn(server.core.clock, "difference_ms").mockReturnValue(ms);
    try {
      const ready = await server.call("GET", "/readyz");
      expect(ready.status).toBe(status);
      expect(ready.body.problems).toEqual(
        status === 200
          ? undefined
          : ["This machine's clock differs from the database's by more than 2 seconds."],
      );
    } finally {
      difference.mockRestore();
    }
  });

  it("readyz is 503 with the reason if no worker runs, or a migration is missing", async () => {
    const idle = await startTestServer();
    const { database } = idle.db;
    try {
      await idle.app.worker.stop();
      const silent = await idle.call("GET", "/readyz");
      expect(silent.status).toBe(503);
      expect(silent.body).toEqual({ status: "not_ready", problems: ["No worker is running."] });

      const beat = (at: Date) =>
        database.query("insert into worker_heartbeats (worker_id, seen_at) values ($1, $2)", [
          crypto.randomUUID(),
          at,
        ]);
      await beat(new Date(Date.now() - 31_000));
      expect((await idle.call("GET", "/readyz")).body.problems).toEqual(["No worker is running."]);
      await beat(new Date());
      expect((await idle.call("GET", "/readyz")).status).toBe(200);

      const later = "insert into migrations values ('9999_from_tomorrow.sql', $1, '', $2)";
      await database.query(later, [new Date(), false]);
      expect((await idle.call("GET", "/readyz")).status).toBe(200);
      await database.query("update migrations set breaks = true where name like '9999%'");
      expect((await idle.call("GET", "/readyz")).body.problems).toEqual([
        "The database schema does not match this version; run sliproad migrate.",
      ]);
    } finally {
      await idle.close();
    }
  });
});

function detailFields(): Record<string, unknown> {
  return {
    account_name: "Ina Vented",
    currency: "eur",
    iban: "DE89370400440532013000",
    bank_name: "Invented Bank",
    beneficiary_type: "individual",
    date_of_birth: "21/04/1988",
    address_line1: "1 Invented Street",
    city: "Lisbon",
    postal_code: "1100-148",
    country: "PT",
  };
}

async function createDetail(on: TestServer, of_user: string): Promise<string> {
  const answer = await on.call("POST", `/users/${of_user}/payment_details`, {
    payment_detail: detailFields(),
  });
  expect(answer.status).toBe(200);
  return answer.body.payment_detail.id;
}

/** Sends exactly these bytes and returns the answer until the server closes the connection. */
async function exchange(sent: string, address = new URL(server.url)): Promise<string> {
  const socket = connect(Number(address.port), address.hostname);
  let text = "";
  socket.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  socket.write(sent);
  await once(socket, "close");
  return text;
}
