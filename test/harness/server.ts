import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAccount } from "../../src/accounts/create-account.ts";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import {
  type Core,
  openApp,
  openCore,
  type Partners,
  type RunningApp,
} from "../../src/app/open-app.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { listenOnPort } from "../../src/platform/http/listeners.ts";
import type { LogDestination } from "../../src/platform/http/server.ts";
import { bindMacs, macsOf } from "../../src/platform/sealing/row-mac.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { SecretWatch } from "./planted-secrets.ts";

export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
  body: any;
};

export type CallOptions = {
  /** Null sends no key at all. */
  key?: string | null;
  headers?: Record<string, string>;
  /** Sent unchanged, for bodies that are not JSON. */
  raw?: string | Uint8Array;
};

/** The whole service on a real database and a real port, in this process. */
export type TestServer = {
  url: string;
  /** Key of the first account. */
  key: string;
  account_id: string;
  core: Core;
  app: RunningApp;
  db: TestDatabase;
  data_dir: string;
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  /** Creates another account with its own key. */
  addAccount(name: string): Promise<{ account_id: string; key: string }>;
  close(): Promise<void>;
};

export type ServerSettings = {
  /** Of the URL; by default the address itself. */
  host_name?: string;
  environment?: Record<string, string>;
  /** Shares a database and data directory with another server, as a second process would. */
  beside?: Pick<TestServer, "db" | "data_dir"> & { key?: string };
  /** Partners other than the sandbox's. */
  partners?: (core: Core) => Partners | Promise<Partners>;
  /** Receives the log lines. They are searched for planted secrets in any case. */
  log_destination?: LogDestination;
  /** The test starts workers itself, as processes of their own. */
  without_worker?: boolean;
};

export async function startTestServer(settings: ServerSettings = {}): Promise<TestServer> {
  const db = settings.beside?.db ?? (await createTestDatabase());
  const data_dir = settings.beside?.data_dir ?? (await mkdtemp(join(tmpdir(), "sliproad-data-")));
  const config = readConfig({
    PORT: "0",
    SLIPROAD_DATA_DIR: data_dir,
    SLIPROAD_LOG_LEVEL: "debug",
    SLIPROAD_RATE_LIMIT: "0",
    SLIPROAD_RATE_LIMIT_ANONYMOUS: "0",
    SLIPROAD_QUOTES_OPEN_MAX: "0",
    SLIPROAD_BATCH_BY: process.env.SLIPROAD_BATCH_BY ?? "installation",
    ...settings.environment,
  });
  const core = await openCore(config, db.url);
  // What a test writes through its own connections has the service's MACs too.
  bindMacs(db.database, macsOf(core.database));
  const secrets = new SecretWatch();
  let url = "http://127.0.0.1";
  const app = await openApp(
    core,
    () => config.public_url ?? url,
    await settings.partners?.(core),
    secrets.watch(settings.log_destination),
  );
  const port = await listenOnPort(app.server, { host: "127.0.0.1", port: 0 });
  url = `http://${settings.host_name ?? "127.0.0.1"}:${port}`;
  if (!settings.without_worker) app.worker.start();
  const key = core.first_start.created?.api_key ?? settings.beside!.key!;
  secrets.add(key);
  if (core.first_start.created) secrets.add(core.first_start.created.admin_password);

  return {
    url,
    key,
    account_id: core.first_start.operator.id,
    core,
    app,
    db,
    data_dir,
    call: (method, path, body, options = {}) => callServer(url, key, method, path, body, options),
    addAccount: async (name) => {
      const added = await addAccount(core, name);
      secrets.add(added.key);
      return added;
    },
    close: async () => {
      await app.close();
      if (!settings.beside) {
        await db.drop();
        await rm(data_dir, { recursive: true, force: true });
      }
      secrets.assertNone();
    },
  };
}

/** A request to any server, also one in another process. */
export async function callServer(
  url: string,
  server_key: string,
  method: string,
  path: string,
  body: unknown,
  options: CallOptions,
): Promise<Answer> {
  const key = options.key === undefined ? server_key : options.key;
  const content = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(content === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    body: content as never,
    redirect: "manual",
  });
  const text = await answer.text();
  const is_json = answer.headers.get("content-type")?.includes("json");
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: is_json ? JSON.parse(text) : null,
  };
}

async function addAccount(core: Core, name: string) {
  const { database, keyring, index_key, clock } = core;
  const by = { actor: "command line", reason: "test" } as const;
  const account = await database.transaction((tx) =>
    createAccount(tx, keyring, { name, is_operator: false, ...by }, clock.now()),
  );
  const key = makeApiKey(index_key, core.config.mode, account.id);
  await database.transaction(async (tx) =>
    createApiKey(tx, index_key, { account_id: account.id, name, key, ...by }, clock.now()),
  );
  return { account_id: account.id, key };
}

/** How many connections are open, of those made from now on: the server has several sockets. */
export function countConnections({ app }: TestServer): () => number {
  let open = 0;
  app.server.server.on("connection", (socket) => {
    open += 1;
    socket.once("close", () => {
      open -= 1;
    });
  });
  return () => open;
}
