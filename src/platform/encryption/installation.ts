import { randomBytes } from "node:crypto";
import { systemTime } from "../clock.ts";
import type { Database, Session } from "../db/database.ts";
import { rotateMacKeys } from "../sealing/mac-keys.ts";
import { StartupError } from "../startup-error.ts";
import { KEY_BYTES, type Place } from "./cipher.ts";
import type { MasterKeys } from "./key-port.ts";
import { rewrapAccountKey, type WrappedAccountKey } from "./keyring.ts";

type Installation = {
  /**
   * The key of all keyed hashes. It survives a rotation of the master key: hashes stay the same.
   */
  index_key: Buffer;
};

const INDEX_KEY_PLACE: Place = {
  account_id: "installation",
  table: "installation",
  column: "index_key",
  record_id: "installation",
};
const ACCOUNTS_PER_STEP = 100;

type Row = { mode: string; master_key_id: string; index_key: Buffer };

/**
 * Records mode and key in a new database; refuses a database of another mode or key before any data
 * is read.
 */
export async function openInstallation(
  database: Database,
  masters: MasterKeys,
  mode: "sandbox" | "live",
  now: Date,
): Promise<Installation> {
  const row = (await findInstallation(database)) ?? (await create(database, masters, mode, now));
  if (row.mode !== mode) {
    throw new StartupError(
      `This database was created in ${row.mode} mode; SLIPROAD_MODE=${mode} cannot use it.`,
    );
  }
  if (!(await masters.has(row.master_key_id))) {
    throw new StartupError(
      "The encryption key is not the one this database was created with; set " +
        "SLIPROAD_ENCRYPTION_KEY (or, during a rotation, SLIPROAD_ENCRYPTION_KEY_PREVIOUS) " +
        "to that key.",
    );
  }
  return { index_key: await masters.unwrap(row.master_key_id, INDEX_KEY_PLACE, row.index_key) };
}

async function findInstallation(session: Session): Promise<Row | undefined> {
  const [row] = await session.query<Row>("select mode, master_key_id, index_key from installation");
  return row;
}

/** If several processes start at once, one creates it. */
async function create(
  database: Database,
  masters: MasterKeys,
  mode: "sandbox" | "live",
  now: Date,
): Promise<Row> {
  const key_id = await masters.currentId();
  const index_key = await masters.wrap(key_id, INDEX_KEY_PLACE, randomBytes(KEY_BYTES));
  await database.query(
    `insert into installation (id, mode, master_key_id, index_key, created_at)
     values (true, $1, $2, $3, $4) on conflict do nothing`,
    [mode, key_id, index_key, now],
  );
  return (await findInstallation(database))!;
}

/** Called before each step, to report progress. */
export type OnRewrapped = (progress: { done: number; total: number }) => void;

/**
 * Makes `to` the master key: first the installation names it (so that new accounts use it), then
 * the keys of MACs and every account's key are wrapped again, in steps. If interrupted, it can
 * simply be run again. Returns how many accounts were rewrapped.
 */
export async function rotateMasterKey(
  database: Database,
  masters: MasterKeys,
  to: string,
  onProgress?: OnRewrapped,
): Promise<number> {
  await rewrapIndexKey(database, masters, to);
  await rotateMacKeys(database, masters, to, systemTime());
  const [left] = await database.query<{ count: bigint }>(
    "select count(*) from account_keys where master_key_id <> $1",
    [to],
  );
  let rewrapped = 0;
  for (;;) {
    onProgress?.({ done: rewrapped, total: Number(left!.count) });
    const count = await rewrapStep(database, masters, to);
    if (count === 0) return rewrapped;
    rewrapped += count;
  }
}

/** Only the rotation changes this row's key, and only one runs at a time. */
async function rewrapIndexKey(database: Database, masters: MasterKeys, to: string): Promise<void> {
  const { master_key_id, index_key } = (await findInstallation(database))!;
  await assertKnown(masters, master_key_id);
  const key = await masters.unwrap(master_key_id, INDEX_KEY_PLACE, index_key);
  const wrapped = await masters.wrap(to, INDEX_KEY_PLACE, key);
  await database.query("update installation set master_key_id = $1, index_key = $2", [to, wrapped]);
}

/** Keys are wrapped between two statements, because a key service may be slow. */
async function rewrapStep(database: Database, masters: MasterKeys, to: string): Promise<number> {
  const rows = await database.query<WrappedAccountKey & { version: number }>(
    `select account_id, version, master_key_id, wrapped from account_keys
     where master_key_id <> $1 order by account_id limit $2`,
    [to, ACCOUNTS_PER_STEP],
  );
  for (const { master_key_id } of rows) await assertKnown(masters, master_key_id);
  const wrapped = await Promise.all(rows.map((row) => rewrapAccountKey(masters, row, to)));
  await database.transaction(async (tx) => {
    for (const [at, row] of rows.entries()) {
      tx.write(
        `update account_keys set master_key_id = $3, wrapped = $4
         where account_id = $1 and version = $2`,
        [row.account_id, row.version, to, wrapped[at]],
      );
    }
  });
  return rows.length;
}

async function assertKnown(masters: MasterKeys, key_id: string): Promise<void> {
  if (await masters.has(key_id)) return;
  throw new StartupError(
    `A key is wrapped by master key ${key_id}, which is not configured; ` +
      "set SLIPROAD_ENCRYPTION_KEY_PREVIOUS to it.",
  );
}
