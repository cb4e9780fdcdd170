import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { recordNewPassword } from "../../src/accounts/sign-in/set-password.ts";
import { ACCOUNTS, MEMBERS } from "../../src/accounts/store.ts";
import { addApp, addMember } from "../harness/oauth.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { vouch } from "../harness/vouch.ts";
import { idle } from "../webhooks/webhook-fixture.ts";

// Where statements are recorded, each is of one account (test/tenancy).
const WAYS = process.env.SLIPROAD_BATCH_BY ? ["account"] : ["installation", "account"];

test.each(WAYS)(
  "a password reset ends a person's consents in each of their accounts, with SLIPROAD_BATCH_BY=%s",
  async (SLIPROAD_BATCH_BY) => {
    const server = await startTestServer({ environment: { SLIPROAD_BATCH_BY } });
    try {
      const { database, clock } = server.core;
      const email = "ada@example.test";
      const other = await server.addAccount("Other");
      const ada = await addMember(server, server.account_id, email);
      const bea = await addMember(server, other.account_id, "bea@example.test");
      expect(await addMember(server, other.account_id, email)).toBe(ada);
      const app = await addApp(server, server.account_id);
      const consents = [
        [server.account_id, ada],
        [other.account_id, ada],
        [other.account_id, bea],
      ];
      for (const [account_id, person_id] of consents) {
        await server.db.database.query(
          `insert into app_grants (account_id, app_id, app_account_id, person_id, created_at)
           values ($1, $2, $3, $4, $5)`,
          [account_id, app.id, server.account_id, person_id, clock.now()],
        );
      }
      const change = {
        person_id: ada,
        email,
        password_hash: "",
        action: "password.reset",
      } as const;
      await database.transaction((tx) => recordNewPassword(tx, server.core, change));
      await idle(server);
      const kept = await server.db.database.query(
        "select account_id, person_id from app_grants where revoked_at is null",
      );
      expect(kept).toEqual([{ account_id: other.account_id, person_id: bea }]);
    } finally {
      await server.close();
    }
  },
);

/** More accounts than were once read, and more than are read at once. */
const MANY = 1_010;

test.each(WAYS)(
  "it ends them in any number of accounts, whatever `members` says, with SLIPROAD_BATCH_BY=%s",
  async (SLIPROAD_BATCH_BY) => {
    const server = await startTestServer({ environment: { SLIPROAD_BATCH_BY } });
    try {
      const app = await addApp(server, server.account_id);
      const [ada, bea, cyd] = await Promise.all(
        ["ada", "bea", "cyd"].map((name) => addMember(server, server.account_id, mailOf(name))),
      );
      await addAccounts(server, ada!, MANY);
      await addAccounts(server, cyd!, 2);
      await vouch(server.core.database, MEMBERS);
      // Of one person the only row, of another the oldest.
      await server.db.database.query(
        "update members set role = 'developer' where account_id = $1 and person_id = any($2)",
        [server.account_id, [bea, cyd]],
      );
      await server.db.database.query(
        `insert into app_grants (account_id, app_id, app_account_id, person_id, created_at)
         select account_id, $1, $2, person_id, created_at from members`,
        [app.id, server.account_id],
      );
      for (const [person_id, name] of [[ada!, "ada"] as const, [bea!, "bea"] as const]) {
        await setPassword(server, person_id, name, "password.reset");
      }
      // A link of an invitation is as good as one of a reset.
      await setPassword(server, cyd!, "cyd", "password.set");
      await idle(server);
      const kept = await server.db.database.query(
        "select person_id from app_grants where revoked_at is null and person_id = any($1)",
        [[ada, bea, cyd]],
      );
      expect(kept).toEqual([]);
      // The person is notified, although their oldest row was changed.
      const notes = await server.db.database.query(
        "select account_id from audit_entries where action = 'password.set' and record = $1",
        [`person:${cyd}`],
      );
      expect(notes).toHaveLength(1);
    } finally {
      await server.close();
    }
  },
);

const mailOf = (name: string) => `${name}@example.test`;

async function setPassword(
  { core }: TestServer,
  person_id: string,
  name: string,
  action: "password.reset" | "password.set",
): Promise<void> {
  const change = { person_id, email: mailOf(name), password_hash: "", action };
  await core.database.transaction((tx) => recordNewPassword(tx, core, change));
}

/** The person is a member of that many more accounts, newer than the first. */
async function addAccounts(server: TestServer, person_id: string, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const created_at = server.core.clock.now();
  await server.db.database.query(
    `insert into accounts (id, name, is_operator, created_at)
     select id, 'Account ' || id, false, $2 from unnest($1::uuid[]) as ids (id)`,
    [ids, created_at],
  );
  await vouch(server.core.database, ACCOUNTS);
  await server.db.database.query(
    `insert into members (account_id, person_id, role, created_at)
     select id, $2, 'admin', $3 from unnest($1::uuid[]) as ids (id)`,
    [ids, person_id, created_at],
  );
}
