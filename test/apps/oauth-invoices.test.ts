import { afterAll, beforeAll, expect, test } from "vitest";
import { addApp, addMember, letIn, Person, post } from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import {
  addBilledAccount,
  change,
  create,
  sendInvoice,
  show,
} from "../invoices/invoice-fixture.ts";
import { good } from "../offramps/story.ts";

const CREDENTIALS = { grant_type: "client_credentials" };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

test("an application sends an invoice from its account, recorded as created by it", async () => {
  const app = await addApp(server, server.account_id, { flow: "client_credentials" });
  const key = (await post(server, "/oauth/token", app, CREDENTIALS)).body.access_token;
  const invoice = good(await create(server, { convert: true }, key));
  expect(await show(server, invoice.id, key)).toEqual(await show(server, invoice.id));
  const [row] = await server.db.database.query("select app_id from invoices where id = $1", [
    invoice.id,
  ]);
  expect(row).toEqual({ app_id: app.id });
});

test("a read-only token can see invoices but not change them", async () => {
  const app = await addApp(server, server.account_id, { flow: "client_credentials" });
  const fields = { ...CREDENTIALS, scope: "invoices:read" };
  const key = (await post(server, "/oauth/token", app, fields)).body.access_token;
  const invoice = good(await create(server, { convert: true }));
  // The link lets its holder act for the other party, so a read-only token does not get it.
  expect(invoice.invoiceLinks.view).toContain("/invoices/view/");
  expect(await show(server, invoice.id, key)).toEqual({ ...invoice, invoiceLinks: null });
  const listed = await server.call("GET", "/invoices?take=100", undefined, { key });
  expect(listed.status).toBe(200);
  expect(listed.text).not.toContain("/invoices/view/");
  for (const answer of [
    await create(server, {}, key),
    await server.call("POST", `/invoices/${invoice.id}`, undefined, { key }),
    await change(server, invoice.id, "cancel", key),
  ]) {
    expect(answer.status).toBe(403);
    expect(answer.body.error_code).toBe("insufficient_scope");
  }
});

test("for the buyer's account it accepts a received invoice, until it is revoked", async () => {
  const buyer = await addBilledAccount(server, "Buyers");
  const person_id = await addMember(server, buyer.account_id, "buyer@example.test");
  const person = await Person.signedIn(server, buyer.account_id, person_id);
  const app = await addApp(server, server.account_id);
  const scope = "invoices:read invoices:write offline_access";
  const tokens = await letIn(server, person, app, scope, buyer.account_id);
  const key = tokens.access_token;
  const [first, second] = [
    await sendInvoice(server, server, buyer),
    await sendInvoice(server, server, buyer),
  ];
  expect((await show(server, first.id, key)).role).toBe("buyer");
  expect(good(await change(server, first.id, "accept", key)).status).toBe("accepted");
  await post(server, "/oauth/revoke", app, { token: tokens.refresh_token! });
  expect((await change(server, second.id, "accept", key)).status).toBe(401);
  expect((await create(server, {}, key)).status).toBe(401);
  expect((await show(server, second.id)).status).toBe("open");
});
