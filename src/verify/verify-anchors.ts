import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Session } from "../platform/db/database.ts";
import { isId } from "../platform/ids.ts";

/** The head of a chain as the sealer logged it, outside the database. */
type Anchor = { account_id: string; log: string; number: string; hash: string; signature: string };

/** Never more digits than fit into a bigint. */
const BLOCK_NUMBER = /^\d{1,18}$/;

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
  const public_key = createPublicKey(key);
  let is_any = false;
  for await (const line of lines) {
    const anchor = readAnchor(line);
    if (!anchor) continue;
    is_any = true;
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
    if (!block.hash.equals(hash)) return `${name}: it differs from the block that was sealed`;
  }
  // A file without anchors proves nothing and must not pass.
  return is_any ? null : "this file contains no anchor";
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
