import { expect, test } from "vitest";
import { addApp, addMember, askFor, comeBack, Person, REDIRECT_URI } from "../harness/oauth.ts";
import { startTestServer } from "../harness/server.ts";

test("nobody consents for an account in which their role needs a second factor they lack", async () => {
  const environment = { SLIPROAD_SECOND_FACTOR: "required" };
  const server = await startTestServer({ environment });
  try {
    const { account_id } = server;
    const email = "two-accounts@example.test";
    const person_id = await addMember(server, account_id, email, "developer");
    const branch = await server.addAccount("Branch");
    await addMember(server, branch.account_id, email, "finance_manager");
    const client = await addApp(server, account_id);
    // A developer signs in without one, and did so minutes ago.
    const person = await Person.signedIn(server, account_id, person_id);
    const { url } = askFor(client, "invoices:read offline_access");
    const page = await person.visit(url);
    expect(page.text).toContain(account_id);
    expect(page.text).not.toContain(branch.account_id);
    const forced = { account_id: branch.account_id, decision: "allow" };
    const refused = await person.follow(await person.post(page.url, forced));
    expect(refused.status).toBe(403);
    expect(refused.text).toContain("needs a second factor");
    expect(refused.location ?? "").not.toContain(REDIRECT_URI);
    const own = await person.follow(await person.post(page.url, { account_id, decision: "allow" }));
    expect(comeBack(own).code).toBeDefined();
  } finally {
    await server.close();
  }
});
