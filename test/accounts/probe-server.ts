import type { AddressInfo } from "node:net";
import Type from "typebox";
import { createAuthenticate, findActiveCredentials } from "../../src/accounts/authenticate.ts";
import type { Core } from "../../src/app/open-app.ts";
import { addNoteUse } from "../../src/apps/oauth/note-use.ts";
import { openTokens } from "../../src/apps/oauth/token-callers.ts";
import { createExecutor } from "../../src/platform/commands/executor.ts";
import type { UseCase } from "../../src/platform/commands/use-case.ts";
import { addRoute } from "../../src/platform/http/route.ts";
import { createServer } from "../../src/platform/http/server.ts";
import { newId } from "../../src/platform/ids.ts";

export type ProbeServer = {
  call(
    method: "GET" | "POST",
    path: string,
    key: string,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }>;
  close(): Promise<void>;
};

/** Routes that each require something else, next to the service and on its database. */
export async function startProbeServer(core: Core, rate_limit = 0): Promise<ProbeServer> {
  const { database, clock, keyring, index_key, config } = core;
  const tokens = openTokens(core);
  const app = createServer({
    ...config,
    log_level: "silent",
    rate_limit,
    public_url: () => "http://127.0.0.1",
    authenticate: createAuthenticate(core, config.mode, tokens),
  });
  const executor = createExecutor({
    database,
    clock,
    keyring,
    across_accounts: true,
    findActiveCredentials: (tx, ...ids) => findActiveCredentials(tx, tokens, ...ids),
    afterCommit: () => {},
  });
  const write = executor.register(writeProbe);
  addNoteUse(app, core);
  const common = {
    operation: "",
    summary: "",
    description: "Only for this test.",
    tag: "",
    answer: Type.Object({}),
    errors: [],
  };
  addRoute(app, index_key, {
    ...common,
    method: "GET",
    path: "/probe",
    scope: "invoices:read",
    handle: async ({ caller }) => JSON.stringify(caller),
  });
  addRoute(app, index_key, {
    ...common,
    method: "POST",
    path: "/probe",
    scope: "invoices:write",
    handle: ({ command }) => write(command(null)),
  });
  addRoute(app, index_key, {
    ...common,
    method: "GET",
    path: "/probe/keys-only",
    handle: async () => "{}",
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return {
    call: async (method, path, key, headers = {}) => {
      const authorization = `Bearer ${key}`;
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { authorization, ...headers },
      });
      const body = (await answer.json()) as Record<string, unknown>;
      return { status: answer.status, headers: answer.headers, body };
    },
    close: () => app.close(),
  };
}

/** Returns an id, a different one each time it runs. */
const writeProbe: UseCase<null, null, string> = {
  name: "write-probe",
  rows: () => 1,
  load: async () => null,
  decide: (_loaded, _command, now) => ({ output: newId(now), subject: null }),
  record: () => {},
  render: (id) => JSON.stringify({ id }),
};
