import pg from "pg";

/** What a store function needs: run one statement, get its rows. */
export type Session = {
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
};

/**
 * A transaction in few round trips. `query` sends at once (BEGIN travels with the first one);
 * `write` holds the statement back until the commit, so that all writes and COMMIT leave in one
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
  /** A connection of one's own, for what outlives a statement (advisory locks). */
  connection<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** How busy the connections of this process are. */
  pool(): PoolUse;
  close(): Promise<void>;
};

type PoolUse = { in_use: number; idle: number; waiting: number; max: number };

/** The database cannot be reached or cannot work, or was lost before COMMIT: nothing happened. */
export class DatabaseUnavailableError extends Error {}

/** COMMIT was sent and its answer never came: only the database knows whether it happened. */
export class CommitUnknownError extends Error {}

type DatabaseOptions = {
  url: string;
  connections_max: number;
  /** Statements leave without waiting for the answers before them; absent: they do. */
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
 * Every statement of ours has an index, and many tables fill and empty within minutes. By its old
 * statistics the planner takes such a table for small and would read all of it for a few hundred
 * keys. Worst is the check of a foreign key, whose plan a connection makes once: made while the
 * other table was small, it reads all of that table for each row of the burst that follows (1.9 s
 * for a thousand events, measured). This is the only place that sets it.
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
        // Not returned to the pool: whatever the session holds ends with it.
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
 * A name lets the server parse and plan a statement once per connection. Only inserts: the plan of
 * anything that looks rows up may be a bad one later, if it was made while its table was small.
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
    // The driver knows this limit, its types do not. It ends the connection when time is up.
    const limit = answer_max_ms === undefined ? {} : { query_timeout: answer_max_ms };
    const named = name === undefined ? {} : { name };
    return client.query({ text, values: values as unknown[], ...named, ...limit });
  };
}

/** The driver would queue them itself, but wants its callers to wait. */
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
  // Back to the pool goes only a connection whose last statement was answered.
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
    // A server that shuts down or is no longer the primary: the next one gets a new connection.
    if (error instanceof DatabaseUnavailableError) is_reusable = false;
    throw error;
  } finally {
    client.release(!is_reusable);
  }
}

type Write = [text: string, values: readonly unknown[]];

/** Once ended, a transaction takes nothing more: its connection may be another's by then. */
function begin(send: Send): { tx: Transaction; end: () => readonly Write[] } {
  const writes: Write[] = [];
  let is_over = false;
  const assertOpen = () => {
    if (is_over) throw new Error("a statement came after the end of its transaction");
  };
  // A failed BEGIN is seen by the statements after it; unobserved it would end the process.
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
 * What the driver would do while sending, done earlier: a value that cannot be turned into JSON
 * must fail here, not between two writes that are already on their way with COMMIT behind them.
 */
function toParameter(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toParameter);
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
  // The warning's text may be translated, the place it comes from is not.
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
    // A server's own error means a rollback; anything else is a lost connection.
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

/** True for an error by which PostgreSQL answered a statement, false for a broken connection. */
function isCertain(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !CONNECTION_ENDS.test(error.code ?? "");
}

// 57P01–57P03: the server is going away; class 08: connection exceptions.
const CONNECTION_ENDS = /^(57P0[123]|08...)$/;
// 25006: a standby, or a primary that became one; class 53: no room, no memory, no connections.
const OUTAGES = /^(25006|53...)$/;

/** True for an error that PostgreSQL reported of a statement, false when it is out of service. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return isCertain(error) && !OUTAGES.test(error.code ?? "");
}

/** The name of the unique key that a statement violated, if that is what happened. */
export function violatedKey(error: unknown): string | undefined {
  return isDatabaseError(error) && error.code === "23505" ? error.constraint : undefined;
}

/** Two transactions got in each other's way and PostgreSQL ended one: running it again is right. */
export function isRetryable(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40P01" || error.code === "40001");
}
