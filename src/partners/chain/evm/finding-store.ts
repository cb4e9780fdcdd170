import type { Chain } from "../../../catalogue/chains.ts";
import type { Session } from "../../../platform/db/database.ts";
import type { NumberedTransfer, TransferFinding } from "./watch-store.ts";

export type FoundTransfer = NumberedTransfer & { finding: TransferFinding };

/** Transfers to our addresses that are not credited, newest first. */
export function listFindings(session: Session, limit: number): Promise<FoundTransfer[]> {
  return session.query(
    `select * from evm_transfers where finding is not null order by number desc limit $1`,
    [limit],
  );
}

/** Counted up to a limit. */
export async function countFindings(session: Session, limit: number): Promise<number> {
  const [row] = await session.query<{ count: number }>(
    `select count(*)::int as count
     from (select from evm_transfers where finding is not null limit $1) as found`,
    [limit],
  );
  return row!.count;
}

/** Rows that this service did not write, or whose address nobody can prove to be ours. */
export async function updateUnproven(session: Session, numbers: readonly bigint[]): Promise<void> {
  await session.query(
    `update evm_transfers set finding = 'unproven'
     where number = any($1::bigint[]) and finding is null`,
    [numbers],
  );
}

/** Those that may be on the chain: of blocks up to the last one that was read. */
export function listUnproven(
  session: Session,
  chain: Chain,
  { after, until_block }: { after: bigint; until_block: bigint },
  limit: number,
): Promise<{ number: bigint; block_number: bigint }[]> {
  return session.query(
    `select number, block_number from evm_transfers
     where finding = 'unproven' and chain = $1 and number > $2 and block_number between 1 and $3
     order by number limit $4`,
    [chain, after, until_block, limit],
  );
}

/** The chains with unproven transfers. */
export async function listUnprovenChains(session: Session): Promise<Chain[]> {
  const rows = await session.query<{ chain: Chain }>(
    "select distinct chain from evm_transfers where finding = 'unproven' order by chain",
  );
  return rows.map(({ chain }) => chain);
}
