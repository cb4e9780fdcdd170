import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { SCREENING_OFF } from "../../src/partners/screening/off.ts";
import { Refusal } from "../../src/platform/errors.ts";
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
