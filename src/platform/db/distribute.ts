import { StartupError } from "../startup-error.ts";
import type { Database, Session } from "./database.ts";
import {
  countRunningWorkers,
  deleteDroppedKey,
  deleteDroppedKeys,
  type ForeignKey,
  findCitusVersion,
  insertDroppedKeys,
  type KnownTable,
  listDroppedKeys,
  listForeignKeys,
  listKnownTables,
  listNodes,
  type TableKind,
  updateKeyAdded,
  updateToDistributed,
  updateToLocal,
  updateToReference,
} from "./distribution-store.ts";

export type Distribution = {
  /** The tables that this run has changed, by what they became. */
  distributed: string[];
  reference: string[];
  local: string[];
  /** Tables of accounts that stay on the coordinator, with the unique key that is why. */
  kept_together: { name: string; spanning_key: string }[];
  /** How many tables were so already. */
  unchanged: number;
  /** References that are enforced again. */
  foreign_keys: number;
  /** References that Citus cannot enforce, as `table.name`. */
  foreign_keys_left_out: string[];
  workers: number;
};

type DistributeOptions = {
  shards: number;
  /** Look-up tables that statements join with accounts' tables: copied to every node too. */
  joined: readonly string[];
  now: Date;
  onTable: (progress: { done: number; total: number; name: string }) => void;
};

const VERSION_MIN = 12;
/** A worker of ours that has been silent for longer is dead. */
const SILENT_MAX_MS = 30_000;

/**
 * Turns a migrated database into one that Citus distributes by account. Tables whose key begins
 * with account_id, and whose unique keys all have it, are distributed and co-located. A look-up
 * table that they refer to or are joined with is copied to every node. Every other table stays on
 * the coordinator, known to Citus, so that it takes part in two-phase commit. An interrupted run is
 * continued by the next one.
 */
export async function distribute(
  database: Database,
  { shards, joined, now, onTable }: DistributeOptions,
): Promise<Distribution> {
  return database.connection(async (session) => {
    const workers = await checkCluster(session);
    const tables = await listKnownTables(session);
    const plain = tables.filter(({ kind }) => kind === "plain");
    if (plain.length > 0) {
      await assertStopped(session, now);
      await dropForeignKeys(session, plain);
    }
    const dropped = await listDroppedKeys(session);
    const target = chooseKinds(tables, dropped, joined);
    const done: Distribution = {
      ...{ distributed: [], reference: [], local: [], foreign_keys_left_out: [] },
      ...{ unchanged: tables.length - plain.length, foreign_keys: 0, workers },
      kept_together: plain
        .filter(({ is_tenants, spanning_key }) => is_tenants && spanning_key !== null)
        .map(({ name, spanning_key }) => ({ name, spanning_key: spanning_key! })),
    };
    let beside = tables.find(({ kind }) => kind === "distributed")?.name ?? null;
    for (const [index, { name }] of plain.entries()) {
      onTable({ done: index, total: plain.length, name });
      const kind = target.get(name)!;
      await changeTable(session, name, kind, beside, shards);
      if (kind === "distributed") beside ??= name;
      if (kind !== "plain") done[kind].push(name);
    }
    await addForeignKeys(session, dropped, target, done);
    return done;
  });
}

async function checkCluster(session: Session): Promise<number> {
  const version = await findCitusVersion(session);
  if (version === null) {
    throw new StartupError(
      "This database has no Citus: install the extension on every node, and run `create " +
        "extension citus` in this database on each of them.",
    );
  }
  if (Number.parseInt(version, 10) < VERSION_MIN) {
    throw new StartupError(`Citus ${version} is too old; ${VERSION_MIN} or newer is needed.`);
  }
  const nodes = await listNodes(session);
  if (!nodes.some(({ groupid }) => groupid === 0)) {
    throw new StartupError(
      "The coordinator does not know its own address; run `select " +
        "citus_set_coordinator_host('its address')` there.",
    );
  }
  const workers = nodes.filter(({ groupid }) => groupid !== 0).length;
  if (!nodes.some(({ has_shards }) => has_shards)) {
    throw new StartupError(
      "No node may store shards; run `select citus_add_node('its address', 5432)` for each worker.",
    );
  }
  return workers;
}

async function assertStopped(session: Session, now: Date): Promise<void> {
  const count = await countRunningWorkers(session, new Date(now.getTime() - SILENT_MAX_MS));
  if (count === 0n) return;
  throw new StartupError(
    `Sliproad is running on this database (${count} workers). Stop all its processes first; one ` +
      `that was killed counts as running for ${SILENT_MAX_MS / 1000} seconds.`,
  );
}

/** All of them: Citus changes no table that refers to a plain one, or is referred to by one. */
async function dropForeignKeys(session: Session, plain: readonly KnownTable[]): Promise<void> {
  const names = new Set(plain.map(({ name }) => name));
  const keys = await listForeignKeys(session);
  const concerned = keys.filter(
    ({ table_name, refers_to }) => names.has(table_name) || names.has(refers_to),
  );
  await session.query("begin");
  try {
    await insertDroppedKeys(session, concerned);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback");
    throw error;
  }
}

function chooseKinds(
  tables: readonly KnownTable[],
  keys: readonly ForeignKey[],
  joined: readonly string[],
): Map<string, TableKind> {
  const tenants = new Set(
    tables
      .filter(({ is_tenants, spanning_key }) => is_tenants && spanning_key === null)
      .map(({ name }) => name),
  );
  const referred = new Set([
    ...joined,
    ...keys.filter(({ table_name }) => tenants.has(table_name)).map(({ refers_to }) => refers_to),
  ]);
  const kindOf = ({ name, kind, is_tenants }: KnownTable): TableKind => {
    if (kind !== "plain") return kind;
    if (tenants.has(name)) return "distributed";
    // A table of accounts grows with them: too much to be copied to every node.
    return referred.has(name) && !is_tenants ? "reference" : "local";
  };
  return new Map(tables.map((table) => [table.name, kindOf(table)]));
}

async function changeTable(
  session: Session,
  name: string,
  kind: TableKind,
  beside: string | null,
  shards: number,
): Promise<void> {
  try {
    if (kind === "distributed") await updateToDistributed(session, name, beside, shards);
    if (kind === "reference") await updateToReference(session, name);
    if (kind === "local") await updateToLocal(session, name);
  } catch (error) {
    throw new StartupError(
      `Citus cannot make ${name} a ${kind} table: ${(error as Error).message}. Run the command ` +
        "again after you have fixed it; what is done stays done.",
    );
  }
}

async function addForeignKeys(
  session: Session,
  keys: readonly ForeignKey[],
  kinds: ReadonlyMap<string, TableKind>,
  done: Distribution,
): Promise<void> {
  for (const key of keys) {
    const [from, to] = [kinds.get(key.table_name), kinds.get(key.refers_to)];
    // A row on one node cannot be checked against rows on another.
    const is_possible = from === "distributed" ? to !== "local" : to !== "distributed";
    if (is_possible) {
      await addForeignKey(session, key);
      done.foreign_keys += 1;
    } else {
      await deleteDroppedKey(session, key);
      done.foreign_keys_left_out.push(`${key.table_name}.${key.name}`);
    }
  }
  await deleteDroppedKeys(session);
}

async function addForeignKey(session: Session, key: ForeignKey): Promise<void> {
  await session.query("begin");
  try {
    await updateKeyAdded(session, key);
    await session.query("commit");
  } catch (error) {
    await session.query("rollback");
    const { message } = error as Error;
    throw new StartupError(
      `The reference ${key.name} of ${key.table_name} cannot be added: ${message}. Run the ` +
        "command again after you have fixed it.",
    );
  }
}
