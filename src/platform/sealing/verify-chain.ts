import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Session } from "../db/database.ts";
import { type Block, hashBlock } from "./seal.ts";

/** How a log's entries are read back: the digests of these entries, recomputed from their rows. */
export type ReadDigests = (
  session: Session,
  account_id: string,
  entry_ids: string[],
) => Promise<Map<string, Buffer>>;

export type SealedLog = {
  log: string;
  read_digests: ReadDigests;
  /** Ids of this account's entries, to find those that no block lists. */
  count_entries: (session: Session, account_id: string) => Promise<bigint>;
};

const BLOCKS_PER_PAGE = 100;
/** An entry is sealed within seconds; one that waits longer than this is a fault. */
const UNSEALED_MAX_MS = 60_000;

/**
 * Recomputes one chain from its entries. Returns a sentence naming the first thing that is wrong,
 * or null. Must run in one repeatable-read snapshot.
 */
export async function verifyChain(
  session: Session,
  key: KeyObject,
  sealed: SealedLog,
  account_id: string,
  now: Date,
): Promise<string | null> {
  const public_key = createPublicKey(key);
  let previous: Block | undefined;
  let entries = 0n;
  for (;;) {
    const blocks = await session.query<Block>(
      `select * from seal_blocks where account_id = $1 and log = $2 and number > $3
       order by number limit $4`,
      [account_id, sealed.log, previous?.number ?? 0n, BLOCKS_PER_PAGE],
    );
    for (const block of blocks) {
      const fault =
        checkBlock(block, previous, public_key) ?? (await checkEntries(session, sealed, block));
      if (fault) return fault;
      entries += BigInt(block.entry_ids.length);
      previous = block;
    }
    if (blocks.length < BLOCKS_PER_PAGE) break;
  }
  return checkUnsealed(session, sealed, account_id, entries, now);
}

function checkBlock(block: Block, previous: Block | undefined, key: KeyObject): string | null {
  const name = `${block.log} block ${block.number} of account ${block.account_id}`;
  if (block.number !== (previous?.number ?? 0n) + 1n)
    return `${name}: a block before it is missing`;
  if (!block.previous_hash.equals(previous?.hash ?? Buffer.alloc(32))) {
    return `${name}: it does not continue the block before it`;
  }
  if (!hashBlock(block).equals(block.hash)) return `${name}: its hash does not match its content`;
  if (!verify(null, block.hash, key, block.signature)) return `${name}: its signature is not ours`;
  return null;
}

async function checkEntries(
  session: Session,
  sealed: SealedLog,
  block: Block,
): Promise<string | null> {
  const digests = await sealed.read_digests(session, block.account_id, block.entry_ids);
  for (const [at, id] of block.entry_ids.entries()) {
    const name = `${sealed.log} entry ${id} of account ${block.account_id}`;
    const digest = digests.get(id);
    if (!digest) return `${name}: it is gone`;
    if (!digest.equals(block.digests[at]!)) return `${name}: it was changed after it was sealed`;
  }
  return null;
}

async function checkUnsealed(
  session: Session,
  sealed: SealedLog,
  account_id: string,
  sealed_count: bigint,
  now: Date,
): Promise<string | null> {
  const pending = await session.query<{ entry_id: string; digest: Buffer; noted_at: Date }>(
    `select entry_id, digest, noted_at from seal_pending where account_id = $1 and log = $2
     order by noted_at`,
    [account_id, sealed.log],
  );
  const ids = pending.map((entry) => entry.entry_id);
  const digests = await sealed.read_digests(session, account_id, ids);
  for (const { entry_id, digest, noted_at } of pending) {
    const name = `${sealed.log} entry ${entry_id} of account ${account_id}`;
    if (!digests.get(entry_id)?.equals(digest))
      return `${name}: it was changed before it was sealed`;
    if (now.getTime() - noted_at.getTime() > UNSEALED_MAX_MS) return `${name}: it was never sealed`;
  }
  const count = await sealed.count_entries(session, account_id);
  if (count !== sealed_count + BigInt(pending.length)) {
    return (
      `account ${account_id} has ${count} ${sealed.log} entries, but ${sealed_count} are ` +
      `sealed and ${pending.length} are waiting`
    );
  }
  return null;
}
