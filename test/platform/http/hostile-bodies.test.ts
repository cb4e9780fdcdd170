import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PARENTS_MAX, Problems, parentsOf } from "../../../src/platform/problems.ts";
import { readDocument, type Schema } from "../../harness/api-document.ts";
import { createRecords, newInvoice, type RecordIds } from "../../harness/records.ts";
import { type Answer, startTestServer, type TestServer } from "../../harness/server.ts";

const MIB = 1024 * 1024;
/** An answer with 100 problems, each with a path and a sentence. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Processor time, which does not depend on other load; includes sending 16 MiB. */
const ANSWER_MS_MAX = 2_000;
const HEAP_BYTES_MAX = 256 * MIB;
const PROBLEMS_MAX = 100;
const QUOTED_MAX = 100;

let server: TestServer;
let own: RecordIds;
beforeAll(async () => {
  server = await startTestServer();
  own = await createRecords(server, server.key);
});
afterAll(() => server.close());

/** `head`, then items separated by commas up to the size, then `tail`. */
function fill(bytes: number, head: string, item: string, tail: string): string {
  const count = Math.floor((bytes - head.length - tail.length + 1) / (item.length + 1));
  return `${head}${Array(count).fill(item).join(",")}${tail}`;
}

function members(bytes: number, value: string, ending = ""): string {
  const list: string[] = [];
  for (let length = 0; length < bytes - 20; length += list.at(-1)!.length + 1) {
    list.push(`"k${list.length}${ending}":${value}`);
  }
  return list.join(",");
}

function manyFields(count: number, ending: string): string {
  const names = Array.from({ length: count }, (_, index) => `"k${index}${ending}":1`);
  return `{${names.join(",")}}`;
}

const quotePath = () => `/users/${own.user_id}/quotes/${own.quote_id}/offramps`;
const user = (rest: string) =>
  `{"user":{"beneficiary_type":"individual","email":"a@example.com","first_name":"A",${rest}}}`;
const app = (rest: string) => `{"app":{"name":"A",${rest}}}`;
const invoice = (name: string, value: string) => {
  const { [name]: _, ...rest } = newInvoice() as Record<string, unknown>;
  return `${JSON.stringify(rest).slice(0, -1)},"${name}":${value}}`;
};

const hostile: [name: string, path: () => string, raw: () => string, field: string][] = [
  ["16 MB of 0", quotePath, () => fill(16 * MIB, '{"offramps":[', "0", "]}"), "offramps"],
  ["4 MB of 0", quotePath, () => fill(4 * MIB, '{"offramps":[', "0", "]}"), "offramps"],
  ["1 MB of {}", quotePath, () => fill(MIB, '{"offramps":[', "{}", "]}"), "offramps"],
  ["16 MB of {}", quotePath, () => fill(16 * MIB, '{"offramps":[', "{}", "]}"), "offramps"],
  ["501 offramps", quotePath, () => fill(1515, '{"offramps":[', "{}", "]}"), "offramps"],
  ["500 empty offramps", quotePath, () => fill(1514, '{"offramps":[', "{}", "]}"), "offramps[0]"],
  ["a bare array", quotePath, () => fill(16 * MIB, "[", "0", "]"), "body"],
  [
    "120 kB of invoice items",
    () => "/invoices",
    () => invoice("invoiceItems", fill(120_000, "[", "{}", "]")),
    "invoiceItems",
  ],
  [
    "payment options",
    () => "/invoices",
    () => invoice("paymentOptions", fill(120_000, "[", "{}", "]")),
    "paymentOptions",
  ],
  [
    "unknown fields of many items",
    () => "/invoices",
    () => invoice("invoiceItems", fill(40_000, "[", `{${members(900, "1")}}`, "]")),
    "invoiceItems[0]",
  ],
  [
    "webhook headers",
    () => "/apps",
    () => app(`"webhook_headers":{${members(300_000, "1")}}`),
    "app.webhook_headers",
  ],
  ["events", () => "/apps", () => app(`"events":${fill(900_000, "[", '"x"', "]")}`), "app.events"],
  [
    "49 000 events",
    () => "/apps",
    () => app(`"events":${fill(49_000 * 4, "[", '"x"', "]")}`),
    "app.events",
  ],
  [
    "redirect addresses",
    () => "/apps",
    () => app(`"redirect_uris":${fill(49_000 * 4, "[", '"x"', "]")}`),
    "app.redirect_uris",
  ],
  [
    "a field name of 900 kB with NULs",
    () => "/users",
    () => user(`"${"\\u0000".repeat(150_000)}":1`),
    "user",
  ],
  [
    "many values inside a field name of 500 kB",
    () => "/users",
    () => user(`"${"n".repeat(500_000)}":{${members(300_000, '"\\u0000"')}}`),
    "user.n",
  ],
  ["40 000 unknown fields", () => "/users", () => user(members(500_000, "1")), "user"],
  [
    "16 MB of unknown fields",
    quotePath,
    () => `{${members(15 * MIB, "1", "~/".repeat(160))}}`,
    "body",
  ],
  [
    "40 000 unknown fields in 41 items, with names full of separators",
    quotePath,
    () => `{"offramps":${fill(4 * MIB, "[", manyFields(990, ".".repeat(94)), "]")}}`,
    "offramps[0]",
  ],
  [
    "15 MB of unknown fields, with names full of characters that a pointer escapes",
    quotePath,
    () => `{"offramps":${fill(15 * MIB, "[", manyFields(1_000, "~/".repeat(160)), "]")}}`,
    "offramps[0]",
  ],
  [
    "1 MB of NULs",
    () => "/users",
    () => user(`"x":${fill(900_000, "[", '"\\u0000"', "]")}`),
    "user",
  ],
  ["1 MB of 1e999", () => "/users", () => user(`"x":${fill(900_000, "[", "1e999", "]")}`), "user"],
  [
    "metadata of 30 000 keys",
    () => "/users",
    () => user(`"last_name":"B","metadata":{${members(400_000, '"\\u0000"')}}`),
    "user.metadata",
  ],
];

describe.each(hostile)("%s", (_name, path, raw, field) => {
  it("is refused quickly, with a short answer and little memory, at its field", async () => {
    const content = raw();
    // The first request of a kind also compiles its parser.
    await server.call("POST", path(), {});
    const memory = watchMemory();
    const started = process.cpuUsage();
    const answer = await server.call("POST", path(), undefined, { raw: content });
    const { user: in_user, system } = process.cpuUsage(started);
    const took_ms = (in_user + system) / 1_000;
    expect([400, 422]).toContain(answer.status);
    expectBounded(answer);
    expect(took_ms).toBeLessThan(ANSWER_MS_MAX);
    expect(memory.stop()).toBeLessThan(HEAP_BYTES_MAX);
    const [first] = answer.body.errors;
    expect(first.field.slice(0, field.length)).toBe(field);
  });
});

/** The maximum heap growth while it was watched. */
function watchMemory(): { stop: () => number } {
  const before = process.memoryUsage().heapUsed;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().heapUsed);
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.max(most, process.memoryUsage().heapUsed) - before;
    },
  };
}

function expectBounded(answer: Answer): void {
  expect(answer.text.length).toBeLessThan(ANSWER_BYTES_MAX);
  const { errors, errors_omitted } = answer.body as {
    errors: { field: string; code: string }[];
    errors_omitted?: number;
  };
  expect(errors.length).toBeLessThanOrEqual(PROBLEMS_MAX);
  if (errors_omitted !== undefined) expect(errors).toHaveLength(PROBLEMS_MAX);
  for (const { field } of errors) expect(field.length).toBeLessThanOrEqual(QUOTED_MAX);
}

describe("what an answer lists", () => {
  it("100 problems, and how many there were besides", async () => {
    const offramps = Array.from({ length: 500 }, () => ({}));
    const answer = await server.call("POST", quotePath(), { offramps });
    expect(answer.body.errors).toHaveLength(100);
    // Three required fields per item.
    expect(answer.body.errors_omitted).toBe(1_400);
  });

  it("no count where all are listed", async () => {
    const answer = await server.call("POST", quotePath(), { offramps: [{}] });
    expect(answer.body.errors).toHaveLength(3);
    expect(answer.body).not.toHaveProperty("errors_omitted");
  });

  it("the problem that sets the top-level code, however late it is found", async () => {
    const offramps = [...Array.from({ length: 499 }, () => ({})), { nonsense: 1 }];
    const answer = await server.call("POST", quotePath(), { offramps });
    expect(answer.body.error_code).toBe("parameter_unknown");
    const codes = (answer.body.errors as { code: string }[]).map(({ code }) => code);
    expect(codes.filter((code) => code === "parameter_unknown")).toHaveLength(1);
  });

  it("an array that is too long, without problems of its items", async () => {
    const offramps = Array.from({ length: 501 }, () => ({ nonsense: 1 }));
    const answer = await server.call("POST", quotePath(), { offramps });
    expect(answer.body.errors).toEqual([
      { field: "offramps", code: "record_invalid", message: "Send at most 500 items." },
    ]);
  });
});

it("every array of a request has a limit, and all but three objects known fields", () => {
  const without: string[] = [];
  const open = new Set<string>();
  const seen = { arrays: 0, objects: 0 };
  const visit = (schema: Schema, path: string): void => {
    if (schema.type === "array") {
      seen.arrays += 1;
      if (schema.maxItems === undefined) without.push(path);
    }
    if (schema.type === "object") {
      seen.objects += 1;
      const [, name] = /properties\.(\w+)\.anyOf\.0$/.exec(path) ?? [path, path];
      if (schema.additionalProperties !== false) open.add(name!);
    }
    for (const [key, value] of Object.entries(schema)) {
      if (value !== null && typeof value === "object") visit(value, `${path}.${key}`);
    }
  };
  for (const { name, body } of readDocument(server.app.server).operations) {
    if (body) visit(body.schema, name);
  }
  expect(without).toEqual([]);
  // Their own checks limit their keys.
  expect([...open].sort()).toEqual(["metadata", "miscellaneous", "webhook_headers"]);
  expect(seen.arrays).toBeGreaterThan(10);
  expect(seen.objects).toBeGreaterThan(50);
});

it("no field of a request is nested deeper than the collector checks", () => {
  const depths: number[] = [];
  const visit = (schema: Schema, depth: number): void => {
    depths.push(depth);
    for (const form of [
      ...(schema.anyOf ?? []),
      ...(schema.oneOf ?? []),
      ...(schema.allOf ?? []),
    ]) {
      visit(form, depth);
    }
    if (schema.items) visit(schema.items, depth + 1);
    for (const inner of Object.values<Schema>(schema.properties ?? {})) visit(inner, depth + 1);
  };
  for (const { body } of readDocument(server.app.server).operations) {
    if (body) visit(body.schema, -1);
  }
  expect(depths.length).toBeGreaterThan(200);
  // An unknown field is nested one level deeper.
  expect(Math.max(...depths) + 1).toBeLessThan(PARENTS_MAX);
});

describe("the collector", () => {
  it("treats a name full of separators like any other", () => {
    expect(parentsOf("offramps[1].metadata.colour")).toEqual([
      "offramps",
      "offramps[1]",
      "offramps[1].metadata",
    ]);
    expect(parentsOf(`user.${".".repeat(95)}`)).toHaveLength(PARENTS_MAX);
  });

  it("keeps fields with a common prefix apart", () => {
    const problems = new Problems();
    problems.missing("quote.deposit_token");
    problems.missing("quote.deposit_token_chain");
    expect(problems.list.map(({ field }) => field)).toEqual([
      "quote.deposit_token",
      "quote.deposit_token_chain",
    ]);
  });

  it("reports a field once, and nothing inside an object reported as a whole", () => {
    const problems = new Problems();
    problems.invalid("offramps[1]", "Send a JSON object.");
    for (const field of ["offramps[1]", "offramps[1].rails", "offramps[1].metadata.a"]) {
      problems.missing(field);
    }
    problems.missing("offramps[10].rails");
    expect(problems.list.map(({ field }) => field)).toEqual(["offramps[1]", "offramps[10].rails"]);
  });

  it("reports nothing inside an invalid body", () => {
    const problems = new Problems([
      { field: "body", code: "parameter_missing", message: "Send a JSON object." },
    ]);
    problems.missing("user.email");
    expect(problems.list).toHaveLength(1);
  });

  it("does not treat an object with a problem inside as sound, but can report it", () => {
    const problems = new Problems();
    problems.invalid("app.webhook_headers.x", "Send a string.");
    expect(problems.isSound("app.webhook_headers")).toBe(false);
    expect(problems.isAtFault("app.webhook_headers")).toBe(false);
    expect(problems.isSound("app.webhook_header")).toBe(true);
  });
});
