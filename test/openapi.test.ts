import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MISSING } from "../src/docs/api/build-example.ts";
import { INVOICE_EVENTS, RAMP_EVENTS } from "../src/events/model.ts";
import { ERROR_CODES, ERRORS, type ErrorCode } from "../src/platform/errors.ts";
import {
  type ApiDocument,
  callExample,
  INPUT_ERRORS,
  type Operation,
  readDocument,
  type Schema,
} from "./harness/api-document.ts";
import { createRecords, type RecordIds } from "./harness/records.ts";
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

  it("gives every operation a name of its own, a summary, a description, and an example where it has a body", () => {
    const names = document.operations.map((operation) => operation.name);
    expect(new Set(names).size).toBe(names.length);
    const incomplete = document.operations.flatMap(({ name, summary, description, body }) => [
      ...(/^[a-z]+[A-Za-z]+$/.test(name) ? [] : [`${name}: operation is not in camelCase`]),
      ...(summary ? [] : [`${name}: no summary`]),
      ...(description?.endsWith(".") ? [] : [`${name}: description does not end with a full stop`]),
      ...(body && body.example === undefined ? [`${name}: no body_example`] : []),
    ]);
    expect(incomplete).toEqual([]);
  });

  it("gives every list the parameters of all lists, and status where its records have one", () => {
    const { paths, components } = document.raw;
    const resolve = (schema: Schema): Schema =>
      schema.$ref ? components.schemas[schema.$ref.split("/").at(-1)] : schema;
    const lists = Object.entries<Schema>(paths).flatMap(([path, { get }]) => {
      const answer = resolve(get?.responses["200"].content?.["application/json"]?.schema ?? {});
      if (!answer.properties?.has_more) return [];
      const items = Object.values<Schema>(answer.properties).map(resolve);
      const record = resolve(items.find(({ type }) => type === "array")!.items);
      const names = get.parameters.map(
        (one: Schema) => (one.$ref ? components.parameters[one.$ref.split("/").at(-1)] : one).name,
      );
      return [{ path, names, has_status: record.properties.status !== undefined }];
    });
    expect(lists.length).toBeGreaterThan(12);
    for (const { path, names, has_status } of lists) {
      const wanted =
        path === "/invoices"
          ? ["take", "skip", "starting_after", "creationDateRange", "updatedSince"]
          : ["limit", "starting_after", "created_after", "created_before"];
      expect(names, path).toEqual(expect.arrayContaining(wanted));
      if (has_status) expect(names, path).toContain("status");
    }
  });

  it("answers many records of a kind only as a list, by pages", () => {
    const whole = document.operations.filter(({ method, answer }) => {
      if (method !== "GET" || !answer?.properties || answer.properties.has_more) return false;
      // A record that is shown with others that belong to it is no list of them.
      const [only, ...others] = Object.values<Schema>(answer.properties);
      return others.length === 0 && only?.type === "array" && only.items?.properties?.id;
    });
    expect(whole.map(({ name }) => name)).toEqual([]);
  });

  it("gives every record with an id the times of its creation and last change", () => {
    const records = Object.entries<Schema>(document.raw.components.schemas).filter(
      ([, { properties }]) => properties?.id,
    );
    expect(records.length).toBeGreaterThan(12);
    for (const [name, { properties, required }] of records) {
      const times = properties.requestId
        ? ["createdAt", "updatedAt"]
        : ["created_at", "updated_at"];
      expect(required, `schema ${name}`).toEqual(expect.arrayContaining(times));
    }
  });

  it("gives every error its status, and every operation those that it cannot do without", () => {
    for (const [path, methods] of Object.entries<Schema>(document.raw.paths)) {
      for (const entry of Object.values<Schema>(methods)) expectStatuses(path, entry);
    }
    const { responses } = document.raw.components;
    const described = Object.values<Schema>(responses).flatMap(({ description }) => [
      ...description.matchAll(/^`(\w+)`: /gm),
    ]);
    // Where there is no route there is no operation.
    const codes = ERROR_CODES.filter((code) => code !== "route_not_found");
    expect(described.map(([, code]) => code).sort()).toEqual([...codes].sort());
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

  it("gives every answer, error and webhook an example that fits its schema", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addSchema({ $id: "document", components: document.raw.components });
    const examples = listExamples(document);
    expect(examples.length).toBeGreaterThan(document.operations.length);
    const wrong = examples.flatMap(({ name, schema, example }) => {
      const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
      const gaps = pathsTo(MISSING, example).map((path) => `${name}: no sample for ${path}`);
      const fits = ajv.validate(JSON.parse(text), example);
      return gaps.length > 0 || fits ? gaps : [`${name}: ${ajv.errorsText()}`];
    });
    expect(wrong, "add samples to RECORDS in src/docs/api/sample-values.ts").toEqual([]);
  });

  it("explains every value of every enum, and every tag", () => {
    const enums = schemasWith("enum", document.raw);
    expect(enums.length).toBeGreaterThan(20);
    const silent = enums.filter(
      ([, { enum: values, description = "" }]) =>
        Array.isArray(values) && values.some((value) => !description.includes(`\`${value}\`: `)),
    );
    const advice = "add the enum and its values to src/docs/api/meanings.ts";
    expect(
      silent.map(([path, { enum: values }]) => `${path}: ${values}`),
      advice,
    ).toEqual([]);
    const used = new Set(
      Object.values<Schema>(document.raw.paths).flatMap((methods) =>
        Object.values<Schema>(methods).flatMap(({ tags }) => tags),
      ),
    );
    const described = document.raw.tags.filter((tag: Schema) => tag.description.length > 20);
    expect([...used].sort(), "src/docs/api/tags.ts").toEqual(
      described.map(({ name }: Schema) => name).sort(),
    );
    expect(document.raw.tags[0].name).toBe("Users");
    expect(Object.keys(document.raw.paths)[0]).toBe("/users");
  });

  it("says that fiat_sent is not final", () => {
    expect(document.raw.components.schemas.OfframpStatus.description).toMatch(
      /`fiat_sent`: .*Not final/,
    );
  });

  it("lists every event as a webhook", () => {
    expect(Object.keys(document.raw.webhooks).sort()).toEqual(
      [...INVOICE_EVENTS, ...RAMP_EVENTS].sort(),
    );
  });

  it("knows no keyword that JSON Schema does not know, and stays small", () => {
    expect(schemasWith("errorMessage", document.raw)).toEqual([]);
    expect(JSON.stringify(document.raw).length).toBeLessThan(400_000);
  });

  it("passes the recommended rules of a common linter without an error or a warning", async () => {
    const package_json = createRequire(import.meta.url).resolve("@redocly/cli/package.json");
    const file = join(import.meta.dirname, "../openapi.json");
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [join(package_json, "../bin/cli.js"), "lint", file, "--extends=recommended", "--format=json"],
      { env: { PATH: process.env.PATH, REDOCLY_TELEMETRY: "off" }, timeout: 60_000 },
    ).catch((error) => error);
    const { problems, totals } = JSON.parse(stdout);
    const found = problems.map(
      ({ message, location }: Schema) => `${location[0]?.pointer}: ${message}`,
    );
    expect(found, stderr).toEqual([]);
    expect(totals).toEqual({ errors: 0, warnings: 0, ignored: 0 });
  }, 70_000);

  it("has examples that the server accepts", async () => {
    let unused: { ids: RecordIds; kinds: Set<string> }[] = [];
    for (const operation of document.operations) {
      if (!operation.body && !operation.is_upload) continue;
      const kinds = kindsIn(operation);
      let records = unused.find((one) => kinds.every((kind) => one.kinds.has(kind)));
      if (!records) {
        const ids = await createRecords(server, server.key);
        records = { ids, kinds: new Set(Object.keys(ids).map(kindOf)) };
        unused.push(records);
      }
      for (const kind of kinds) records.kinds.delete(kind);
      const answer = await callExample(server, server.key, operation, records.ids);
      // Their quotes have expired.
      if (operation.name === "advanceSandboxClock") unused = [];
      const { error_code, errors = [] } = answer.body;
      const fields: string[] = errors.map((problem: { field: string }) => problem.field);
      const expected = REFUSED_FOR_STATE[operation.name];
      if (expected && fields.every((field) => expected.includes(field))) continue;
      expect(INPUT_ERRORS, `${operation.name}: ${answer.text}`).not.toContain(error_code);
    }
    // Every operation gets records that no other has used.
  }, 120_000);
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

/** What is related to a user is changed with it. */
function kindOf(id_name: string): string {
  const is_of_user = /^(user|payment_detail|quote|offramp|record|onramp|document)_id$/.test(
    id_name,
  );
  return is_of_user ? "user_id" : id_name;
}

/** The records that an operation names in its path or its example. */
function kindsIn({ path_parameters, body }: Operation): string[] {
  const text = JSON.stringify(body?.example ?? null);
  const in_body = [...text.matchAll(/"(\w+_id)":/g)].map((match) => match[1]!);
  const names = [...path_parameters, ...in_body.filter((name) => name !== "tx_id")];
  return [...new Set(names.map(kindOf))];
}

/** None at present: the examples suit the records that the harness makes. */
const REFUSED_FOR_STATE: Record<string, string[]> = {};

/** What a caller may do wrong with a body, whether or not the operation takes one. */
const WRITES = [
  ...(["parameter_missing", "body_too_large", "unsupported_media_type"] as const),
  ...(["idempotency_key_reused", "outcome_unknown"] as const),
];

/** Every error is a shared component; the codes named beside the reference have its status. */
function expectStatuses(path: string, entry: Schema): void {
  for (const [status, response] of Object.entries<Schema>(entry.responses)) {
    if (status === "200") continue;
    expect(response.$ref, `${path} ${status}`).toMatch(/^#\/components\/responses\//);
    for (const [, code] of (response.description ?? "").matchAll(/`(\w+)`/g)) {
      expect(`${path} ${code} ${ERRORS[code as ErrorCode]?.[0]}`).toBe(`${path} ${code} ${status}`);
    }
  }
}

it("/docs/api may not be framed, and runs no script but this server's files", async () => {
  const answer = await fetch(`${server.url}/docs/api`);
  const policy = answer.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("script-src 'self'");
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

/** Every schema of the document in which `key` stands, with the way to it. */
function schemasWith(key: string, value: unknown, path = ""): [path: string, schema: Schema][] {
  if (value === null || typeof value !== "object") return [];
  const found = Object.hasOwn(value, key) ? [[path, value] as [string, Schema]] : [];
  const inner = Object.entries(value).flatMap(([name, child]) =>
    name === "example" || name === "examples" ? [] : schemasWith(key, child, `${path}/${name}`),
  );
  return [...found, ...inner];
}

/** Where in an example the text stands, such as `users.0.email`. */
function pathsTo(text: string, value: unknown, path: readonly string[] = []): string[] {
  if (value === text) return [path.join(".")];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, inner]) => pathsTo(text, inner, [...path, name]));
}

function onlyJson({ "application/json": json }: Schema): Schema {
  return json ? { "application/json": json } : {};
}

/** Every answer and webhook of the document: its name, schema and example. */
function listExamples({ raw }: ApiDocument): { name: string; schema: Schema; example: unknown }[] {
  const operations = [raw.paths, raw.webhooks].flatMap((group) =>
    Object.values<Schema>(group).flatMap((methods) => Object.values<Schema>(methods)),
  );
  const bodies = operations.flatMap(({ operationId, responses, requestBody }) => [
    [operationId, responses[200]?.content] as const,
    // Uploads are described in words.
    [`${operationId} request`, requestBody && onlyJson(requestBody.content)] as const,
  ]);
  const errors = Object.entries<Schema>(raw.components.responses).map(
    ([name, { content }]) => [name, content] as const,
  );
  return [...bodies, ...errors].flatMap(([name, content]) => {
    return Object.entries<Schema>(content ?? {}).map(([type, { schema, example }]) => {
      return { name: `${name} ${type}`, schema, example };
    });
  });
}
