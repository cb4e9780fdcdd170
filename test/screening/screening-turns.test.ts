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
  const detail_id = await addPaymentDetail(server, user_id, "eur");
  const { account_id } = server;
  const { database, keyring } = server.core;
  const keys = await keyring.openUserKeys(database, [{ account_id, user_id }]);
  const rows = await findPaymentDetails(database, [{ account_id, id: detail_id }]);
  const [detail] = toPaymentDetails(rows, keys);
  const more = Array.from({ length: 449 }, () => ({
    ...{ detail: { ...detail!, id: randomUUID() }, key: keys.get(account_id, user_id)! },
    ...{ payee_index: null, screening_version: null },
  }));
  await database.transaction(async (tx) => insertPaymentDetails(tx, more));
  const lists = { version: "new", entries: 0, files: [] };
  vi.spyOn(SCREENING_OFF, "lists").mockReturnValue(lists);
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const deps = { ...server.core, log, operator_id: server.account_id, screening: SCREENING_OFF };
  let parts = 0;
  observeStatements(({ text }) => {
    if (/^update payment_details set screening_version/.test(text)) parts += 1;
  });
  try {
    await screenUsers(deps, [{ account_id, user_id }]);
  } finally {
    observeStatements(undefined);
  }
  expect(parts).toBe(3);
  const left = await database.query(
    "select from payment_details where user_id = $1 and screening_version is distinct from 'new'",
    [user_id],
  );
  expect(left).toHaveLength(0);
});
