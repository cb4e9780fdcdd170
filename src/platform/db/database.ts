import pg from "pg";
import { bytesArray, isBytesArray } from "./plain-array.ts";

/** What a store function needs: run one statement, return its rows. */
export type Session = {
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
};

/**
 * A transaction in few round trips. `query` sends at once (BEGIN is sent with the first one);
 * `write` delays the statement until the commit, so that all writes and COMMIT are sent in one
 * flush. A failing write turns the COMMIT into a rollback.
 */
export type Transaction = Session & {
  write(text: string, values: readonly unknown[]): void;
};

type TransactionOptions = {
  /** A statement unanswered for this long counts as a lost connection. Absent: no limit. */
  answer_max_ms?: number;
};

export type Database = Session & {
  transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
  /** A dedicated connection, for what outlives a statement (advisory locks). */
  connection<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** How many connections of this process are in use. */
  pool(): PoolUse;
  close(): Promise<void>;
};

type PoolUse = { in_use: number; idle: number; waiting: number; max: number };

/** The database was unreachable, failed, or was lost before COMMIT: nothing was written. */
export class DatabaseUnavailableError extends Error {}

/** COMMIT was sent but not answered: only the database knows whether it committed. */
export class CommitUnknownError extends Error {}

type DatabaseOptions = {
  url: string;
  connections_max: number;
  /** Send statements without waiting for the answers to earlier ones. Default: true. */
  pipeline?: boolean;
  on_error?: (error: Error) => void;
};

const INT8_OID = 20;
const CONNECT_TIMEOUT_MS = 10_000;

// int8 becomes BigInt: a JavaScript number would round large amounts.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text" | "binary") =>
    oid === INT8_OID && format !== "binary"
      ? BigInt
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Every statement of ours has an index, and many tables fill and empty within minutes. With
 * outdated statistics the planner believes that such a table is small and would read all of it for
 * a few hundred keys. The worst case is the check of a foreign key, which a connection plans once:
 * planned while the other table was small, it reads all of that table for each row of the next
 * burst (measured: 1.9 s for a thousand events). This is the only place that sets it.
 */
async function preferIndexes(client: pg.ClientBase): Promise<void> {
  await client.query("set enable_seqscan = off");
}

export function openDatabase(options: DatabaseOptions): Database {
  const { pipeline = true, on_error = () => {} } = options;
  const openSender = pipeline ? senderOf : oneByOne;
  const lost = new WeakSet<pg.ClientBase>();
  let closed: Promise<void> | undefined;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections_max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    pipeline,
    types,
    application_name: "sliproad",
    onConnect: preferIndexes,
  });
  pool.on("error", on_error);
  pool.on("connect", (client) => {
    client.on("error", (error) => {
      lost.add(client);
      on_error(error);
    });
  });

  return {
    query: async (text, values) =>
      (await pool.query(text, values as unknown[]).catch(nameOutage)).rows,
    transaction: async (work, { answer_max_ms } = {}) => {
      const client = await pool.connect().catch(nameOutage);
      const send = openSender(client, answer_max_ms);
      return runTransaction(client, send, work, () => lost.has(client));
    },
    connection: async (work) => {
      const client = await pool.connect().catch(nameOutage);
      try {
        return await work({ query: rowsOf(openSender(client)) });
      } finally {
        // Not returned to the pool: closing it ends the session's locks and settings.
        client.release(true);
      }
    },
    pool: () => ({
      in_use: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      max: options.connections_max,
    }),
    close: () => {
      closed ??= pool.end();
      return closed;
    },
  };
}

type Send = (text: string, values?: readonly unknown[], name?: string) => Promise<pg.QueryResult>;

const NAMES_MAX = 500;
const names = new Map<string, string>();

/**
 * A name lets the server parse and plan a statement once per connection. Only for inserts: a lookup
 * planned while its table was small could be slow later.
 */
function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= NAMES_MAX || !text.startsWith("insert")) return known;
  const name = `insert_${names.size + 1}`;
  names.set(text, name);
  return name;
}

function senderOf(client: pg.PoolClient, answer_max_ms?: number): Send {
  return (text, values, name) => {
    // The driver has this option, its types do not. It closes the connection after the timeout.
    const limit = answer_max_ms === undefined ? {} : { query_timeout: answer_max_ms };
    const named = name === undefined ? {} : { name };
    return client.query({ text, values: values as unknown[], ...named, ...limit });
  };
}

/** The driver could queue them itself, but expects its callers to wait. */
function oneByOne(client: pg.PoolClient, answer_max_ms?: number): Send {
  const sendNow = senderOf(client, answer_max_ms);
  let last: Promise<unknown> = Promise.resolve();
  return (text, values, name) => {
    const sent = last.then(() => sendNow(text, values, name));
    last = sent.catch(() => {});
    return sent;
  };
}

function rowsOf(send: Send): Session["query"] {
  return async (text, values) => (await send(text, values).catch(nameOutage)).rows;
}

async function runTransaction<Result>(
  client: pg.PoolClient,
  send: Send,
  work: (tx: Transaction) => Promise<Result>,
  isLost: () => boolean,
): Promise<Result> {
  // Only a connection whose last statement was answered returns to the pool.
  let is_reusable = false;
  try {
    const { tx, end } = begin(send);
    let result: Result;
    try {
      result = await work(tx);
    } catch (error) {
      end();
      is_reusable = await send("rollback").then(
        () => true,
        () => false,
      );
      throw error;
    }
    const writes = end();
    if (isLost()) throw new DatabaseUnavailableError("the connection was lost before COMMIT");
    const answers = await sendWithCommit(client, send, writes);
    is_reusable = answers.commit.status === "fulfilled";
    assertCommitted(answers);
    return result;
  } catch (error) {
    // The server shuts down or is no longer the primary: do not reuse the connection.
    if (error instanceof DatabaseUnavailableError) is_reusable = false;
    throw error;
  } finally {
    client.release(!is_reusable);
  }
}

type Write = [text: string, values: readonly unknown[]];

/** An ended transaction accepts no statements: its connection may already serve another. */
function begin(send: Send): { tx: Transaction; end: () => readonly Write[] } {
  const writes: Write[] = [];
  let is_over = false;
  const assertOpen = () => {
    if (is_over) throw new Error("a statement came after the end of its transaction");
  };
  // The statements after a failed BEGIN report it; unhandled it would end the process.
  send("begin").catch(() => {});
  const query = rowsOf(send);
  const tx: Transaction = {
    query: async (text, values) => {
      assertOpen();
      return query(text, values);
    },
    write: (text, values) => {
      assertOpen();
      writes.push([text, values.map(toParameter)]);
    },
  };
  const end = () => {
    is_over = true;
    return writes;
  };
  return { tx, end };
}

/**
 * Does early what the driver would do while sending: a value that cannot be converted to JSON must
 * fail here, not between two writes that are already being sent together with COMMIT.
 */
function toParameter(value: unknown): unknown {
  if (Array.isArray(value)) {
    return isBytesArray(value) ? bytesArray(value) : value.map(toParameter);
  }
  const is_plain = typeof value === "object" && value !== null && !isScalarObject(value);
  return is_plain ? JSON.stringify(value) : value;
}

function isScalarObject(value: object): boolean {
  return value instanceof Date || ArrayBuffer.isView(value);
}

type CommitAnswers = {
  writes: PromiseSettledResult<pg.QueryResult>[];
  commit: PromiseSettledResult<pg.QueryResult>;
  replication_was_awaited: boolean;
};

async function sendWithCommit(
  client: pg.PoolClient,
  send: Send,
  writes: readonly Write[],
): Promise<CommitAnswers> {
  let replication_was_awaited = true;
  // The text of the warning may be translated; its routine is not.
  const onNotice = (notice: { routine?: string | undefined }) => {
    if (notice.routine === "SyncRepWaitForLSN") replication_was_awaited = false;
  };
  client.on("notice", onNotice);
  const sent = writes.map(([text, values]) => send(text, values, nameOf(text)));
  const answers = Promise.allSettled(sent);
  const [commit] = await Promise.allSettled([send("commit")]);
  client.off("notice", onNotice);
  return { writes: await answers, commit, replication_was_awaited };
}

function assertCommitted({ writes, commit, replication_was_awaited }: CommitAnswers): void {
  const failed = [...writes, commit].find((answer) => answer.status === "rejected");
  if (failed) {
    // An error from the server means a rollback; anything else is a lost connection.
    if (isCertain(failed.reason)) nameOutage(failed.reason);
    throw new CommitUnknownError("the answer to COMMIT was lost", { cause: failed.reason });
  }
  if (commit.status === "fulfilled" && commit.value.command !== "COMMIT") {
    throw new Error("the transaction was rolled back: a failed statement of it was overlooked");
  }
  if (!replication_was_awaited) {
    throw new CommitUnknownError("the commit did not wait for its replica");
  }
}

function nameOutage(error: unknown): never {
  if (isDatabaseError(error)) throw error;
  const message = isCertain(error)
    ? `the database cannot work now: ${error.message}`
    : "the database cannot be reached";
  throw new DatabaseUnavailableError(message, { cause: error });
}

/** True if PostgreSQL answered a statement with an error, false for a broken connection. */
function isCertain(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !CONNECTION_ENDS.test(error.code ?? "");
}

// 57P01–57P03: the server is shutting down; class 08: connection exceptions.
const CONNECTION_ENDS = /^(57P0[123]|08...)$/;
// 25006: a standby, or a primary that became one; class 53: no disk, memory or connections left.
const OUTAGES = /^(25006|53...)$/;

/** True if PostgreSQL rejected a statement, false if it is unavailable. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return isCertain(error) && !OUTAGES.test(error.code ?? "");
}

/** The name of the unique key that a statement violated, if it did. */
export function violatedKey(error: unknown): string | undefined {
  return isDatabaseError(error) && error.code === "23505" ? error.constraint : undefined;
}

/** Two transactions conflicted and PostgreSQL ended one: it is safe to run it again. */
export function isRetryable(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40P01" || error.code === "40001");
}
