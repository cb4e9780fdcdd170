import { randomBytes } from "node:crypto";
import type { Database, Session } from "../db/database.ts";
import { insertRow } from "../db/rows.ts";
import { DAY_MS, SECOND_MS } from "../durations.ts";
import { KEY_BYTES, type Place } from "../encryption/cipher.ts";
import type { MasterKeys } from "../encryption/key-port.ts";
import type { Macs } from "./macs.ts";

/*
 * The keys of MACs are random, wrapped by the master key and stored in the database. Not derived
 * from the master key, because a key service does not give it away (decision 18).
 */

type MacKeyRow = { version: number; master_key_id: string; wrapped: Buffer; created_at: Date };
type MacKey = { version: number; key: Buffer; active_from_ms: number };

const VERSIONS_MAX = 255;
/** All processes read a new key within a second; nobody uses it before they have. */
const ACTIVE_AFTER_MS = 10 * SECOND_MS;
/** Entries written before a rotation may still wait for a sealer that does not run. */
const RETIRED_AFTER_MS = DAY_MS;

/** Reads the keys; a database without any gets its first. */
export async function openMacs(
  database: Database,
  masters: MasterKeys,
  real_now: Date,
): Promise<Macs> {
  let keys = await loadKeys(database, masters, []);
  if (keys.length === 0) {
    await createFirst(database, masters, real_now);
    keys = await loadKeys(database, masters, []);
  }
  return macsWith(
    () => keys,
    async () => {
      keys = await loadKeys(database, masters, keys);
    },
  );
}

/** Newest first. */
function macsWith(keys: () => readonly MacKey[], refresh: () => Promise<void>): Macs {
  return {
    current: () => {
      const now_ms = Date.now();
      return keys().find(({ active_from_ms }) => active_from_ms <= now_ms) ?? keys().at(-1)!;
    },
    find: (version) => keys().find((known) => known.version === version)?.key,
    isRetired: (version) => {
      const next = keys().findLast((known) => known.version > version);
      return next !== undefined && next.active_from_ms + RETIRED_AFTER_MS <= Date.now();
    },
    refresh,
  };
}

async function loadKeys(
  session: Session,
  masters: MasterKeys,
  known: readonly MacKey[],
): Promise<MacKey[]> {
  const rows = await listKeys(session);
  return Promise.all(
    rows.map(async (row) => {
      const before = known.find(({ version }) => version === row.version);
      return before ?? openKey(masters, row);
    }),
  );
}

async function openKey(masters: MasterKeys, row: MacKeyRow): Promise<MacKey> {
  const { version, created_at, master_key_id, wrapped } = row;
  const key = await masters.unwrap(master_key_id, placeOf(row), wrapped);
  return { version, key, active_from_ms: created_at.getTime() + ACTIVE_AFTER_MS };
}

/** If several processes start at once, one creates it. */
async function createFirst(database: Database, masters: MasterKeys, now: Date): Promise<void> {
  await database.transaction(async (tx) => {
    // As for the key of a new account: waits for a rotation, or the rotation for this.
    const [row] = await tx.query<{ master_key_id: string }>(
      "select master_key_id from installation for update",
    );
    if ((await listKeys(tx)).length > 0) return;
    insertRow(tx, "mac_keys", await createKey(masters, row!.master_key_id, 1, now));
  });
}

/**
 * Wraps all keys with another master key and adds a version, for new rows. If all are wrapped with
 * it already, an earlier run did it.
 */
export async function rotateMacKeys(
  database: Database,
  masters: MasterKeys,
  to: string,
  real_now: Date,
): Promise<void> {
  const rows = await listKeys(database);
  const others = rows.filter(({ master_key_id }) => master_key_id !== to);
  if (others.length === 0) return;
  const version = rows[0]!.version + 1;
  if (version > VERSIONS_MAX) throw new Error("there is no version left for another key of MACs");
  // Between two statements, because a key service may be slow.
  const rewrapped = await Promise.all(
    others.map(async (row) => {
      const { key } = await openKey(masters, row);
      return { ...row, wrapped: await masters.wrap(to, placeOf(row), key) };
    }),
  );
  const created = await createKey(masters, to, version, real_now);
  await database.transaction(async (tx) => {
    for (const row of rewrapped) {
      tx.write("update mac_keys set master_key_id = $2, wrapped = $3 where version = $1", [
        row.version,
        to,
        row.wrapped,
      ]);
    }
    insertRow(tx, "mac_keys", created);
  });
}

async function createKey(
  masters: MasterKeys,
  master_key_id: string,
  version: number,
  created_at: Date,
): Promise<MacKeyRow> {
  const place = placeOf({ version, created_at });
  const wrapped = await masters.wrap(master_key_id, place, randomBytes(KEY_BYTES));
  return { version, master_key_id, wrapped, created_at };
}

function listKeys(session: Session): Promise<MacKeyRow[]> {
  return session.query(
    "select version, master_key_id, wrapped, created_at from mac_keys order by version desc",
  );
}

/** The time is bound too: SQL cannot make an old key current again. */
function placeOf({ version, created_at }: Pick<MacKeyRow, "version" | "created_at">): Place {
  const record_id = `${version} ${created_at.toISOString()}`;
  return { account_id: "installation", table: "mac_keys", column: "wrapped", record_id };
}
