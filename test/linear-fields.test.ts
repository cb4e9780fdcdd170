import { afterAll, beforeAll, expect, it } from "vitest";
import { fillPath, type Operation, readDocument, type Schema } from "./harness/api-document.ts";
import { createRecords, type RecordIds } from "./harness/records.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

/** What quadratic reading shows in: runs of one kind, and pairs that an expression retries. */
const SHAPES: readonly ((size: number) => string)[] = [
  (size) => "9".repeat(size),
  (size) => `1.${"0".repeat(size)}`,
  (size) => `0.${"1".repeat(size)}`,
  (size) => `1e${"9".repeat(size)}`,
  (size) => "a".repeat(size),
  (size) => `x${" ".repeat(size)}x`,
  (size) => `a${"\u0301".repeat(size / 2)}`,
  (size) => "1,".repeat(size / 2),
  (size) => "a@a.".repeat(size / 4),
  (size) => `https://a${".a".repeat(size / 2)}/`,
  (size) => `https://a.example/${"../a".repeat(size / 4)}`,
  (size) => `https://a.example/?${"%41&".repeat(size / 4)}`,
  (size) => "-".repeat(size),
  (size) => "(".repeat(size),
  (size) => `RRULE:FREQ=YEARLY;BYDAY=${"MO,".repeat(size / 3)}`,
  (size) => `data:${"<a ".repeat(size / 3)}`,
];
const SIZE = 200_000;
/** Linear reading of such a body takes a few; quadratic reading of it takes seconds. */
const CPU_MAX_MS = 150;
const TEST_LIMIT_MS = 900_000;
/** Would move the time of everything, or take a record away. */
const LEFT_OUT = ["advanceSandboxClock", "deleteApp", "deleteExport", "deleteUser"];

let server: TestServer;
let ids: RecordIds;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_KYC_ENFORCEMENT: "off" } });
  ids = await createRecords(server, server.key);
});
afterAll(() => server.close());

it(
  "no field of any body is read in more than linear time",
  async () => {
    const operations = readDocument(server.app.server).operations.filter(
      ({ body, name }) => body !== null && !LEFT_OUT.includes(name),
    );
    const slow: string[] = [];
    let sent = 0;
    for (const operation of operations) {
      const fields = fieldsOf(operation.body!.schema);
      for (const field of fields) {
        for (const [at, shape] of SHAPES.entries()) {
          const body = withValue(operation.body!.example, field, shape(SIZE));
          sent += 1;
          if (!(await isSlow(operation, body))) continue;
          slow.push(`${operation.name} ${field.join(".")}, shape ${at}`);
        }
      }
    }
    console.log(`${sent} bodies of ${operations.length} operations`);
    expect(slow).toEqual([]);
    // An empty walk would prove nothing.
    expect(sent).toBeGreaterThan(2_000);
  },
  TEST_LIMIT_MS,
);

/** Whether it takes long each of three times: once may be other work. */
async function isSlow(operation: Operation, body: unknown): Promise<boolean> {
  for (let time = 0; time < 3; time += 1) {
    const before = process.cpuUsage();
    await server.call(operation.method, fillPath(operation, ids), body);
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1_000 < CPU_MAX_MS) return false;
  }
  return true;
}

/** The paths of all values in a body; an item stands for its list. */
function fieldsOf(schema: Schema, path: readonly string[] = []): string[][] {
  const inner = [schema, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  const deeper = inner.flatMap((one: Schema) => [
    ...Object.entries<Schema>(one.properties ?? {}).flatMap(([name, value]) =>
      fieldsOf(value, [...path, name]),
    ),
    ...(one.items ? fieldsOf(one.items, [...path, "0"]) : []),
  ]);
  return path.length === 0 ? deeper : [[...path], ...deeper];
}

/** The example with another value at one place, which is made if the example has none. */
function withValue(example: unknown, [name, ...rest]: readonly string[], value: string): unknown {
  if (name === undefined) return value;
  const is_list = /^\d+$/.test(name);
  const held = (typeof example === "object" && example) || (is_list ? [] : {});
  const next = withValue((held as Record<string, unknown>)[name], rest, value);
  if (!Array.isArray(held)) return { ...held, [name]: next };
  return [next, ...held.slice(1)];
}
