import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACCOUNTS } from "../../src/accounts/store.ts";
import { callExample, fillPath, type Operation, readDocument } from "../harness/api-document.ts";
import { createRecords, missingRecords, type RecordIds } from "../harness/records.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";

/** For the operator's keys only, whatever the id: the tests of their modules cover their access. */
const OPERATOR_IDS = ["deposit_id", "exception_id", "screening_match_id"];

let server: TestServer;
let operations: Operation[];
let caller: { key: string; own: RecordIds; sibling: RecordIds };
let stranger: { key: string; own: RecordIds };

beforeAll(async () => {
  server = await startTestServer();
  operations = readDocument(server.app.server).operations.filter(
    ({ name, path_parameters: [first] }) =>
      first !== undefined && !OPERATOR_IDS.includes(first) && !/^(un)?freezeUser$/.test(name),
  );
  // Operations that delete a record run last: the others must find it.
  operations.sort((a, b) => Number(/^delete/.test(a.name)) - Number(/^delete/.test(b.name)));
  const { key, account_id } = await server.addAccount("Caller");
  // Otherwise it may review no document, whatever the id.
  await server.core.database.query(
    "update accounts set document_review_by_account = true where id = $1",
    [account_id],
  );
  await vouch(server.core.database, ACCOUNTS);
  caller = {
    key,
    own: await createRecords(server, key),
    sibling: await createRecords(server, key),
  };
  stranger = { key: server.key, own: await createRecords(server, server.key) };
});
afterAll(() => server.close());

describe("every operation with an id in its path", () => {
  it("finds the caller's own records, so that the refusals below are meaningful", async () => {
    for (const operation of operations) {
      const answer = await send(operation, caller.own);
      expect(answer.text, operation.name).not.toContain("record_not_found");
    }
  });

  it("gives the same answer for another account's record as for an unknown one", async () => {
    const before = await readAll(stranger.key, stranger.own);
    for (const operation of operations) {
      for (const index of operation.path_parameters.keys()) {
        await expectNoTelling(operation, index, stranger.own);
      }
    }
    expect(await readAll(stranger.key, stranger.own)).toEqual(before);
  });

  it("gives the same answer for another user's record as for an unknown one", async () => {
    const before = await readAll(caller.key, caller.sibling);
    for (const operation of operations) {
      for (const index of operation.path_parameters.keys()) {
        if (index > 0) await expectNoTelling(operation, index, caller.sibling);
      }
    }
    expect(await readAll(caller.key, caller.sibling)).toEqual(before);
  });
});

/** The parameters from `index` on belong to another account, those before it to the caller. */
async function expectNoTelling(operation: Operation, index: number, others: RecordIds) {
  const foreign = await send(operation, mixed(operation, index, others));
  const missing = await send(operation, mixed(operation, index, missingRecords(caller.own)));
  expect(foreign.body).toMatchObject({ error_code: "record_not_found", status: 404 });
  const about = `${operation.name} with another's ${operation.path_parameters[index]}`;
  expect(withoutRequestId(foreign), about).toBe(withoutRequestId(missing));
}

function mixed(operation: Operation, index: number, others: RecordIds): RecordIds {
  const own = operation.path_parameters.slice(0, index);
  return { ...others, ...Object.fromEntries(own.map((name) => [name, idIn(caller.own, name)])) };
}

function idIn(ids: RecordIds, name: string): string {
  return (ids as Record<string, string>)[name]!;
}

/** With a valid body, so that only the ids of the path can be wrong. */
function send(operation: Operation, ids: RecordIds): Promise<Answer> {
  return callExample(server, caller.key, operation, ids, caller.own);
}

async function readAll(key: string, ids: RecordIds): Promise<string[]> {
  const reads = operations.filter((operation) => operation.method === "GET");
  const paths = reads.map((read) => fillPath(read, ids));
  const answers = paths.map((path) => server.call("GET", path, undefined, { key }));
  return (await Promise.all(answers)).map((answer) => answer.text);
}

function withoutRequestId(answer: Answer): string {
  const headers = [...answer.headers].filter(([name]) => !["date", "x-request-id"].includes(name));
  const text = answer.text.replace(answer.body.request_id, "");
  return JSON.stringify([answer.status, headers, text]);
}
