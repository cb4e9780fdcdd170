import { afterAll, beforeAll, expect, it } from "vitest";
import { observeStatements } from "../src/platform/db/observe.ts";
import { fillPath, type Operation, readDocument } from "./harness/api-document.ts";
import { createRecords, type RecordIds } from "./harness/records.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

type Plan = {
  "Node Type": string;
  "Parent Relationship"?: string;
  "Relation Name"?: string;
  Plans?: Plan[];
};

/** The sample's proposal is no payment of a quote: nothing is read. */
const WITHOUT_ROWS = ["listProposedPayouts"];

let server: TestServer;
let ids: RecordIds;
let lists: Operation[];
beforeAll(async () => {
  server = await startTestServer();
  ids = await createRecords(server, server.key);
  // What it sends would be taken for a list's statements.
  await server.app.worker.stop();
  lists = readDocument(server.app.server).operations.filter(({ method, answer }) => {
    return method === "GET" && answer?.properties?.has_more !== undefined;
  });
});
afterAll(() => server.close());

/** The statements by which a page is read. */
async function statementsOf(operation: Operation): Promise<string[]> {
  const sent = new Set<string>();
  observeStatements(({ text }) => sent.add(text));
  try {
    const answer = await server.call("GET", fillPath(operation, ids));
    expect(answer.status, operation.name).toBe(200);
  } finally {
    observeStatements(undefined);
  }
  return [...sent].filter((text) => /\border by\b/.test(text) && /\blimit \$/.test(text));
}

/** The plan where every order that an index has is taken from it. */
async function planOf(text: string): Promise<Plan> {
  return server.db.database.transaction(async (tx) => {
    for (const name of ["seqscan", "bitmapscan", "sort", "hashjoin"]) {
      await tx.query(`set local enable_${name} = off`);
    }
    const [row] = await tx.query<{ "QUERY PLAN": { Plan: Plan }[] }>(
      `explain (generic_plan, format json) ${text}`,
    );
    return row!["QUERY PLAN"][0]!.Plan;
  });
}

/** What is read before the limit applies: all rows, if they are sorted or found by no index. */
function readsAll(plan: Plan, is_limited = false): string[] {
  const type = plan["Node Type"];
  const limited = is_limited || type === "Limit";
  const found = limited && ["Sort", "Seq Scan"].includes(type) ? [type] : [];
  const inner = (plan.Plans ?? []).filter(({ "Parent Relationship": relationship }) =>
    ["Outer", "Member", "Subquery"].includes(relationship!),
  );
  return [...found, ...inner.flatMap((one) => readsAll(one, limited))];
}

it("a page of every list is read in the order of an index, so that every page costs the same", async () => {
  expect(lists.length).toBeGreaterThan(20);
  const slow: string[] = [];
  const without: string[] = [];
  for (const operation of lists) {
    const statements = await statementsOf(operation);
    if (statements.length === 0) without.push(operation.name);
    for (const text of statements) {
      const found = readsAll(await planOf(text));
      if (found.length > 0) slow.push(`${operation.name}: ${found.join(", ")}: ${text}`);
    }
  }
  expect(slow).toEqual([]);
  expect(without).toEqual(WITHOUT_ROWS);
});
