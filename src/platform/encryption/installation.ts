import { randomBytes } from "node:crypto";
import type { Database } from "../db/database.ts";
import { StartupError } from "../startup-error.ts";
import { KEY_BYTES, open, type Place, seal } from "./cipher.ts";
import { rewrapAccountKey } from "./keyring.ts";
import type { MasterKey, MasterKeys } from "./master-keys.ts";

export type Installation = {
  /** Key of all keyed hashes. It survives a rotation of the master key: hashes stay the same. */
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
 * Stamps mode and key into a new database; refuses a database of another mode or another key,
 * before anything could be read wrongly.
 */
export async function openInstallation(
  database: Database,
  masters: MasterKeys,
  mode: "sandbox" | "live",
  now: Date,
): Promise<Installation> {
  const master = masters.current();
  const index_key = seal(master.bytes, 1, INDEX_KEY_PLACE, randomBytes(KEY_BYTES));
  await database.query(
    `insert into installation (id, mode, master_key_id, index_key, created_at)
     values (true, $1, $2, $3, $4) on conflict do nothing`,
    [mode, master.id, index_key, now],
  );
  const [row] = await database.query<Row>(
    "select mode, master_key_id, index_key from installation",
  );
  if (row!.mode !== mode) {
    throw new StartupError(
      `This database was made in ${row!.mode} mode; SLIPROAD_MODE=${mode} cannot use it.`,
    );
  }
  const known = masters.find(row!.master_key_id);
  if (!known) {
    throw new StartupError(
      "The encryption key is not the one this database was made with; set " +
        "SLIPROAD_ENCRYPTION_KEY (or, during a rotation, SLIPROAD_ENCRYPTION_KEY_PREVIOUS) " +
        "to that key.",
    );
  }
  return { index_key: open(known.bytes, INDEX_KEY_PLACE, row!.index_key) };
}

/** Told before each step, for whoever waits. */
export type OnRewrapped = (progress: { done: number; total: number }) => void;

/**
 * Makes `to` the master key: first the installation names it (so that new accounts use it), then
 * every account's key is wrapped anew, in steps. Interrupted, it can simply be run again.
 * Returns how many accounts were rewrapped.
 */
export async function rotateMasterKey(
  database: Database,
  masters: MasterKeys,
  to: MasterKey,
  onProgress?: OnRewrapped,
): Promise<number> {
  const find = (id: string) => {
    const key = masters.find(id);
    if (!key) {
      throw new StartupError(
        `A key is wrapped by master key ${id}, which is not configured; ` +
          "set SLIPROAD_ENCRYPTION_KEY_PREVIOUS to it.",
      );
    }
    return key;
  };
  await database.transaction(async (tx) => {
    const [row] = await tx.query<Row>(
      "select mode, master_key_id, index_key from installation for update",
    );
    const index_key = open(find(row!.master_key_id).bytes, INDEX_KEY_PLACE, row!.index_key);
    tx.write("update installation set master_key_id = $1, index_key = $2", [
      to.id,
      seal(to.bytes, 1, INDEX_KEY_PLACE, index_key),
    ]);
  });
  const [left] = await database.query<{ count: bigint }>(
    "select count(*) from account_keys where master_key_id <> $1",
    [to.id],
  );
  let rewrapped = 0;
  for (;;) {
    onProgress?.({ done: rewrapped, total: Number(left!.count) });
    const count = await database.transaction(async (tx) => {
      const rows = await tx.query<{
        account_id: string;
        version: number;
        master_key_id: string;
        wrapped: Buffer;
      }>(
        `select account_id, version, master_key_id, wrapped from account_keys
         where master_key_id <> $1 order by account_id limit $2 for update`,
        [to.id, ACCOUNTS_PER_STEP],
      );
      for (const row of rows) {
        tx.write(
          `update account_keys set master_key_id = $3, wrapped = $4
           where account_id = $1 and version = $2`,
          [
            row.account_id,
            row.version,
            to.id,
            rewrapAccountKey(row.account_id, find(row.master_key_id), to, row.wrapped),
          ],
        );
      }
      return rows.length;
    });
    if (count === 0) return rewrapped;
    rewrapped += count;
  }
}
