import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../src/platform/errors.ts";
import {
  type ApiDocument,
  callExample,
  INPUT_ERRORS,
  readDocument,
  type Schema,
} from "./harness/api-document.ts";
import { createRecords } from "./harness/records.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

let server: TestServer;
let document: ApiDocument;
beforeAll(async () => {
  server = await startTestServer();
  document = readDocument(server.app.server);
});
afterAll(() => server.close());

describe("the OpenAPI document", () => {
  it("is valid OpenAPI 3.1 and served at /openapi.json", async () => {
    const served = await server.call("GET", "/openapi.json", undefined, { key: null });
    expect(served.body).toEqual(document.raw);
    const validator = new Validator();
    expect(await validator.validate(served.body)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("gives every operation a name of its own, a summary, and an example where it has a body", () => {
    const names = document.operations.map((operation) => operation.name);
    expect(new Set(names).size).toBe(names.length);
    const incomplete = document.operations.filter(
      ({ name, summary, body }) =>
        !/^[a-z]+[A-Za-z]+$/.test(name) || !summary || (body && body.example === undefined),
    );
    expect(incomplete.map((operation) => operation.name)).toEqual([]);
  });

  it("gives every error its status, and every operation those that it cannot do without", () => {
    for (const [path, methods] of Object.entries<Schema>(document.raw.paths)) {
      for (const entry of Object.values<Schema>(methods)) expectStatuses(path, entry);
    }
    for (const operation of document.operations) {
      const needed: ErrorCode[] = [
        ...(["unauthorized", "too_many_requests", "internal_error", "unavailable"] as const),
        ...(["bad_request", "parameter_unknown"] as const),
        ...(operation.path_parameters.length > 0 ? (["record_not_found"] as const) : []),
        ...(operation.method === "GET" ? [] : WRITES),
      ];
      const undocumented = needed.filter((code) => !operation.error_codes.has(code));
      expect({ [operation.name]: undocumented }).toEqual({ [operation.name]: [] });
    }
  });

  it("has examples that the server accepts", async () => {
    for (const operation of document.operations) {
      if (!operation.body && !operation.is_upload) continue;
      const ids = await createRecords(server, server.key);
      const answer = await callExample(server, server.key, operation, ids);
      const { error_code, errors = [] } = answer.body;
      const fields: string[] = errors.map((problem: { field: string }) => problem.field);
      const expected = REFUSED_FOR_STATE[operation.name];
      if (expected && fields.every((field) => expected.includes(field))) continue;
      expect(INPUT_ERRORS, `${operation.name}: ${answer.text}`).not.toContain(error_code);
    }
  });
});

describe("the pages for people", () => {
  it("/docs/errors has an anchor for every code, where doc_url leads", async () => {
    const { text } = await server.call("GET", "/docs/errors", undefined, { key: null });
    const absent = ERROR_CODES.filter((code) => !text.includes(`id="${code}"`));
    expect(absent).toEqual([]);
    const refused = await server.call("GET", "/users", undefined, { key: null });
    expect(refused.body.doc_url).toBe(`${server.url}/docs/errors#unauthorized`);
  });
});

/** None at present: the examples suit the records that the harness makes. */
const REFUSED_FOR_STATE: Record<string, string[]> = {};

/** What a caller may do wrong with a body, whether or not the operation takes one. */
const WRITES = [
  ...(["parameter_missing", "body_too_large", "unsupported_media_type"] as const),
  ...(["idempotency_key_reused", "outcome_unknown"] as const),
];

function expectStatuses(path: string, entry: Schema): void {
  for (const [status, { description }] of Object.entries<Schema>(entry.responses)) {
    if (status === "200") continue;
    for (const [, code] of description.matchAll(/^`(\w+)`:/gm)) {
      expect(`${path} ${code} ${ERRORS[code as ErrorCode]?.[0]}`).toBe(`${path} ${code} ${status}`);
    }
  }
}

it("/docs/api may not be framed, and runs no script but this server's files", async () => {
  const answer = await fetch(`${server.url}/docs/api/`);
  const policy = answer.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("script-src 'self';");
  expect(answer.headers.get("x-frame-options")).toBe("DENY");
  const html = await answer.text();
  const scripts = [...html.matchAll(/<script([^>]*)>(.*?)<\/script>/gs)];
  expect(scripts.length).toBeGreaterThan(0);
  for (const [, attributes, content] of scripts) {
    expect(content).toBe("");
    const [, src] = /src="([^"]+)"/.exec(attributes!)!;
    const file = await fetch(new URL(src!, answer.url));
    expect([file.status, file.headers.get("content-type")]).toEqual([
      200,
      expect.stringContaining("javascript"),
    ]);
    await file.body?.cancel();
  }
});
