import { afterAll, beforeAll, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import { accountsOf, setOf } from "../../src/platform/db/rows.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";
import { explain, preparePlanner, readTables } from "./explain.ts";
import { faultsOf } from "./rules.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

function faults(text: string): Promise<string[]> {
  return db.database.connection(async (session) => {
    const tables = await readTables(session);
    await preparePlanner(session);
    return faultsOf(text, await explain(session, tables, text));
  });
}

const ROWS = [{ account_id: "00000000-0000-7000-8000-000000000001", id: "x" }];
const textOf = (by_account: boolean) => {
  const session = { by_account } as Session;
  const set = setOf(session, "t", "account_id uuid, id uuid", ROWS);
  const accounts = accountsOf(session, ROWS);
  return [
    `select q.id from quotes q join ${set.from} using (account_id, id) for update of q`,
    `update quotes set updated_at = now() from ${set.from}
     where quotes.account_id = t.account_id and quotes.id = t.id`,
    `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
     select account_id, id, 'x', id, now(), now() from ${set.from}`,
    `delete from quotes where account_id ${accounts.equal} and id = $2`,
  ];
};

it("a set of one account names it by equality, a set of several does not", async () => {
  for (const text of textOf(true)) expect(await faults(text), text).toEqual([]);
  for (const text of textOf(false)) {
    expect(await faults(text), text).toEqual([expect.stringContaining("is not fixed")]);
  }
});

it("the checker finds what one node could not run", async () => {
  const wrong = {
    "select id from quotes where id = $1": "the account of quotes is not fixed",
    "select id from quotes where account_id = $1 or id = $2": "the account of quotes is not fixed",
    "select q.id from quotes q join quotes r on r.id = q.id where q.account_id = $1 and r.account_id = $2":
      "it names two accounts",
    "select k.key_hash from api_key_hashes k join api_keys a on a.id = k.api_key_id where a.account_id = $1":
      "it joins the look-up table api_key_hashes with accounts' tables",
    "delete from tasks where account_id = $1 and ctid = $2": "it uses a ctid",
  };
  for (const [text, fault] of Object.entries(wrong)) {
    expect(await faults(text), text).toEqual([fault]);
  }
});
