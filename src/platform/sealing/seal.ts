import { createHash, createPrivateKey, type KeyObject, sign } from "node:crypto";
import type { Database, Transaction } from "../db/database.ts";
import { insertRow, setOf } from "../db/rows.ts";

/**
 * Append-only logs are sealed in blocks: each block lists its entries with their digests and is
 * hashed together with the previous block, one chain per account and log. The order is the position
 * in the chain, not the time. Heads are signed with a key that is not in the database.
 */
type LogEntry = { account_id: string; id: string; digest: Buffer };

export type Block = {
  account_id: string;
  log: string;
  number: bigint;
  entry_ids: string[];
  digests: Buffer[];
  previous_hash: Buffer;
  hash: Buffer;
  signature: Buffer;
  sealed_at: Date;
};

const ENTRIES_PER_BLOCK_MAX = 1_000;
const BLOCKS_AT_ONCE_MAX = 100;
const NO_BLOCK = Buffer.alloc(32);
// PKCS #8 header of an Ed25519 private key; the 32 bytes of the key follow.
const ED25519_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");

export function signingKey(seed: Buffer): KeyObject {
  const key = Buffer.concat([ED25519_HEAD, seed]);
  return createPrivateKey({ key, format: "der", type: "pkcs8" });
}

/** A digest of the fields that must never change; their order must never change either. */
export function digestOf(...fields: (string | number | bigint | null)[]): Buffer {
  const text = JSON.stringify(
    fields.map((field) => (typeof field === "bigint" ? String(field) : field)),
  );
  return createHash("sha256").update(text).digest();
}

/** Records new entries as unsealed, in the transaction that writes them. */
export function noteUnsealed(
  tx: Transaction,
  log: string,
  entries: readonly LogEntry[],
  now: Date,
): void {
  const set = setOf(tx, "t", "account_id uuid, id uuid, digest bytea", entries);
  tx.write(
    `insert into seal_pending (account_id, log, entry_id, digest, noted_at)
     select account_id, $4, id, digest, $5 from ${set.from}`,
    [...set.values, log, now],
  );
}

/** Seals all unsealed entries it sees; returns the new heads, to be logged outside the database. */
export async function sealAll(database: Database, key: KeyObject, now: Date): Promise<Block[]> {
  const chains = await database.query<{ account_id: string; log: string }>(
    "select distinct account_id, log from seal_pending order by account_id, log",
  );
  const heads: Block[] = [];
  for (const { account_id, log } of chains) {
    heads.push(...(await sealChain(database, key, account_id, log, now)));
  }
  return heads;
}

/** Seals the unsealed entries it sees of one chain; returns the new heads. */
export async function sealChain(
  database: Database,
  key: KeyObject,
  account_id: string,
  log: string,
  now: Date,
): Promise<Block[]> {
  const heads: Block[] = [];
  // A busy chain needs several blocks; the limit makes sure that this ends.
  for (let blocks = 0; blocks < BLOCKS_AT_ONCE_MAX; blocks += 1) {
    const head = await sealBlock(database, key, account_id, log, now);
    if (!head) break;
    heads.push(head);
    if (head.entry_ids.length < ENTRIES_PER_BLOCK_MAX) break;
  }
  return heads;
}

function sealBlock(
  database: Database,
  key: KeyObject,
  account_id: string,
  log: string,
  now: Date,
): Promise<Block | undefined> {
  return database.transaction(async (tx) => {
    // One sealer per chain at a time; the commit releases the lock.
    await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `seal ${account_id} ${log}`,
    ]);
    // The planner believes that this table is empty, as it usually is, and in a burst would sort
    // all of it for one block, or compare every entry with every other if the deletion chose its rows
    // itself (measured: 2 s per block). Only sealers of this chain delete here.
    const planned = tx.query("select set_config('enable_sort', 'off', true)");
    planned.catch(() => {});
    const [entries, [last]] = await Promise.all([
      tx.query<{ entry_id: string; digest: Buffer }>(
        `select entry_id, digest from seal_pending where account_id = $1 and log = $2
         order by entry_id limit $3`,
        [account_id, log, ENTRIES_PER_BLOCK_MAX],
      ),
      tx.query<{ number: bigint; hash: Buffer }>(
        `select number, hash from seal_blocks where account_id = $1 and log = $2
         order by number desc limit 1`,
        [account_id, log],
      ),
    ]);
    if (entries.length === 0) return undefined;
    const content = {
      account_id,
      log,
      number: (last?.number ?? 0n) + 1n,
      entry_ids: entries.map((entry) => entry.entry_id),
      digests: entries.map((entry) => entry.digest),
      previous_hash: last?.hash ?? NO_BLOCK,
      sealed_at: now,
    };
    const hash = hashBlock(content);
    const block = { ...content, hash, signature: sign(null, hash, key) };
    tx.write(
      `delete from seal_pending
       where account_id = $1 and log = $2 and entry_id = any($3::uuid[])`,
      [account_id, log, block.entry_ids],
    );
    insertRow(tx, "seal_blocks", block);
    return block;
  });
}

export function hashBlock(block: Omit<Block, "hash" | "signature">): Buffer {
  const hash = createHash("sha256");
  hash.update(block.previous_hash);
  const { account_id, log, number, sealed_at } = block;
  hash.update(JSON.stringify([account_id, log, String(number), sealed_at.toISOString()]));
  block.entry_ids.forEach((id, at) => {
    hash.update(id).update(block.digests[at]!);
  });
  return hash.digest();
}
