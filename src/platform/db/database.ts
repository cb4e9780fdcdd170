import type pg from "pg";
import { HOUR_MS } from "../durations.ts";
import type { Macs } from "../sealing/macs.ts";
import { runWithConnection } from "./caller-context.ts";
import { newTransactionNumber, observed } from "./observe.ts";
import {
  CommitUnknownError,
  DatabaseUnavailableError,
  isAborted,
  isCertain,
  isDatabaseError,
  nameOutage,
} from "./outages.ts";
import { toParameter } from "./parameters.ts";
import { destroyConnection, openPool, type PoolUse, sendTogether } from "./pool.ts";

/** What a store function needs: run one statement, return its rows. */
export type Session = {
  /** Every transaction is of one account, which its statements name by equality (rows.ts). */
  readonly by_account?: boolean;
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** The same object in all sessions of a database. */
  readonly bound?: Bound;
};

/** What all sessions of a database have in common. */
export type Own = Pick<Session, "bound" | "by_account">;

/** What belongs to a database as this process has it open. */
type Bound = {
  macs?: Macs;
  /** Called with the name of a row that this service did not write as it is. */
  onUnvouched?: (name: string) => void;
};

/**
 * A transaction in few round trips. `query` sends at once (BEGIN is sent with the first one);
 * `write` delays the statement until the commit, so that all writes and COMMIT are sent in one
 * flush. A failing write turns the COMMIT into a rollback.
 */
export type Transaction = Session &
  Writer & {
    /**
     * Sends a statement with the writes, in their order, and then the writes that its rows lead to.
     * One more round trip: for writes that depend on rows which are locked late.
     */
    writeAfter<Row>(
      text: string,
      values: readonly unknown[],
      next: (rows: Row[], writer: Writer) => void,
    ): void;
  };

/** What a store function needs that only writes. */
export type Writer = Own & {
  write(text: string, values: readonly unknown[]): void;
};

type TransactionOptions = {
  /** A statement unanswered for this long counts as a lost connection. */
  answer_max_ms?: number | undefined;
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

type DatabaseOptions = {
  /** Of one host or several (hosts.ts). */
  url: string;
  connections_max: number;
  /** Send statements without waiting for the answers to earlier ones. Default: true. */
  pipeline?: boolean;
  /** See `Session`. Default: false. */
  by_account?: boolean;
  /** The limit of every statement that has none of its own. */
  answer_max_ms?: number;
  on_error?: (error: Error) => void;
};

/** Shorter than a lease: whoever waits on a lost server is free again when its tasks are. */
const ANSWER_MAX_MS = 20_000;
/** For statements that read or rebuild whole tables. */
const LONG_ANSWER_MAX_MS = 6 * HOUR_MS;
/** The option of transactions that read everything, for example to verify it. */
export const READ_ALL: TransactionOptions = { answer_max_ms: LONG_ANSWER_MAX_MS };

export function openDatabase(options: DatabaseOptions): Database {
  const { pipeline = true, on_error = () => {}, answer_max_ms = ANSWER_MAX_MS } = options;
  const { by_account = false } = options;
  const openSender = pipeline ? senderOf : oneByOne;
  const pool = openPool({ ...options, pipeline, on_error, answer_max_ms });
  const bound: Bound = {};

  return {
    bound,
    by_account,
    query: async (text, values) => {
      observed(newTransactionNumber(), text, values);
      const client = await pool.connect();
      let is_reusable = false;
      try {
        const { rows } = await openSender(client)(text, values);
        is_reusable = true;
        return rows;
      } catch (error) {
        is_reusable = isDatabaseError(error);
        return nameOutage(error);
      } finally {
        client.release(!is_reusable);
      }
    },
    transaction: async (work, limit = {}) => {
      const client = await pool.connect();
      const send = openSender(client, limit.answer_max_ms);
      return runWithConnection(() =>
        runTransaction(client, send, { by_account, bound }, work, () => pool.isLost(client)),
      );
    },
    connection: async (work) => {
      const client = await pool.connect();
      try {
        const query = rowsOf(openSender(client, LONG_ANSWER_MAX_MS));
        return await runWithConnection(() => work({ query, by_account, bound }));
      } finally {
        // Not returned to the pool: closing it ends the session's locks and settings.
        client.release(true);
      }
    },
    pool: pool.use,
    close: pool.end,
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
    sendTogether(client);
    return client.query({ text, values: values as unknown[], ...named, ...limit });
  };
}

/**
 * The driver could queue them itself, but expects its callers to wait. Without a pipeline it leaves
 * a connection open on which a statement has timed out.
 */
function oneByOne(client: pg.PoolClient, answer_max_ms?: number): Send {
  const sendNow = senderOf(client, answer_max_ms);
  let last: Promise<unknown> = Promise.resolve();
  return (text, values, name) => {
    const sent = last
      .then(() => sendNow(text, values, name))
      .catch((error) => {
        if (!isCertain(error)) destroyConnection(client);
        throw error;
      });
    last = sent.catch(() => {});
    return sent;
  };
}

function rowsOf(send: Send): Session["query"] {
  return async (text, values) =>
    (await send(text, values?.map(toParameter)).catch(nameOutage)).rows;
}

async function runTransaction<Result>(
  client: pg.PoolClient,
  send: Send,
  own: Own,
  work: (tx: Transaction) => Promise<Result>,
  isLost: () => boolean,
): Promise<Result> {
  // Only a connection whose last statement was answered returns to the pool.
  let is_reusable = false;
  try {
    const { tx, end } = begin(send, own);
    let result: Result;
    let writes: readonly Write[];
    try {
      result = await work(tx);
      writes = await sendAhead(send, end());
    } catch (error) {
      end();
      is_reusable = await send("rollback").then(
        () => true,
        () => false,
      );
      throw error;
    }
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

type Write = {
  text: string;
  values: readonly unknown[];
  /** Continues with the rows of the answer. */
  next?: (rows: unknown[]) => readonly Write[];
};

/** An ended transaction accepts no statements: its connection may already serve another. */
function begin(send: Send, own: Own): { tx: Transaction; end: () => readonly Write[] } {
  const writes: Write[] = [];
  let is_over = false;
  const assertOpen = () => {
    if (is_over) throw new Error("a statement came after the end of its transaction");
  };
  // The statements after a failed BEGIN report it; unhandled it would end the process.
  send("begin").catch(() => {});
  const query = rowsOf(send);
  let first_failure: unknown;
  const transaction = newTransactionNumber();
  const tx: Transaction = {
    ...own,
    query: async (text, values) => {
      assertOpen();
      observed(transaction, text, values);
      try {
        return await query(text, values);
      } catch (error) {
        // Statements sent after a failed one fail too, and their caller may hear of it first.
        first_failure ??= error;
        throw isAborted(error) ? first_failure : error;
      }
    },
    write: (text, values) => {
      assertOpen();
      observed(transaction, text, values);
      writes.push({ text, values: values.map(toParameter) });
    },
    writeAfter: (text, values, next) => {
      assertOpen();
      observed(transaction, text, values);
      writes.push({
        text,
        values: values.map(toParameter),
        next: (rows) => {
          const more: Write[] = [];
          const write: Writer["write"] = (text, values) => {
            observed(transaction, text, values);
            more.push({ text, values: values.map(toParameter) });
          };
          next(rows as never[], { ...own, write });
          return more;
        },
      });
    },
  };
  const end = () => {
    is_over = true;
    return writes;
  };
  return { tx, end };
}

/** Sends the writes up to the last that others depend on; returns those to send with COMMIT. */
async function sendAhead(send: Send, writes: readonly Write[]): Promise<readonly Write[]> {
  let left = writes;
  for (;;) {
    const at = left.findIndex(({ next }) => next);
    if (at < 0) return left;
    const sent = left.slice(0, at + 1).map(({ text, values }) => send(text, values, nameOf(text)));
    const answers = await Promise.allSettled(sent);
    const failed = answers.find((answer) => answer.status === "rejected");
    if (failed) nameOutage(failed.reason);
    const { value } = answers.at(-1) as PromiseFulfilledResult<pg.QueryResult>;
    left = [...left[at]!.next!(value.rows), ...left.slice(at + 1)];
  }
}

type CommitAnswers = {
  writes: PromiseSettledResult<pg.QueryResult>[];
  commit: PromiseSettledResult<pg.QueryResult>;
  /**
   * Said by the server while it committed. It can mean that a replica or another node did not
   * commit: whatever it says, the outcome has to be looked up.
   */
  warning: string | null;
};

async function sendWithCommit(
  client: pg.PoolClient,
  send: Send,
  writes: readonly Write[],
): Promise<CommitAnswers> {
  let warning: string | null = null;
  // Words may be translated, codes are not; a notice without a concern has this one.
  const onNotice = ({ code, message }: { code?: string | undefined; message?: string }) => {
    if (code !== "00000") warning = message ?? "";
  };
  client.on("notice", onNotice);
  const sent = writes.map(({ text, values }) => send(text, values, nameOf(text)));
  const answers = Promise.allSettled(sent);
  const [commit] = await Promise.allSettled([send("commit")]);
  client.off("notice", onNotice);
  return { writes: await answers, commit, warning };
}

function assertCommitted({ writes, commit, warning }: CommitAnswers): void {
  const failed = [...writes, commit].find((answer) => answer.status === "rejected");
  if (failed) {
    // An error from the server means a rollback; anything else is a lost connection.
    if (isCertain(failed.reason)) nameOutage(failed.reason);
    throw new CommitUnknownError("the answer to COMMIT was lost", { cause: failed.reason });
  }
  if (commit.status === "fulfilled" && commit.value.command !== "COMMIT") {
    throw new Error("the transaction was rolled back: a failed statement of it was overlooked");
  }
  if (warning !== null) {
    throw new CommitUnknownError("the server warned while it committed", { cause: warning });
  }
}
