import { pipeline } from "node:stream/promises";
import pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import type { Session } from "./database.ts";
import { nameOutage } from "./outages.ts";
import { openPool } from "./pool.ts";

export type TableColumns = { name: string; columns: readonly string[] };

/** A transaction that reads and writes whole tables as streams, in the text format of COPY. */
export type CopyTransaction = Session & {
  copyOut(table: TableColumns): AsyncIterable<Buffer>;
  copyIn(table: TableColumns, content: AsyncIterable<Buffer>): Promise<void>;
};

/** The same text for the same value, whatever the server's settings are. No limits of time. */
const SETTINGS = `
  set timezone = 'UTC';
  set datestyle = 'ISO, MDY';
  set intervalstyle = 'postgres';
  set bytea_output = 'hex';
  set extra_float_digits = 1;
  set statement_timeout = 0;
  set idle_in_transaction_session_timeout = 0`;

/** Nobody can tell how long a large table takes; a lost host is noticed by TCP. */
const NO_LIMIT = 0;

/**
 * One transaction on a connection of its own: COPY does not work in the driver's pipeline mode, and
 * a large table takes longer than any other statement may. `snapshot` only reads, and sees the
 * database as it is at its first statement.
 */
export async function withCopyTransaction<Result>(
  url: string,
  kind: "snapshot" | "load",
  work: (tx: CopyTransaction) => Promise<Result>,
): Promise<Result> {
  const options = { url, connections_max: 1, pipeline: false, answer_max_ms: NO_LIMIT };
  // Statements report a lost connection.
  const pool = openPool({ ...options, on_error: () => {} });
  try {
    const client = await pool.connect();
    try {
      const tx = transactionOf(client);
      await tx.query(SETTINGS);
      const mode = kind === "snapshot" ? " isolation level repeatable read, read only" : "";
      await tx.query(`begin${mode}`);
      const result = await work(tx);
      await tx.query("commit");
      return result;
    } finally {
      // Closed rather than returned: without a commit, this rolls back.
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

function transactionOf(client: pg.PoolClient): CopyTransaction {
  return {
    query: async (text, values) =>
      (await client.query(text, values as unknown[]).catch(nameOutage)).rows,
    copyOut: (table) => client.query(copyTo(`copy ${nameColumns(table)} to stdout`)),
    copyIn: (table, content) =>
      pipeline(content, client.query(copyFrom(`copy ${nameColumns(table)} from stdin`))),
  };
}

function nameColumns({ name, columns }: TableColumns): string {
  const names = columns.map((column) => pg.escapeIdentifier(column));
  return `public.${pg.escapeIdentifier(name)} (${names.join(", ")})`;
}
