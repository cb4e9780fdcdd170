import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { good } from "../offramps/story.ts";
import { addMember, showProposal, type TestMember, waitForEnd } from "./proposal-fixture.ts";

let server: TestServer;
let members: TestMember[];
const documents = createServer(async (_request, response) => {
  await released.promise;
  response.setHeader("content-type", "application/pdf").end("%PDF-1.7 an invented invoice");
});
const released = Promise.withResolvers<void>();

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_APPROVAL_ABOVE_USD: "1000" } });
  members = [await addMember(server, "admin"), await addMember(server, "approver")];
  await new Promise<void>((done) => documents.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  documents.close();
  await server.close();
});

async function countWaiting(): Promise<number> {
  const text = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return (await server.db.database.query(text)).length;
}

async function isFetched(offramp_id: string): Promise<boolean> {
  const text = "select from offramps where id = $1 and document_file is not null";
  return (await server.db.database.query(text, [offramp_id])).length > 0;
}

it("a document that is fetched while the proposal is being stored counts", async () => {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  const { port } = documents.address() as AddressInfo;
  const item = {
    payment_detail_id: await addPaymentDetail(server, user_id, "eur"),
    destination_amount: 1200,
    destination_currency: "eur",
    supporting_document_attributes: { submitted_url: `http://127.0.0.1:${port}/invoice.pdf` },
  };
  const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
  const [{ id: offramp_id }] = good(await server.call("POST", path, { offramps: [item] })).offramps;

  // A proposal is stored once this row is gone.
  const { database } = server.db;
  await database.query("create table gate (id int primary key)");
  await database.query(
    `create function wait_at_gate() returns trigger language plpgsql as
       'begin insert into gate values (1); delete from gate where id = 1; return new; end'`,
  );
  await database.query(
    `create trigger wait_at_gate before insert on proposals
       for each row execute function wait_at_gate()`,
  );
  let executing: Promise<Answer> | undefined;
  await database.transaction(async (tx) => {
    await tx.query("insert into gate values (1)");
    executing = execute(server, user_id, quote_id);
    await waitFor(async () => (await countWaiting()) >= 1);
    released.resolve();
    await waitFor(async () => (await isFetched(offramp_id)) || (await countWaiting()) > 1);
    await tx.query("delete from gate");
  });
  const { proposal_id } = good(await executing!).approval;
  await waitFor(async () => {
    const { details } = await showProposal(server, proposal_id);
    const found = details.find(({ label }: { label: string }) => label === "Documents");
    return found?.value === "1 of 1";
  });
  for (const member of members) {
    expect((await member.confirm(proposal_id)).statusCode).toBe(200);
  }
  expect((await waitForEnd(server, proposal_id)).status).toBe("done");
});
