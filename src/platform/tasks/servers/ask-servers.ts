import type { Session } from "../../db/database.ts";
import { DatabaseUnavailableError } from "../../db/outages.ts";
import { listAccountsByServer } from "./server-accounts-store.ts";

/** Those of one server, or null for all accounts in one statement. */
type Ask<Row> = (accounts: readonly string[] | null) => Promise<Row[]>;

/** After a server was lost, only those that answered are asked for so long. */
const APART_MS = 5_000;

type Apart = { servers: (readonly string[])[]; until_ms: number };

const apart = new WeakMap<Session, Apart>();

/**
 * What is due, of all accounts. In a database distributed by account that asks all servers, and one
 * that is lost would stop the work of everybody: then the accounts of each server are asked for by
 * themselves, and those of the lost one wait.
 */
export async function askServers<Row>(session: Session, ask: Ask<Row>): Promise<Row[]> {
  const known = apart.get(session);
  if (known && performance.now() < known.until_ms) {
    const answers = await askEach(known.servers, ask);
    known.servers = answers.map(({ server }) => server);
    return answers.flatMap(({ rows }) => rows);
  }
  try {
    return await ask(null);
  } catch (error) {
    if (!session.by_account || !(error instanceof DatabaseUnavailableError)) throw error;
    const servers = await listAccountsByServer(session);
    const answers = await askEach(servers, ask);
    if (answers.length === 0) throw error;
    const until_ms = performance.now() + APART_MS;
    apart.set(session, { servers: answers.map(({ server }) => server), until_ms });
    return answers.flatMap(({ rows }) => rows);
  }
}

/** The answers of those that can be reached. */
async function askEach<Row>(servers: readonly (readonly string[])[], ask: Ask<Row>) {
  const answers: { server: readonly string[]; rows: Row[] }[] = [];
  for (const server of servers) {
    try {
      answers.push({ server, rows: await ask(server) });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailableError)) throw error;
    }
  }
  return answers;
}
