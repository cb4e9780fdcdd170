import { createHash, createPrivateKey, hash, type KeyObject, sign } from "node:crypto";
import type { Database, Session, Transaction, Writer } from "../db/database.ts";
import { insertRow, insertRows, setOf } from "../db/rows.ts";
import { setLocal } from "../db/set-local.ts";
import { type MacBearer, macsOf, rowMac } from "./row-mac.ts";

/**
 * Append-only logs are sealed in blocks: each block lists its entries with their digests and is
 * hashed together with the previous block, one chain per account and log. The order is the position
 * in the chain, not the time. Heads are signed with a key that is not in the database. An entry
 * without the MAC of the process that wrote it is not sealed: it is moved to `seal_rejected`.
 */
type LogEntry = { account_id: string; id: string; digest: Buffer; mac: Buffer };

export type Rejected = { account_id: string; log: string; entry_ids: readonly string[] };
type OnRejected = (rejected: Rejected) => void;

/** The row of an entry carries it, and the note that it waits to be sealed. */
const ENTRY_MAC = rowMac("seal_pending", "log", "account_id", "entry_id", "digest");

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
  return hash("sha256", text, "buffer");
}

/** Adds the MAC of this process to new entries. */
export function signEntries<Entry extends Omit<LogEntry, "mac">>(
  bearer: MacBearer,
  log: string,
  entries: readonly Entry[],
): (Entry & { mac: Buffer })[] {
  return entries.map((entry) => {
    const { account_id, id: entry_id, digest } = entry;
    return { ...entry, mac: ENTRY_MAC.make(bearer, { log, account_id, entry_id, digest }) };
  });
}

/** Whether a process of this service wrote the entry. */
export function isEntryAuthentic(
  bearer: MacBearer,
  log: string,
  { account_id, id: entry_id, digest, mac }: Omit<LogEntry, "mac"> & { mac: Buffer | null },
): boolean {
  return ENTRY_MAC.holds(bearer, { log, account_id, entry_id, digest, mac });
}

/** Records new entries as unsealed, in the transaction that writes them. */
export function noteUnsealed(
  tx: Writer,
  log: string,
  entries: readonly LogEntry[],
  now: Date,
): void {
  const set = setOf(tx, "t", "account_id uuid, id uuid, digest bytea, mac bytea", entries);
  tx.write(
    `insert into seal_pending (account_id, log, entry_id, digest, mac, noted_at)
     select account_id, $5, id, digest, mac, $6 from ${set.from}`,
    [...set.values, log, now],
  );
}

/** Seals all unsealed entries it sees; returns the new heads, to be logged outside the database. */
export async function sealAll(
  database: Database,
  key: KeyObject,
  now: Date,
  onRejected?: OnRejected,
): Promise<Block[]> {
  const chains = await database.query<{ account_id: string; log: string }>(
    "select distinct account_id, log from seal_pending order by account_id, log",
  );
  const heads: Block[] = [];
  for (const chain of chains) {
    heads.push(...(await sealChain(database, key, chain, now, onRejected)));
  }
  return heads;
}

type Chain = { account_id: string; log: string };

/** Seals unsealed entries it sees of one chain: all, or so many blocks. Returns the new heads. */
export async function sealChain(
  database: Database,
  key: KeyObject,
  chain: Chain,
  now: Date,
  onRejected: OnRejected = () => {},
  heads_max = BLOCKS_AT_ONCE_MAX,
): Promise<Block[]> {
  const heads: Block[] = [];
  // A busy chain needs several blocks; the limit makes sure that this ends.
  for (let blocks = 0; blocks < BLOCKS_AT_ONCE_MAX && heads.length < heads_max; blocks += 1) {
    const { head, rejected, is_last } = await sealBlock(database, key, chain, now);
    if (head) heads.push(head);
    const entry_ids = rejected.map(({ entry_id }) => entry_id);
    if (entry_ids.length > 0) onRejected({ ...chain, entry_ids });
    if (is_last) break;
  }
  return heads;
}

type Pending = { entry_id: string; digest: Buffer; mac: Buffer | null; noted_at: Date };
type Step = { head: Block | undefined; rejected: readonly Pending[]; is_last: boolean };

function sealBlock(database: Database, key: KeyObject, chain: Chain, now: Date): Promise<Step> {
  return database.transaction(async (tx) => {
    // One sealer per chain at a time; the commit releases the lock.
    await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `seal ${chain.account_id} ${chain.log}`,
    ]);
    const taken = await takePending(tx, chain);
    const is_last = taken.length < ENTRIES_PER_BLOCK_MAX;
    const { authentic, rejected } = await checkPending(tx, chain, taken);
    insertRejected(tx, chain, rejected, now);
    const head =
      authentic.length > 0 ? await insertBlock(tx, key, chain, authentic, now) : undefined;
    return { head, rejected, is_last };
  });
}

async function takePending(tx: Transaction, { account_id, log }: Chain): Promise<Pending[]> {
  // The planner believes that this table is empty, as it usually is, and in a burst would sort all
  // of it for one block, or compare every entry with every other if the deletion chose its rows
  // itself (measured: 2 s per block). Only sealers of this chain delete here.
  const planned = setLocal(tx, { enable_sort: "off" });
  planned.catch(() => {});
  const taken = await tx.query<Pending>(
    `select entry_id, digest, mac, noted_at from seal_pending
     where account_id = $1 and log = $2 order by entry_id limit $3`,
    [account_id, log, ENTRIES_PER_BLOCK_MAX],
  );
  tx.write(
    `delete from seal_pending
     where account_id = $1 and log = $2 and entry_id = any($3::uuid[])`,
    [account_id, log, taken.map((entry) => entry.entry_id)],
  );
  return taken;
}

/** Those with a MAC of this service, and those without, or with one of a key replaced long ago. */
async function checkPending(
  session: Session,
  { account_id, log }: Chain,
  pending: readonly Pending[],
): Promise<{ authentic: Pending[]; rejected: Pending[] }> {
  const macs = macsOf(session);
  const isAuthentic = ({ entry_id, digest, mac }: Pending) =>
    mac !== null &&
    !macs.isRetired(mac[0]!) &&
    isEntryAuthentic(session, log, { account_id, id: entry_id, digest, mac });
  // Another process may use a key that this one has not read yet. If it cannot be read, nothing is
  // sealed now: only what is certainly wrong is set aside.
  const versions = new Set(pending.flatMap(({ mac }) => mac?.[0] ?? []));
  if ([...versions].some((version) => !macs.find(version))) await macs.refresh();
  const { authentic = [], rejected = [] } = Object.groupBy(pending, (entry) =>
    isAuthentic(entry) ? "authentic" : "rejected",
  );
  return { authentic, rejected };
}

function insertRejected(
  tx: Transaction,
  chain: Chain,
  rejected: readonly Pending[],
  rejected_at: Date,
): void {
  insertRows(
    tx,
    "seal_rejected",
    `account_id uuid, log text, entry_id uuid, digest bytea, mac bytea, noted_at timestamptz,
     rejected_at timestamptz`,
    rejected.map((entry) => ({ ...chain, ...entry, rejected_at })),
    "on conflict do nothing",
  );
}

async function insertBlock(
  tx: Transaction,
  key: KeyObject,
  { account_id, log }: Chain,
  entries: readonly Pending[],
  now: Date,
): Promise<Block> {
  const [last] = await tx.query<{ number: bigint; hash: Buffer }>(
    `select number, hash from seal_blocks where account_id = $1 and log = $2
     order by number desc limit 1`,
    [account_id, log],
  );
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
  insertRow(tx, "seal_blocks", block);
  return block;
}

export function hashBlock(block: Omit<Block, "hash" | "signature">): Buffer {
  const hash = createHash("sha256");
  hash.update(block.previous_hash);
  const { account_id, log, number, sealed_at } = block;
  hash.update(JSON.stringify([account_id, log, String(number), sealed_at.toISOString()]));
  // In one piece: each call of `update` costs more than hashing an entry.
  const entries = block.entry_ids.flatMap((id, at) => [Buffer.from(id), block.digests[at]!]);
  return hash.update(Buffer.concat(entries)).digest();
}
