import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Session } from "../platform/db/database.ts";
import { isId } from "../platform/ids.ts";

/** The head of a chain as the sealer logged it, outside the database. */
type Anchor = { account_id: string; log: string; number: string; hash: string; signature: string };

/** Never more digits than fit into a bigint. */
const BLOCK_NUMBER = /^\d{1,18}$/;

/** The newest block of each chain that an anchor names, by `chainName`. */
export type AnchoredHeads = ReadonlyMap<string, bigint>;

export function chainName(account_id: string, log: string): string {
  return `${account_id} ${log}`;
}

/**
 * An attacker who can write to the database can remove the end of a chain with its entries, and the
 * rest is still a valid chain. Heads stored outside the database reveal this: each must still be in
 * its place.
 */
export async function verifyAnchors(
  session: Session,
  key: KeyObject,
  lines: AsyncIterable<string>,
): Promise<string | null> {
  const read = await readAnchors(session, key, lines);
  return "fault" in read ? read.fault : null;
}

/** The same, and how far the anchors go. */
export async function readAnchors(
  session: Session,
  key: KeyObject,
  lines: AsyncIterable<string>,
): Promise<{ heads: AnchoredHeads } | { fault: string }> {
  const public_key = createPublicKey(key);
  const heads = new Map<string, bigint>();
  for await (const line of lines) {
    const anchor = readAnchor(line);
    if (!anchor) continue;
    const fault = await findAnchorFault(session, public_key, anchor);
    if (fault) return { fault };
    const name = chainName(anchor.account_id, anchor.log);
    const number = BigInt(anchor.number);
    if (number > (heads.get(name) ?? 0n)) heads.set(name, number);
  }
  // A file without anchors proves nothing and must not pass.
  return heads.size > 0 ? { heads } : { fault: "this file contains no anchor" };
}

async function findAnchorFault(
  session: Session,
  public_key: KeyObject,
  anchor: Anchor,
): Promise<string | null> {
  const name = `${anchor.log} block ${anchor.number} of account ${anchor.account_id}`;
  if (!isId(anchor.account_id) || !BLOCK_NUMBER.test(anchor.number)) {
    return `${name}: this is not a valid anchor`;
  }
  const hash = Buffer.from(anchor.hash, "hex");
  if (!verify(null, hash, public_key, Buffer.from(anchor.signature, "base64"))) {
    return `${name}: the anchor was not signed by this installation`;
  }
  const [block] = await session.query<{ hash: Buffer }>(
    "select hash from seal_blocks where account_id = $1 and log = $2 and number = $3",
    [anchor.account_id, anchor.log, anchor.number],
  );
  if (!block) return `${name}: it was sealed and is missing`;
  return block.hash.equals(hash) ? null : `${name}: it differs from the block that was sealed`;
}

/** Skips other lines of the log, and any prefix that a log collector added. */
function readAnchor(line: string): Anchor | null {
  if (!line.includes('"sealed"')) return null;
  try {
    const read = JSON.parse(line.slice(line.indexOf("{"))) as Partial<Anchor> & { msg?: string };
    const fields = [read.account_id, read.log, read.number, read.hash, read.signature];
    const is_anchor = read.msg === "sealed" && fields.every((field) => typeof field === "string");
    return is_anchor ? (read as Anchor) : null;
  } catch {
    return null;
  }
}
