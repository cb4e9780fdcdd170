import { StartupError } from "../startup-error.ts";
import type { Database, Session } from "./database.ts";

/** Against poolers that choose a backend at random: each round finds most of them. */
const ROUNDS = 8;
const PROTOCOL_VIOLATION = "08P01";

/**
 * Sessions keep state that a transaction pooler would lose or share: advisory locks, prepared
 * statements, settings. Behind a pooler, two connections open at the same time can have the same
 * backend, or one connection a different backend than before; PostgreSQL itself allows neither.
 */
export async function refusePooler(database: Database): Promise<void> {
  const is_pooled = await database.connection((first) =>
    database.connection(async (second) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        if (await sharesBackend(first, second)) return true;
      }
      return false;
    }),
  );
  if (!is_pooled) return;
  throw new StartupError(
    "DATABASE_URL points to a connection pooler that shares sessions (such as PgBouncer with " +
      "pool_mode = transaction); point it to PostgreSQL itself, or set pool_mode = session.",
  );
}

/**
 * The first session asks for its backend twice, because a pooler may assign idle ones in turn. The
 * second occupies the one it gets; then the first asks again.
 */
async function sharesBackend(first: Session, second: Session): Promise<boolean> {
  const before = await findBackend(first);
  if ((await findBackend(first)) !== before) return true;
  try {
    await second.query("begin");
  } catch (error) {
    if (isRefusedByPooler(error)) return true;
    throw error;
  }
  try {
    const held = await findBackend(second);
    return held === before || (await findBackend(first)) !== before;
  } finally {
    await second.query("rollback");
  }
}

/** By PgBouncer with pool_mode = statement, which accepts no transactions. */
function isRefusedByPooler(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return cause?.code === PROTOCOL_VIOLATION;
}

async function findBackend(session: Session): Promise<number> {
  const [row] = await session.query<{ pid: number }>("select pg_backend_pid() as pid");
  return row!.pid;
}
