import { afterAll, beforeAll, expect, test } from "vitest";
import {
  addMember,
  addOwedUser,
  proposalIn,
  STRANGE,
  seenOf,
  type TestMember,
} from "../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addWaiting, show } from "../kyc/review/review-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

async function countRows(text: string, values: unknown[]): Promise<number> {
  return (await server.core.database.query(text, values)).length;
}

function isWaitingFor(text: string): Promise<boolean> {
  const waiting = `select from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock' and query like '%' || $1 || '%'`;
  return countRows(waiting, [text]).then((count) => count > 0);
}

type Write = {
  member: TestMember;
  /** The table with the record that the write waits for, and which one. */
  table: string;
  id: string;
  send: () => Promise<unknown>;
  /** What it writes. */
  count: () => Promise<number>;
};

const WRITES: Record<string, () => Promise<Write>> = {
  "a new API key instead of another": async () => {
    const member = await addMember(server, "admin");
    const keys = "/dashboard/api/keys";
    const { api_key } = (await member.call("POST", keys, { name: "Payroll" })).json();
    return {
      ...{ member, table: "api_keys", id: api_key.id },
      send: () => member.call("POST", `${keys}/${api_key.id}/rotate`, { overlap_hours: 1 }),
      count: () => countRows("select from api_keys where name = $1", ["Payroll"]),
    };
  },
  "a decision on a user's identity": async () => {
    const member = await addMember(server, "approver");
    const { user_id, path } = await addWaiting(server);
    const { seen } = await show(member.visitor, path);
    return {
      ...{ member, table: "users", id: user_id },
      send: () => member.call("POST", path, { decision: "approve", seen }),
      count: () =>
        countRows("select from audit_entries where record = $1 and action = 'kyc.approve'", [
          `user:${user_id}`,
        ]),
    };
  },
  "a vote on the page of approvals": async () => {
    const member = await addMember(server, "approver");
    const { refund } = await addOwedUser(server, 10);
    const { id } = proposalIn(await refund(1, STRANGE));
    const seen = seenOf(await member.open(), id);
    return {
      ...{ member, table: "proposals", id },
      send: () => member.confirm(id, seen),
      count: () => countRows("select from proposal_votes where proposal_id = $1", [id]),
    };
  },
};

test.each(Object.keys(WRITES))(
  "%s is written before the sign-out is answered, or not at all",
  async (name) => {
    const { member, table, id, send, count } = await WRITES[name]!();
    let has_ended = false;
    const { sent, at_end } = await server.core.database.transaction(async (tx) => {
      await tx.query(`select from ${table} where id = $1 for update`, [id]);
      const sending = send();
      await waitFor(() => isWaitingFor(table));
      const ending = member.visitor.post("/sign-out", {}).then(() => {
        has_ended = true;
        return count();
      });
      await waitFor(async () => has_ended || (await isWaitingFor("delete from sessions")));
      return { sent: sending, at_end: ending };
    });
    const found = await at_end;
    await sent;
    expect(await count()).toBe(found);
  },
);
