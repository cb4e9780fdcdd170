import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Session } from "../db/database.ts";
import { setLocal } from "../db/set-local.ts";
import { MINUTE_MS } from "../durations.ts";
import { hasMacs } from "./row-mac.ts";
import { type Block, hashBlock, isEntryAuthentic } from "./seal.ts";

type ReadEntry = { id: string; digest: Buffer; mac: Buffer | null };

/** Reads a log's entries back, with digests recomputed from their rows. */
type ReadEntries = (
  session: Session,
  account_id: string,
  entry_ids: string[],
) => Promise<ReadEntry[]>;

export type SealedLog = {
  log: string;
  read_entries: ReadEntries;
  /** How many entries this account has, whether or not a block lists them. */
  count_entries: (session: Session, account_id: string) => Promise<bigint>;
};

/** A log and the table that contains its entries, by `account_id` and `id`. */
export type SealedTable = SealedLog & {
  table: string;
  /** The entries that are in archived files instead; if left out, none are. */
  find_archived?: (session: Session, account_id: string) => Promise<ArchivedEntries>;
};

type ArchivedEntries = { count: bigint; last_id: string | null };

const NONE_ARCHIVED: ArchivedEntries = { count: 0n, last_id: null };

type ChainTime = {
  now: Date;
  /** Whether any worker runs: without one, waiting entries could not have been sealed. */
  is_sealer_running: boolean;
  /** Up to this block the chain was verified before, and is not read again; from the first if 0. */
  after?: bigint;
};

const BLOCKS_PER_PAGE = 100;
const PENDING_PER_PAGE = 1_000;
const BEFORE_ALL_NUMBERS = -(2n ** 63n);
const DIGEST_BYTES = 32;
/** An entry is sealed within seconds; a longer wait than this is an error. */
const UNSEALED_MAX_MS = MINUTE_MS;

/**
 * Recomputes one chain from its entries. Returns a sentence about the first error, or null. Must
 * run in one repeatable-read snapshot.
 */
export async function verifyChain(
  session: Session,
  key: KeyObject,
  sealed: SealedTable,
  account_id: string,
  time: ChainTime,
): Promise<string | null> {
  const public_key = createPublicKey(key);
  const { after = 0n } = time;
  const archived = (await sealed.find_archived?.(session, account_id)) ?? NONE_ARCHIVED;
  let previous = after > 0n ? await findBlock(session, sealed, account_id, after) : undefined;
  let entries = after > 0n ? await countListed(session, sealed, account_id, after) : 0n;
  for (;;) {
    const blocks = await session.query<Block>(
      `select * from seal_blocks where account_id = $1 and log = $2 and number > $3
       order by number limit $4`,
      [account_id, sealed.log, previous?.number ?? BEFORE_ALL_NUMBERS, BLOCKS_PER_PAGE],
    );
    for (const block of blocks) {
      const fault =
        checkBlock(block, previous, public_key) ??
        (await checkEntries(session, sealed, block, archived));
      if (fault) return fault;
      entries += BigInt(block.entry_ids.length);
      previous = block;
    }
    if (blocks.length < BLOCKS_PER_PAGE) break;
  }
  return (
    (await checkRejected(session, sealed, account_id)) ??
    (await checkUnsealed(session, sealed, account_id, time)) ??
    (await checkListed(session, sealed, account_id, entries, { archived, is_end: after > 0n }))
  );
}

async function findBlock(
  session: Session,
  { log }: SealedLog,
  account_id: string,
  number: bigint,
): Promise<Block | undefined> {
  const [block] = await session.query<Block>(
    "select * from seal_blocks where account_id = $1 and log = $2 and number = $3",
    [account_id, log, number],
  );
  return block;
}

/** How many entries the blocks up to this one list. */
async function countListed(
  session: Session,
  { log }: SealedLog,
  account_id: string,
  number: bigint,
): Promise<bigint> {
  const [row] = await session.query<{ count: bigint }>(
    `select coalesce(sum(cardinality(entry_ids)), 0)::bigint as count from seal_blocks
     where account_id = $1 and log = $2 and number <= $3`,
    [account_id, log, number],
  );
  return row!.count;
}

function checkBlock(block: Block, previous: Block | undefined, key: KeyObject): string | null {
  const name = `${block.log} block ${block.number} of account ${block.account_id}`;
  if (block.number !== (previous?.number ?? 0n) + 1n)
    return `${name}: the previous block is missing`;
  if (!block.previous_hash.equals(previous?.hash ?? Buffer.alloc(32))) {
    return `${name}: it does not continue the previous block`;
  }
  if (!isWhole(block)) return `${name}: its entries do not match their digests`;
  if (!hashBlock(block).equals(block.hash)) return `${name}: its hash does not match its content`;
  if (!verify(null, block.hash, key, block.signature))
    return `${name}: its signature was not made by this installation`;
  return null;
}

function isWhole({ entry_ids, digests }: Block): boolean {
  return (
    entry_ids.length === digests.length &&
    entry_ids.every((id) => typeof id === "string") &&
    digests.every((digest) => digest?.length === DIGEST_BYTES)
  );
}

/** One that may be archived is only counted (`checkListed`): the files say which are. */
async function checkEntries(
  session: Session,
  sealed: SealedLog,
  block: Block,
  { last_id }: ArchivedEntries,
): Promise<string | null> {
  const { account_id } = block;
  const entries = await readById(session, sealed, account_id, block.entry_ids);
  const has_keys = hasMacs(session);
  for (const [at, id] of block.entry_ids.entries()) {
    const name = `${sealed.log} entry ${id} of account ${account_id}`;
    const entry = entries.get(id);
    if (!entry && last_id !== null && id <= last_id) continue;
    if (!entry) return `${name}: it is missing`;
    if (!entry.digest.equals(block.digests[at]!)) {
      return `${name}: it was changed after it was sealed`;
    }
    // Entries from before MACs have none; for them the block vouches.
    if (!has_keys || entry.mac === null) continue;
    if (!isEntryAuthentic(session, sealed.log, { ...entry, account_id })) {
      return `${name}: its MAC was changed after it was sealed`;
    }
  }
  return null;
}

async function readById(
  session: Session,
  sealed: SealedLog,
  account_id: string,
  ids: string[],
): Promise<Map<string, ReadEntry>> {
  const entries = await sealed.read_entries(session, account_id, ids);
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** What the sealer set aside stays a fault until the operator has removed it. */
async function checkRejected(
  session: Session,
  { log }: SealedLog,
  account_id: string,
): Promise<string | null> {
  const [rejected] = await session.query<{ entry_id: string }>(
    `select entry_id from seal_rejected where account_id = $1 and log = $2
     order by rejected_at, entry_id limit 1`,
    [account_id, log],
  );
  return rejected ? `${log} entry ${rejected.entry_id} of account ${account_id}: ${FORGED}` : null;
}

const FORGED = "it was not written by this service";

type Pending = { entry_id: string; digest: Buffer; mac: Buffer | null; noted_at: Date };

/** Page by page: when no sealer has run for long, there are many. */
async function checkUnsealed(
  session: Session,
  sealed: SealedTable,
  account_id: string,
  time: ChainTime,
): Promise<string | null> {
  for (let after_id: string | null = null; ; ) {
    const pending: Pending[] = await session.query<Pending>(
      `select entry_id, digest, mac, noted_at from seal_pending
       where account_id = $1 and log = $2 and ($3::uuid is null or entry_id > $3)
       order by entry_id limit $4`,
      [account_id, sealed.log, after_id, PENDING_PER_PAGE],
    );
    const last = pending.at(-1);
    if (!last) return null;
    const fault = await checkPending(session, sealed, account_id, pending, time);
    if (fault) return fault;
    after_id = last.entry_id;
  }
}

async function checkPending(
  session: Session,
  sealed: SealedTable,
  account_id: string,
  pending: readonly Pending[],
  { now, is_sealer_running }: ChainTime,
): Promise<string | null> {
  const ids = pending.map((entry) => entry.entry_id);
  const entries = await readById(session, sealed, account_id, ids);
  const has_keys = hasMacs(session);
  for (const { entry_id: id, digest, mac, noted_at } of pending) {
    const name = `${sealed.log} entry ${id} of account ${account_id}`;
    const entry = entries.get(id);
    if (!entry?.digest.equals(digest)) return `${name}: it was changed before it was sealed`;
    const isAuthentic = (own: Buffer | null) =>
      isEntryAuthentic(session, sealed.log, { account_id, id, digest, mac: own });
    if (has_keys && !(isAuthentic(mac) && isAuthentic(entry.mac))) return `${name}: ${FORGED}`;
    const waiting_ms = now.getTime() - noted_at.getTime();
    if (is_sealer_running && waiting_ms > UNSEALED_MAX_MS) return `${name}: it was never sealed`;
  }
  return null;
}

/**
 * Every entry is listed exactly once, by a block or as waiting. If only the end of the chain was
 * read, they are counted: who names the wrong one has to compare them all.
 */
async function checkListed(
  session: Session,
  { log, table, count_entries }: SealedTable,
  account_id: string,
  sealed_count: bigint,
  { archived, is_end }: { archived: ArchivedEntries; is_end: boolean },
): Promise<string | null> {
  const [waiting] = await session.query<{ count: bigint }>(
    "select count(*) from seal_pending where account_id = $1 and log = $2",
    [account_id, log],
  );
  const listed_count = sealed_count + waiting!.count;
  const existing_count = (await count_entries(session, account_id)) + archived.count;
  const is_complete = listed_count === existing_count;
  if (is_end && is_complete) return null;
  const listed = `
    select unnest(entry_ids) as id from seal_blocks where account_id = $1 and log = $2
    union all
    select entry_id from seal_pending where account_id = $1 and log = $2`;
  // The planner expects few ids in each array and would compare every entry with every id.
  await setLocal(session, { enable_nestloop: "off" });
  const [unlisted] = await session.query<{ id: string }>(
    `select entry.id from ${table} as entry left join (${listed}) as listed on listed.id = entry.id
     where entry.account_id = $1 and listed.id is null order by entry.id limit 1`,
    [account_id, log],
  );
  const [missing] = is_complete
    ? []
    : await session.query<{ id: string }>(
        `select listed.id from (${listed}) as listed
         left join ${table} as entry on entry.account_id = $1 and entry.id = listed.id
         where entry.id is null and ($3::uuid is null or listed.id > $3)
         order by listed.id limit 1`,
        [account_id, log, archived.last_id],
      );
  await setLocal(session, { enable_nestloop: "on" });
  if (unlisted) return `${log} entry ${unlisted.id} of account ${account_id}: no block lists it`;
  if (is_complete) return null;
  if (missing) return `${log} entry ${missing.id} of account ${account_id}: it is missing`;
  const [twice] = await session.query<{ id: string }>(
    `select id from (${listed}) as listed group by id having count(*) > 1 order by id limit 1`,
    [account_id, log],
  );
  if (twice) return `${log} entry ${twice.id} of account ${account_id}: it is listed twice`;
  return (
    `the ${log} log of account ${account_id}: ${listed_count} entries are listed, but there are ` +
    `${existing_count}, ${archived.count} of them archived`
  );
}
