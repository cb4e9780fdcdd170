import { expect, test } from "vitest";
import { recordNewPassword } from "../../src/accounts/sign-in/set-password.ts";
import { addApp, addMember } from "../harness/oauth.ts";
import { startTestServer } from "../harness/server.ts";
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
