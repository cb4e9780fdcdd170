import { Disagreement } from "../check-transfers.ts";
import type { EvmChain, Nodes } from "../model.ts";
import { readMined, receiptText } from "../read-transaction.ts";
import type { Rpc } from "../rpc.ts";
import type { Receipt } from "../rpc-values.ts";
import { type BlockRange, readOutgoing, smallerRange } from "../transfer-logs.ts";
import { expectedTransfer, isExpected } from "./expected-transfer.ts";
import type { OpenSend } from "./model.ts";

type Paid = { tx_id: string; receipt: Receipt };

const RANGE_FIRST = 1_000;

/**
 * The final transaction that has the nonce of a send and makes its transfer, though it is none of
 * its attempts: the database has lost a replacement, for example with a standby that was behind.
 * Null where there is none. All nodes must say the same.
 */
export async function findLostPayment(
  { chain, rpcs }: Nodes,
  send: OpenSend,
  final_block: number,
): Promise<Paid | null> {
  const accepted = send.attempts.flatMap(({ accepted_block }) => accepted_block ?? []);
  const after = send.planned_block ?? accepted[0];
  if (after === undefined) return null;
  const range = { from_block: after + 1, to_block: final_block };
  const said = await Promise.all(rpcs.map((rpc) => findOn(rpc, chain, send, range)));
  const texts = said.map((one) => one && `${one.tx_id}\n${receiptText(one.receipt)}`);
  if (new Set(texts).size === 1) return said[0]!;
  const names = rpcs.map(({ host }) => host).join(" and ");
  throw new Disagreement(`${names} differ about who has used nonce ${send.nonce} for ${send.key}`);
}

async function findOn(
  rpc: Rpc,
  chain: EvmChain,
  { action, sender, nonce }: OpenSend,
  range: BlockRange,
): Promise<Paid | null> {
  const expected = expectedTransfer(action, sender);
  if (!expected) return null;
  return findInRanges(range, async (part) => {
    const logged = await readOutgoing(rpc, chain, part, expected.contract, expected.from);
    for (const { log } of logged.filter((one) => isExpected(one, expected))) {
      const sent = await rpc.sent(log.tx_id);
      if (sent?.from !== sender || sent.nonce !== nonce) continue;
      const mined = await readMined(rpc, log.tx_id);
      if (mined?.receipt.succeeded) return { tx_id: log.tx_id, receipt: mined.receipt };
    }
    return null;
  });
}

/** Asks for parts of a range that are as large as the node allows, until one has something. */
async function findInRanges<Found>(
  { from_block, to_block }: BlockRange,
  find: (part: BlockRange) => Promise<Found | null>,
): Promise<Found | null> {
  let blocks = RANGE_FIRST;
  for (let from = from_block; from <= to_block; ) {
    const to = Math.min(from + blocks - 1, to_block);
    try {
      const found = await find({ from_block: from, to_block: to });
      if (found) return found;
      from = to + 1;
    } catch (error) {
      const smaller = smallerRange(error, to - from + 1);
      if (smaller === null) throw error;
      blocks = smaller;
    }
  }
  return null;
}
