import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../harness/command-line.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, findFault, good, settle } from "../offramps/story.ts";
import { create, show } from "./invoice-fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

const setEmail = (account: string, email: string) =>
  runCommand(["accounts", "set-billing-email", "--account", account, "--email", email, "--json"], {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
  });

describe("sliproad accounts set-billing-email", () => {
  it("shares the invoices billed to the address with the account, and writes an audit entry", async () => {
    const name = `Acme ${randomUUID()}`;
    const { account_id, key } = await server.addAccount(name);
    const set = await setEmail(name, "Billing@Acme.example");
    expect(set.stderr).toBe("");
    expect(JSON.parse(set.stdout)).toEqual({
      billing_email: { account_id, email: "Billing@Acme.example", verified: true },
    });
    const buyerInfo = { email: "billing@acme.example" };
    const invoice = good(await create(server, { convert: true, buyerInfo }));
    await settle(server);
    expect((await show(server, invoice.id, key)).role).toBe("buyer");
    const own = good(await create(server, {}, key));
    expect(own.sellerInfo).toEqual({ email: "billing@acme.example", businessName: name });
    const rows = await server.db.database.query<{ action: string }>(
      "select action from audit_entries where account_id = $1 order by id desc limit 1",
      [account_id],
    );
    expect(rows[0]!.action).toBe("account.set_billing_email");
  });

  it("lists earlier invoices as changed since, once they are shared", async () => {
    const name = `Later ${randomUUID()}`;
    const { key } = await server.addAccount(name);
    const email = `${randomUUID()}@later.example`;
    const invoice = good(await create(server, { convert: true, buyerInfo: { email } }));
    await advance(server, 1_000);
    const since = server.core.clock.now().toISOString();
    await setEmail(name, email);
    await settle(server);
    const path = `/invoices?updatedSince=${since}`;
    const { invoices } = good(await server.call("GET", path, undefined, { key }));
    expect(invoices.map(({ id }: { id: string }) => id)).toEqual([invoice.id]);
  });

  it("gives an address to one account only, and says so", async () => {
    const other = await server.addAccount(`Other ${randomUUID()}`);
    const taken = await setEmail(other.account_id, "billing@ACME.example");
    expect(taken.code).toBe(1);
    expect(taken.stderr).toBe(
      "sliproad: Another account has this billing e-mail; use a different one.\n",
    );
    expect((await setEmail("nobody", "a@example.com")).stderr).toContain("There is no account");
    expect((await setEmail(other.account_id, "nonsense")).stderr).toContain("--email must be");
  });

  it("does not store the address in clear", async () => {
    const rows = await server.db.database.query<{ found: boolean }>(
      `select exists (select from billing_emails b
         where position('acme'::bytea in b.email) > 0) as found`,
    );
    expect(rows[0]!.found).toBe(false);
    const [row] = await server.db.database.query<{ document: Buffer }>(
      "select document from invoices limit 1",
    );
    expect(row!.document.toString("latin1")).not.toContain("buyerInfo");
  });
});
