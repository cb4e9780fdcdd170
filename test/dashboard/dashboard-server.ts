import type { LightMyRequestResponse } from "fastify";
import { createMember } from "../../src/accounts/create-member.ts";
import type { Role } from "../../src/accounts/model.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { PASSWORD_HASH } from "../harness/password.ts";
import type { TestServer } from "../harness/server.ts";

/** A member as their browser: signed in, with the token that the dashboard's page has. */
export type BrowserMember = {
  person_id: string;
  email: string;
  visitor: HttpVisitor;
  /** A request as the page sends it; `headers` replace its own. */
  call(
    method: string,
    url: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<LightMyRequestResponse>;
};

/** Adds a member to an account and signs them in. */
export async function signInMember(
  { core, app }: TestServer,
  { account_id, role, email }: { account_id: string; role: Role; email: string },
): Promise<BrowserMember> {
  const { database, index_key, clock } = core;
  const by = { actor: "command line", reason: "set up by a test" } as const;
  const input = { account_id, email, role, password_hash: PASSWORD_HASH, ...by };
  const { person_id } = await database.transaction((tx) =>
    createMember(tx, index_key, input, clock.now()),
  );
  const visitor = new HttpVisitor(app.server);
  await visitor.signIn(email);
  await visitor.get("/dashboard/security");
  return {
    person_id,
    email,
    visitor,
    call: (method, url, body, headers = {}) =>
      app.server.inject({
        method: method as "GET",
        url,
        cookies: Object.fromEntries(visitor.cookies),
        headers: { "x-csrf-token": visitor.csrf, ...headers },
        ...(body === undefined ? {} : { payload: body as object }),
      }),
  };
}
