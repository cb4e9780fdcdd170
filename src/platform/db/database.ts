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

export type Database = Session & {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  /** A connection of one's own, for what outlives a statement (advisory locks). */
  connection<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
};

/** The database could not be reached, or was lost before COMMIT was sent: nothing happened. */
export class DatabaseUnavailableError extends Error {}

/** COMMIT was sent and its answer never came: only the database knows whether it happened. */
export class CommitUnknownError extends Error {}

export type DatabaseOptions = {
  url: string;
  connections_max: number;
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

export function openDatabase(options: DatabaseOptions): Database {
  const on_error = options.on_error ?? (() => {});
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections_max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    pipeline: true,
    types,
    application_name: "sliproad",
  });
  pool.on("error", on_error);
  pool.on("connect", (client) => void client.on("error", on_error));

  return {
    query: async (text, values) =>
      (await pool.query(text, values as unknown[]).catch(nameConnectionErrors)).rows,
    transaction: (work) => runTransaction(pool, work),
    connection: async (work) => {
      const client = await pool.connect().catch(nameConnectionErrors);
      try {
        return await work(sessionOf(client));
      } finally {
        // Not returned to the pool: whatever the session holds ends with it.
        client.release(true);
      }
    },
    close: () => pool.end(),
  };
}

function sessionOf(client: pg.PoolClient): Session {
  return {
    query: async (text, values) =>
      (await client.query(text, values as unknown[]).catch(nameConnectionErrors)).rows,
  };
}

async function runTransaction<Result>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect().catch(nameConnectionErrors);
  let broken = true;
  try {
    const writes: [string, readonly unknown[]][] = [];
    const begun = client.query("begin");
    // A failed BEGIN is seen by the statements after it; unobserved it would end the process.
    begun.catch(() => {});
    const tx: Transaction = {
      ...sessionOf(client),
      write: (text, values) => void writes.push([text, values]),
    };
    let result: Result;
    try {
      result = await work(tx);
    } catch (error) {
      await client.query("rollback").then(
        () => {
          broken = false;
        },
        () => {},
      );
      throw error;
    }
    await commit(client, writes);
    broken = false;
    return result;
  } catch (error) {
    if (isDatabaseError(error)) broken = false;
    throw error;
  } finally {
    client.release(broken);
  }
}

async function commit(
  client: pg.PoolClient,
  writes: [string, readonly unknown[]][],
): Promise<void> {
  let replication_was_awaited = true;
  const onNotice = (notice: { message?: string }) => {
    if (notice.message?.includes("synchronous replication")) replication_was_awaited = false;
  };
  client.on("notice", onNotice);
  const sent = writes.map(([text, values]) => client.query(text, values as unknown[]));
  const answers = await Promise.allSettled([...sent, client.query("commit")]);
  client.off("notice", onNotice);
  const failed = answers.find((answer) => answer.status === "rejected");
  if (failed) {
    // A server's own error in a write means a rollback; anything else is a lost connection.
    if (isDatabaseError(failed.reason)) throw failed.reason;
    throw new CommitUnknownError("the answer to COMMIT was lost", { cause: failed.reason });
  }
  const last = answers.at(-1) as PromiseFulfilledResult<pg.QueryResult>;
  if (last.value.command !== "COMMIT") throw new Error("the transaction was rolled back");
  if (!replication_was_awaited) {
    throw new CommitUnknownError("the commit did not wait for its replica");
  }
}

function nameConnectionErrors(error: unknown): never {
  if (isDatabaseError(error)) throw error;
  throw new DatabaseUnavailableError("the database cannot be reached", { cause: error });
}

/** True for an error that PostgreSQL itself reported, false for a broken connection. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError && !isConnectionEnd(error.code);
}

// 57P01–57P03: the server is going away; class 08: connection exceptions.
function isConnectionEnd(code: string | undefined): boolean {
  return code !== undefined && (/^57P0[123]$/.test(code) || code.startsWith("08"));
}

/** The name of the unique key that a statement violated, if that is what happened. */
export function violatedKey(error: unknown): string | undefined {
  return isDatabaseError(error) && error.code === "23505" ? error.constraint : undefined;
}

/** Two transactions got in each other's way and PostgreSQL ended one: running it again is right. */
export function isRetryable(error: unknown): boolean {
  return isDatabaseError(error) && (error.code === "40P01" || error.code === "40001");
}
