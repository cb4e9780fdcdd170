import type { Socket } from "node:net";
import pg from "pg";
import { currentCaller } from "./caller-context.ts";
import { ConnectionTurns, REQUEST_TURNS, TASK_TURNS } from "./connection-turns.ts";
import { readHosts } from "./hosts.ts";
import { DatabaseUnavailableError } from "./outages.ts";

type PoolOptions = {
  /** Of one host or several (readHosts). */
  url: string;
  connections_max: number;
  pipeline: boolean;
  /** A statement unanswered for this long counts as a lost connection. */
  answer_max_ms: number;
  on_error: (error: Error) => void;
  /** Every transaction is of one account, perhaps on a server of its own. */
  by_account?: boolean;
};

type ConnectionPool = {
  /**
   * A connection to the host that serves now, when it is the caller's turn. Fails as
   * DatabaseUnavailableError, or with a refusal where too much of the caller waits already.
   */
  connect(): Promise<pg.PoolClient>;
  isLost(client: pg.ClientBase): boolean;
  use(): PoolUse;
  end(): Promise<void>;
};

export type PoolUse = { in_use: number; idle: number; waiting: number; max: number };

const CONNECT_MAX_MS = 10_000;
/** With several hosts: one that does not answer delays the attempt with the next. */
const CONNECT_MAX_MS_EACH = 5_000;
/** A host that is gone is noticed by connections on which nothing is waited for. */
const KEEP_ALIVE_MS = 10_000;
/** How the driver says that all connections are in use: no reason to try another host. */
const NONE_FREE = "timeout exceeded when trying to connect";

const INT8_OID = 20;
// int8 becomes BigInt: a JavaScript number would round large amounts.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === INT8_OID && format !== "binary"
      ? BigInt
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

export function openPool(options: PoolOptions): ConnectionPool {
  const { connections_max, pipeline, answer_max_ms, on_error, by_account = false } = options;
  const { urls, must_write } = readHosts(options.url) ?? { urls: [options.url], must_write: false };
  const lost = new WeakSet<pg.ClientBase>();
  const request_turns = new ConnectionTurns(connections_max, REQUEST_TURNS);
  const task_turns = new ConnectionTurns(connections_max, TASK_TURNS);
  let host = 0;
  const pool = new pg.Pool({
    connectionString: urls[host]!,
    max: connections_max,
    connectionTimeoutMillis: urls.length > 1 ? CONNECT_MAX_MS_EACH : CONNECT_MAX_MS,
    query_timeout: answer_max_ms,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    pipeline,
    types,
    // `sliproad doctor` counts the processes by it.
    application_name: `sliproad ${process.pid}`,
    onConnect: (client) => prepare(client, must_write, by_account),
  });
  pool.on("error", on_error);
  pool.on("connect", (client) => {
    client.on("error", (error) => {
      lost.add(client);
      on_error(error);
    });
  });

  async function connectNow(): Promise<pg.PoolClient> {
    for (let tries = 1; ; tries += 1) {
      const tried = host;
      try {
        return await pool.connect();
      } catch (error) {
        const is_full = (error as Error).message === NONE_FREE;
        // Another caller may have changed it already.
        if (!is_full && host === tried) host = (host + 1) % urls.length;
        pool.options.connectionString = urls[host]!;
        if (is_full || tries === urls.length) throw unreachable(error);
      }
    }
  }

  async function connect(): Promise<pg.PoolClient> {
    const caller = currentCaller();
    if (!caller || caller.has_connection) return connectNow();
    const endTurn = await (caller.is_task ? task_turns : request_turns).take(caller);
    try {
      const client = await connectNow();
      const from_ms = performance.now();
      // The driver sets it for each use.
      const { release } = client;
      client.release = (is_lost) => {
        release(is_lost);
        caller.used_ms += performance.now() - from_ms;
        endTurn();
      };
      return client;
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  let ended: Promise<void> | undefined;
  return {
    connect,
    isLost: (client) => lost.has(client),
    use: () => ({
      in_use: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount + request_turns.waiting + task_turns.waiting,
      max: connections_max,
    }),
    end: () => {
      ended ??= pool.end();
      return ended;
    },
  };
}

/**
 * Every statement of ours has an index, and many tables fill and empty within minutes. With
 * outdated statistics the planner believes that such a table is small and would read all of it for
 * a few hundred keys. The worst case is the check of a foreign key, which a connection plans once:
 * planned while the other table was small, it reads all of that table for each row of the next
 * burst (measured: 1.9 s for a thousand events). This is the only place that sets it.
 */
async function prepare(
  client: pg.ClientBase,
  must_write: boolean,
  by_account: boolean,
): Promise<void> {
  await client.query("set enable_seqscan = off");
  await client.query(END_WITH_CLIENT).catch(ignoreUnsupported);
  // Known to Citus only: what a transaction sets with SET LOCAL holds on the account's server too.
  if (by_account) await client.query("set citus.propagate_set_commands = 'local'");
  if (!must_write) return;
  const { rows } = await client.query("select pg_is_in_recovery() as is_standby");
  if (rows[0].is_standby) throw new Error("this server is a standby");
}

/**
 * A statement that takes too long is given up by closing its connection. The server would go on
 * with it, and keep its locks, until it has an answer to send.
 */
const END_WITH_CLIENT = "set client_connection_check_interval = '1s'";

/** Servers on Windows cannot check it, and refuse the setting. */
function ignoreUnsupported(error: unknown): void {
  if ((error as { code?: string }).code !== "22023") throw error;
}

/** Closes the connection at once: nobody answers on it, so it cannot be ended politely. */
export function destroyConnection(client: pg.ClientBase): void {
  streamOf(client).destroy();
}

const held = new WeakSet<Socket>();

/**
 * What is sent on this connection now leaves in one piece: the driver would write every statement
 * on its own, and each write wakes the server (measured: a seventh of the time of a busy process).
 */
export function sendTogether(client: pg.ClientBase): void {
  const stream = streamOf(client);
  if (held.has(stream)) return;
  held.add(stream);
  stream.cork();
  process.nextTick(() => {
    held.delete(stream);
    stream.uncork();
  });
}

function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

function unreachable(error: unknown): DatabaseUnavailableError {
  const reason = error instanceof pg.DatabaseError ? `refused: ${error.message}` : "failed";
  return new DatabaseUnavailableError(`the connection to the database ${reason}`, {
    cause: error,
  });
}
