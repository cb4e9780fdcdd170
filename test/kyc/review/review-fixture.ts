import { createMember } from "../../../src/accounts/create-member.ts";
import type { Role } from "../../../src/accounts/model.ts";
import { findAccountById } from "../../../src/accounts/store.ts";
import { type AccountChange, updateAccount } from "../../../src/accounts/update-account.ts";
import { HttpVisitor } from "../../harness/http-visitor.ts";
import { PASSWORD_HASH } from "../../harness/password.ts";
import type { TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { addUser, openLink, PageVisitor, statusOf } from "../kyc-fixture.ts";

export const REVIEWS = "/dashboard/api/reviews";
const BY = { actor: "command line", reason: "set up by a test" } as const;
let addresses = 0;

/** A signed-in member of an account. */
export async function signInAs(
  server: TestServer,
  account_id: string,
  role: Role,
): Promise<{ person_id: string; email: string; visitor: HttpVisitor }> {
  const { database, index_key, clock } = server.core;
  const email = `${role}-${crypto.randomUUID()}@example.com`;
  const input = { account_id, email, password_hash: PASSWORD_HASH, role, ...BY };
  const { person_id } = await database.transaction((tx) =>
    createMember(tx, index_key, input, clock.now()),
  );
  // Each from its own IP address, because sign-ins are limited by IP address.
  addresses += 1;
  const visitor = new HttpVisitor(server.app.server, `203.0.113.${addresses}`);
  await visitor.signIn(email);
  await visitor.get("/dashboard/security");
  return { person_id, email, visitor };
}

export async function setAccount(
  server: TestServer,
  account_id: string,
  change: AccountChange,
): Promise<void> {
  const { database, clock } = server.core;
  await database.transaction(async (tx) => {
    const account = await findAccountById(tx, account_id);
    updateAccount(tx, account!, change, BY, clock.now());
  });
}

/** A user whose application waits for a reviewer. */
export async function addWaiting(
  server: TestServer,
  account: { account_id: string; key: string } = server,
  fields: Record<string, unknown> = {},
) {
  const user_id = await addUser(server, fields, account.key);
  const page = new PageVisitor(server);
  const token = await openLink(server, user_id, account.key);
  await page.open(token);
  await page.fill();
  const submitted = await page.submit();
  if (submitted.status !== 200) throw new Error(submitted.text);
  await waitForStatus(server, user_id, "awaiting_manual_review", account.key);
  const path = `${REVIEWS}/${account.account_id}/${user_id}`;
  return { user_id, page, token, path };
}

export async function waitForStatus(
  server: TestServer,
  user_id: string,
  status: string,
  key?: string,
): Promise<void> {
  await waitFor(async () => (await statusOf(server, user_id, key)) === status);
}

/** What the page shows to this reviewer. */
export async function show(visitor: HttpVisitor, path: string) {
  return (await visitor.call("GET", path)).json();
}

/** Sends the decision from the page that the reviewer sees. */
export async function decide(visitor: HttpVisitor, path: string, decision: string, comment = "") {
  const { seen = "" } = await show(visitor, path);
  return visitor.call("POST", path, { decision, comment, seen });
}

export function auditOf(server: TestServer, user_id: string) {
  return server.db.database.query<{
    actor: string;
    action: string;
    reason: string;
    account_id: string;
    detail: string;
  }>(
    `select actor, action, reason, account_id, detail from audit_entries
     where record = $1 order by id`,
    [`user:${user_id}`],
  );
}
