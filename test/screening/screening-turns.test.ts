import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { SCREENING_OFF } from "../../src/partners/screening/off.ts";
import {
  findPaymentDetails,
  insertPaymentDetails,
  toPaymentDetails,
} from "../../src/payment-details/store.ts";
import { observeStatements } from "../../src/platform/db/observe.ts";
import { Refusal } from "../../src/platform/errors.ts";
import { screenUsers } from "../../src/screening/screen-users.ts";
import { addApprovedUser, addPaymentDetail } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { addUser } from "../kyc/kyc-fixture.ts";
import { good } from "../offramps/story.ts";

const AT_ONCE = 40;
/** The turns of all accounts together: those of one account begin one after the other. */
const IN_A_ROW_MAX = 2;

/** How many people were compared without anybody else being served in between. */
let [in_a_row, longest_row] = [0, 0];

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());
beforeEach(() => {
  const lists = { version: "counted", entries: 0, files: [] };
  vi.spyOn(SCREENING_OFF, "lists").mockReturnValue(lists);
  vi.spyOn(SCREENING_OFF, "screen").mockImplementation(() => {
    in_a_row += 1;
    longest_row = Math.max(longest_row, in_a_row);
    setImmediate(() => {
      in_a_row = 0;
    });
    return [];
  });
  longest_row = 0;
});
afterEach(() => vi.restoreAllMocks());

it("payees that arrive together are compared one after the other", async () => {
  const user_id = await addApprovedUser(server);
  const all = Array.from({ length: AT_ONCE }, () => addPaymentDetail(server, user_id, "eur"));
  await Promise.all(all);
  expect(longest_row).toBeGreaterThan(0);
  expect(longest_row).toBeLessThanOrEqual(IN_A_ROW_MAX);
});

it("a change that was stored is answered, whatever happens to its screening", async () => {
  const user_id = await addUser(server);
  vi.spyOn(SCREENING_OFF, "screen").mockImplementation(() => {
    throw new Refusal("unavailable", undefined, 1);
  });
  const change = { user: { phone: "+351210000001" } };
  const { user } = good(await server.call("PATCH", `/users/${user_id}`, change));
  expect(user.phone).toBe("+351210000001");
});

/*
 * All were compared in one transaction, which has the user's lock: with 10,000 payees after a list
 * changed maybe half a minute, in which deposits of all accounts waited.
 */
it("the payees of a user are compared in parts, each in a transaction of its own", async () => {
  const user_id = await addUser(server);
  await addPayees(user_id, 450);
  useNewLists();
  let parts = 0;
  observeStatements(({ text }) => {
    if (/^update payment_details set screening_version/.test(text)) parts += 1;
  });
  try {
    await screen([user_id]);
  } finally {
    observeStatements(undefined);
  }
  expect(parts).toBe(3);
  expect(await countUnscreened(user_id)).toBe(0);
});

/*
 * Nobody could be compared, and the first 200 payees were the same again each time: it sent
 * transactions without end. Such a person was also recorded as screened, and a hold was lifted.
 */
it("people whose keys were deleted stay unscreened, and those after them are screened", async () => {
  const [lost_id, other_id] = [await addUser(server), await addUser(server)];
  await addPayees(lost_id, 250);
  await addPayees(other_id, 210);
  const { database, keyring } = server.core;
  await database.query("delete from subject_keys where subject_id = $1", [lost_id]);
  keyring.forgetSubjects();
  useNewLists();
  expect(await screen([lost_id, other_id])).toBeLessThanOrEqual(2);
  expect(await countUnscreened(lost_id)).toBe(250);
  expect(await countUnscreened(other_id)).toBe(0);
  const rows = await database.query<{ id: string; screening_version: string | null }>(
    "select id, screening_version from users where id = any($1::uuid[])",
    [[lost_id, other_id]],
  );
  const versions = new Map(rows.map((row) => [row.id, row.screening_version]));
  expect(versions.get(lost_id)).not.toBe("new");
  expect(versions.get(other_id)).toBe("new");
  expect(await screen([lost_id])).toBe(1);
});

function useNewLists(): void {
  const lists = { version: "new", entries: 0, files: [] };
  vi.spyOn(SCREENING_OFF, "lists").mockReturnValue(lists);
}

/** How many transactions it took; an endless repetition fails. */
async function screen(user_ids: readonly string[]): Promise<number> {
  const { account_id } = server;
  let transactions = 0;
  const { database } = server.core;
  const transaction: typeof database.transaction = (run) => {
    transactions += 1;
    if (transactions > 20) throw new Error("It does not end.");
    return database.transaction(run);
  };
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const deps = { ...server.core, log, operator_id: account_id, screening: SCREENING_OFF };
  await screenUsers(
    { ...deps, database: { ...database, transaction } },
    user_ids.map((user_id) => ({ account_id, user_id })),
  );
  return transactions;
}

async function addPayees(user_id: string, count: number): Promise<void> {
  const detail_id = await addPaymentDetail(server, user_id, "eur");
  const { account_id } = server;
  const { database, keyring } = server.core;
  const keys = await keyring.openUserKeys(database, [{ account_id, user_id }]);
  const rows = await findPaymentDetails(database, [{ account_id, id: detail_id }]);
  const [detail] = toPaymentDetails(rows, keys);
  const more = Array.from({ length: count - 1 }, () => ({
    ...{ detail: { ...detail!, id: randomUUID() }, key: keys.get(account_id, user_id)! },
    ...{ payee_index: null, screening_version: null },
  }));
  await database.transaction(async (tx) => insertPaymentDetails(tx, more));
}

async function countUnscreened(user_id: string): Promise<number> {
  const rows = await server.core.database.query(
    "select from payment_details where user_id = $1 and screening_version is distinct from 'new'",
    [user_id],
  );
  return rows.length;
}
