import { createHash, randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMember } from "../../src/accounts/create-member.ts";
import { DEPOSITS } from "../../src/balances/deposit-store.ts";
import { findReservations } from "../../src/balances/reservation-store.ts";
import { withoutOperators } from "../../src/kyc/review/operator-stops.ts";
import { deleteKycSessionsOf, listOpenSessions } from "../../src/kyc/store.ts";
import { sweepDocuments } from "../../src/offramps/documents/sweep-documents.ts";
import type { FileStore } from "../../src/partners/files/file-store.ts";
import type { Session, Transaction } from "../../src/platform/db/database.ts";
import { type ObservedStatement, observeStatements } from "../../src/platform/db/observe.ts";
import { assertManyVouched } from "../../src/platform/sealing/vouched-rows.ts";
import type { TaskSet } from "../../src/platform/tasks/task-set.ts";
import type { Task } from "../../src/platform/tasks/tasks.ts";
import { addUser, setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, expectRefusal, good, openStory, settle } from "../offramps/story.ts";

// A caller can make these lists as long as they like: what one more request costs must not grow
// with them, or they end.

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

/** The rows that these statements return. */
function counting(session: Session): { session: Session; rows: () => number } {
  let returned = 0;
  const query: Session["query"] = async (text, values) => {
    const rows = await session.query(text, values);
    returned += rows.length;
    return rows as never;
  };
  return { session: { ...session, by_account: session.by_account, query }, rows: () => returned };
}

async function addLinks(user_id: string, count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    good(await server.call("POST", `/users/${user_id}/kycs`));
  }
}

it("transfers that others send in a transaction of the sandbox cost those that name it nothing", async () => {
  const { user_id, quote_id } = await openStory(server);
  const tx_id = `0x${createHash("sha256").update(quote_id).digest("hex")}`;
  const { database } = server.core;
  await database.query(
    `insert into sandbox_transfers (chain, tx_id, log_index, address, token, amount, mined_at)
     select 'polygon', $1, at, 'another address', 'usdc', 1, now() from generate_series(1, 5000) at`,
    [tx_id],
  );
  await database.query("analyze sandbox_transfers");
  const sent: ObservedStatement[] = [];
  observeStatements((statement) => sent.push(statement));
  const crypto_transfer = { tx_id, blockchain: "polygon", network: "sandbox" };
  good(
    await server.call("POST", `/users/${user_id}/quotes/${quote_id}/execute`, {
      quote: { crypto_transfer },
    }),
  );
  await settle(server);
  observeStatements(undefined);
  const of_chain = sent.filter(
    ({ text }) => text.includes("sandbox_transfers") && !text.includes("number > $2"),
  );
  expect(of_chain.length).toBeGreaterThanOrEqual(3);
  for (const { text, values } of of_chain) {
    expect(await countReadRows(text, values), text).toBeLessThan(10);
  }
  const [offramp] = good(await server.call("GET", `/users/${user_id}/offramps`)).offramps;
  expect(offramp.status).toBe("fiat_sent");
});

type PlanNode = { "Actual Rows": number; "Rows Removed by Filter"?: number; Plans?: PlanNode[] };

/** The rows that a statement reads; it is rolled back. */
async function countReadRows(text: string, values: readonly unknown[]): Promise<number> {
  const count = ({ Plans = [], ...node }: PlanNode): number =>
    node["Actual Rows"] +
    (node["Rows Removed by Filter"] ?? 0) +
    Plans.reduce((sum, one) => sum + count(one), 0);
  let read = 0;
  const undone = server.core.database.transaction(async (tx) => {
    const [row] = await tx.query<{ "QUERY PLAN": { Plan: PlanNode }[] }>(
      `explain (analyze, format json) ${text}`,
      [...values],
    );
    read = count(row!["QUERY PLAN"][0]!.Plan);
    throw new Error("undone");
  });
  await expect(undone).rejects.toThrow("undone");
  return read;
}

it("an account has at most 1,000 members", async () => {
  const { database, index_key, clock } = server.core;
  const add = () =>
    database.transaction((tx) =>
      createMember(
        tx,
        index_key,
        {
          ...{ account_id: server.account_id, email: `${randomUUID()}@example.com` },
          ...{ role: "accountant", actor: "command line", reason: "" },
        },
        clock.now(),
      ),
    );
  await database.query(
    `with added as (
       insert into people (id, email_index, email, created_at)
       select gen_random_uuid(), uuid_send(gen_random_uuid()), ''::bytea, $2
       from generate_series(1, 999 - (
         select count(*)::int from members where account_id = $1)) returning id)
     insert into members (account_id, person_id, role, created_at)
     select $1, id, 'accountant', $2 from added`,
    [server.account_id, clock.now()],
  );
  await add();
  await expect(add()).rejects.toMatchObject({ code: "limit_exceeded" });
});

it("a user has at most 1,000 refund addresses, each of which is answered again", async () => {
  const user_id = await addUser(server);
  const register = (last: number) =>
    server.call("POST", `/users/${user_id}/refund_addresses`, {
      refund_address: { chain: "polygon", address: `0x${String(last).padStart(40, "0")}` },
    });
  const { refund_address } = good(await register(1));
  await server.core.database.query(
    `insert into refund_addresses (account_id, id, user_id, chain, address, address_index,
       created_at, mac)
     select account_id, gen_random_uuid(), user_id, chain, address,
       uuid_send(gen_random_uuid()), created_at, mac
     from refund_addresses, generate_series(1, 998) where user_id = $1`,
    [user_id],
  );
  good(await register(2));
  const refused = await register(3);
  expect([refused.status, refused.body.error_code]).toEqual([422, "limit_exceeded"]);
  expect(good(await register(1)).refund_address.id).toBe(refund_address.id);
});

it("an account has at most 10,000 proposals that wait", async () => {
  const { database } = server.core;
  const { quote_id, user_id } = await openStory(server);
  const address = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
  await deposit(server, { quote_id, amount: 100, from: address });
  good(await setKyc(server, user_id, { status: "suspended" }));
  const refund = () =>
    server.call("POST", `/users/${user_id}/refunds`, {
      refund: { token: "usdc", chain: "polygon", amount: 50, address },
    });
  const { proposal } = good(await refund());
  await database.query(
    `insert into proposals (account_id, id, kind, record_id, input, subject_id, summary,
       proposed_by, voters, status, created_at, updated_at)
     select account_id, gen_random_uuid(), kind, record_id, input, subject_id, summary,
       proposed_by, voters, status, created_at, updated_at
     from proposals, generate_series(2, 10000) where id = $1`,
    [proposal.id],
  );
  expectRefusal(await refund(), "limit_exceeded");
  await database.query("delete from proposals where record_id = $1 and id <> $2", [
    ...[proposal.record_id, proposal.id],
  ]);
  expect(good(await refund()).proposal.status).toBe("pending");
});

it("the links of an erased user are deleted at once, however many they were", async () => {
  const user_id = await addUser(server);
  await addLinks(user_id, 8);
  const { database } = server.core;
  const statements = await database.transaction(async (tx) => {
    let written = 0;
    const write: Transaction["write"] = (text, values) => {
      written += 1;
      tx.write(text, values);
    };
    const key = { account_id: server.account_id, user_id };
    await deleteKycSessionsOf({ ...tx, by_account: tx.by_account, write }, key);
    return written;
  });
  expect(statements).toBe(2);
  const left = await database.query(
    `select from kyc_sessions where user_id = $1
     union all select from kyc_tokens t where not exists (select from kyc_sessions s
       where s.account_id = t.account_id and s.id = t.session_id)`,
    [user_id],
  );
  expect(left).toEqual([]);
});

it("a new link reads the one that it replaces, not those before", async () => {
  const user_id = await addUser(server);
  await addLinks(user_id, 12);
  const { database } = server.core;
  await database.query("vacuum analyze kyc_sessions");
  const read = await database.transaction(async (tx) => {
    const readSoFar = async () => {
      const [row] = await tx.query<{ read: number }>(
        `select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
         where relname = 'kyc_sessions'`,
      );
      return row!.read;
    };
    await tx.query("set local enable_seqscan = off");
    const before = await readSoFar();
    const open = await listOpenSessions(tx, [{ account_id: server.account_id, user_id }]);
    expect(open).toHaveLength(1);
    return (await readSoFar()) - before;
  });
  expect(read).toBe(1);
});

it("what the operator stopped is looked up, whatever else the log has about the user", async () => {
  const user_id = await addUser(server);
  await addLinks(user_id, 5);
  const { session, rows } = counting(server.core.database);
  const reviewer = { account_id: server.account_id, is_operator: false };
  const key = { account_id: server.account_id, user_id };
  const allowed = await withoutOperators(session, reviewer, key, ["unsuspend"]);
  expect([allowed, rows()]).toEqual([["unsuspend"], 0]);
});

it("what quotes that wait have reserved is added up by the database", async () => {
  const { database } = server.core;
  const { account_id } = server;
  const { quote_id, user_id, execute } = await openStory(server);
  await deposit(server, { quote_id, amount: 1 });
  good(await execute());
  await database.query(
    `insert into quotes (account_id, id, user_id, deposit_token, deposit_token_chain,
       deposit_address, price_version_id, expires_at, created_at, updated_at, executed_at,
       received, token_amount)
     select account_id, gen_random_uuid(), user_id, deposit_token, deposit_token_chain, n::text,
       price_version_id, expires_at, created_at, updated_at, executed_at, 2000000, token_amount
     from quotes, generate_series(1, 30) as n where id = $1`,
    [quote_id],
  );
  const { session, rows } = counting(database);
  const users = [{ account_id, user_id }];
  const reservations = await findReservations(session, users, [quote_id]);
  await database.query("delete from quotes where user_id = $1 and id <> $2", [user_id, quote_id]);
  expect(rows()).toBe(2);
  const in_balance = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const quote = { account_id, user_id, id: quote_id, ...in_balance };
  expect([reservations.sumOf(quote), reservations.sumBeside(quote)]).toEqual([
    61_000_000n,
    60_000_000n,
  ]);
  reservations.set(quote, 5n);
  expect([reservations.sumOf(quote), reservations.sumBeside(quote)]).toEqual([
    60_000_005n,
    60_000_000n,
  ]);
});

it("the uploads of one offramp are swept once", async () => {
  const { database, clock } = server.core;
  const { offramp_id } = await openStory(server);
  let listed = 0;
  const files = {
    listVersions: async () => {
      listed += 1;
      return [];
    },
  } as Partial<FileStore> as FileStore;
  const now = clock.now();
  const task = (): Task => ({
    ...{ account_id: server.account_id, id: randomUUID(), record_id: offramp_id },
    ...{ kind: "sweep-documents", due_at: now, created_at: now, attempts: 0 },
  });
  const set = {
    ...{ tasks: [task(), task(), task()], now },
    ...{ lock: async () => [], finish: () => {} },
  } as Partial<TaskSet> as TaskSet;
  await sweepDocuments({ database, files }, set);
  expect(listed).toBe(1);
});

it("many rows are checked in parts, between which others are served", async () => {
  const { database } = server.core;
  const { quote_id } = await openStory(server);
  await deposit(server, { quote_id, amount: 1 });
  const [row] = await database.query("select * from deposits where quote_id = $1", [quote_id]);
  let [is_done, served] = [false, 0];
  const others = (async () => {
    for (; !is_done; served += 1) await setImmediate();
  })();
  await assertManyVouched(DEPOSITS, database, new Array(4_000).fill(row));
  is_done = true;
  await others;
  expect(served).toBeGreaterThanOrEqual(9);
  const changed = [...new Array(500).fill(row), { ...row, amount: 5n }];
  await expect(assertManyVouched(DEPOSITS, database, changed)).rejects.toThrow(/not written by/);
});
