import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { createMember } from "../../src/accounts/create-member.ts";
import { makeApiKey, type Role } from "../../src/accounts/model.ts";
import { HOME } from "../../src/accounts/page-paths.ts";
import {
  addPageScope,
  type PageDeps,
  requireSession,
  sendPage,
} from "../../src/accounts/page-scope.ts";
import { addAccountPages } from "../../src/accounts/routes.ts";
import { insertAccount } from "../../src/accounts/store.ts";
import { openClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { html } from "../../src/platform/http/html.ts";
import { createServer } from "../../src/platform/http/server.ts";
import { newId } from "../../src/platform/ids.ts";
import { page } from "../../src/platform/pages/layout.ts";
import { createTestDatabase } from "../harness/database.ts";
import { insertInstallation } from "../harness/installation.ts";
import { PASSWORD_HASH } from "../harness/password.ts";

const BY = { actor: "command line", reason: "set up by a test" } as const;

export type AccessServer = {
  app: FastifyInstance;
  deps: PageDeps;
  log: string[];
  addAccount(name: string, is_operator?: boolean): Promise<string>;
  addApiKey(account_id: string, name: string): Promise<string>;
  addMember(account_id: string, email: string, role: Role): Promise<string>;
  close(): Promise<void>;
};

/** What people see first, in place of the dashboard. */
function addHome(app: FastifyInstance, deps: PageDeps): void {
  addPageScope(app, deps, (scope) => {
    scope.get(HOME, { onRequest: requireSession() }, (request, reply) => {
      const session = request.member!;
      const body = html`<h1>${session.account_name}</h1>`;
      return sendPage(reply, page({ title: session.account_name, mode: deps.mode, session, body }));
    });
  });
}

/** The pages of this module, with their own server and database. */
export async function startAccessServer(options: {
  public_url: string;
  environment?: Record<string, string>;
  extend?: (app: FastifyInstance, deps: PageDeps) => void;
}): Promise<AccessServer> {
  const { database, drop } = await createTestDatabase();
  await insertInstallation(database);
  const clock = await openClock(database);
  const index_key = randomBytes(32);
  const public_url = () => options.public_url;
  const config = readConfig(options.environment ?? {});
  const wake = () => {};
  const deps: PageDeps = { config, database, index_key, public_url, mode: "sandbox", clock, wake };
  const log: string[] = [];
  const app = createServer({
    log_level: "debug",
    log_destination: { write: (line) => void log.push(line) },
    public_url,
    trusted_proxies: [],
    rate_limit: 0,
    rate_limit_anonymous: 0,
    stalled_seconds: 120,
    authenticate: async () => null,
  });
  addAccountPages(app, deps);
  addHome(app, deps);
  options.extend?.(app, deps);
  await app.ready();
  return {
    app,
    deps,
    log,
    addAccount: (name, is_operator = false) =>
      database.transaction(async (tx) => {
        const id = newId(clock.now());
        insertAccount(tx, {
          id,
          name,
          is_operator,
          kyc_two_person_approval: false,
          kyc_review_by_account: false,
          document_review_by_account: false,
          webhooks_enabled_at: null,
          created_at: clock.now(),
        });
        return id;
      }),
    addApiKey: (account_id, name) =>
      database.transaction(async (tx) => {
        const key = makeApiKey(index_key, "sandbox", account_id);
        const input = { account_id, name, key, ...BY };
        return createApiKey(tx, index_key, input, clock.now()).id;
      }),
    addMember: (account_id, email, role) =>
      database.transaction(async (tx) => {
        const input = { account_id, email, password_hash: PASSWORD_HASH, role, ...BY };
        return (await createMember(tx, index_key, input, clock.now())).person_id;
      }),
    close: async () => {
      await app.close();
      await drop();
    },
  };
}
