import type { Session, Transaction } from "../platform/db/database.ts";

/** The open position of all accounts together; positive if we have to buy the currency. */
export type Exposure = { currency: string; amount: bigint };

// The sealed blocks of each account after its checkpoint. The order is the position in the chain,
// not the time: an entry that is committed late is in a later block.
const NEWER_BLOCKS = `select a.id as account_id, b.number, b.entry_ids from accounts a
  left join lateral (
    select c.through_number from exposure_checkpoints c where c.account_id = a.id limit 1
  ) as last on true
  join seal_blocks b on b.account_id = a.id and b.log = 'ledger'
    and b.number > coalesce(last.through_number, 0)`;

/** The same of account $1. */
const NEWER_OF_ACCOUNT = `select b.account_id, b.number, b.entry_ids from seal_blocks b
  where b.account_id = $1 and b.log = 'ledger' and b.number > coalesce((
    select c.through_number from exposure_checkpoints c where c.account_id = $1 limit 1), 0)`;

/** Each entry is looked up: each block could be compared with all lines of the account. */
const sealedLines = (account = "n.account_id") => `select l.account_id, l.currency, l.amount
  from newer n cross join unnest(n.entry_ids) as sealed (id)
  cross join lateral (select account_id, currency, amount from ledger_lines
    where account_id = ${account} and entry_id = sealed.id
      and ledger_account = 'fx_position' offset 0) as l`;

/**
 * An entry is in a checkpoint, in a later block or not sealed yet; in one statement, so that it is
 * seen once.
 */
const partsOf = (newer: string, account?: string) => `with newer as (${newer})
  select c.account_id, c.currency, c.amount from exposure_checkpoints c
  ${account ? `where c.account_id = ${account}` : ""}
  union all
  ${sealedLines(account)}
  union all
  select l.account_id, l.currency, l.amount from seal_pending p
  cross join lateral (select account_id, currency, amount from ledger_lines
    where account_id = ${account ?? "p.account_id"} and entry_id = p.entry_id
      and ledger_account = 'fx_position' offset 0) as l
  where p.log = 'ledger' ${account ? `and p.account_id = ${account}` : ""}`;

const EXPOSURE_PARTS = partsOf(NEWER_BLOCKS);

/** The parts of the exposure of account $1. */
export const EXPOSURE_PARTS_OF_ACCOUNT = partsOf(NEWER_OF_ACCOUNT, "$1::uuid");

export function listExposures(session: Session): Promise<Exposure[]> {
  return session.by_account ? addExposures(session) : sumExposures(session);
}

/**
 * Account by account where something is newer than its checkpoint. Which these are is asked first:
 * the checkpoints of the others are then complete, or newer still.
 */
async function addExposures(session: Session): Promise<Exposure[]> {
  const behind = await listBehindAccounts(session);
  const parts = await session.query<{ currency: string; amount: bigint }>(
    `select currency, amount from exposure_checkpoints where account_id <> all ($1::uuid[])`,
    [behind],
  );
  for (const account_id of behind)
    parts.push(
      ...(await session.query<{ currency: string; amount: bigint }>(
        `select currency, amount from (${EXPOSURE_PARTS_OF_ACCOUNT}) as parts`,
        [account_id],
      )),
    );
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of parts)
    sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount));
  return [...sums]
    .filter(([, amount]) => amount !== 0n)
    .map(([currency, amount]) => ({ currency, amount }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

async function listBehindAccounts(session: Session): Promise<string[]> {
  const [blocks, pending] = await Promise.all([
    listBehindBlocks(session),
    session.query<{ account_id: string }>(
      "select distinct account_id from seal_pending where log = 'ledger'",
    ),
  ]);
  return [...new Set([...blocks, ...pending.map(({ account_id }) => account_id)])];
}

async function sumExposures(session: Session): Promise<Exposure[]> {
  const rows = await session.query<{ currency: string; amount: string }>(
    `select currency, sum(amount)::text as amount from (${EXPOSURE_PARTS}) as parts
     group by currency having sum(amount) <> 0 order by currency`,
  );
  return rows.map(({ currency, amount }) => ({ currency, amount: BigInt(amount) }));
}

/**
 * Adds the blocks that were sealed since. All rows of an account are through the same block; one of
 * zero usd marks the place where there is no position.
 */
export function updateCheckpoints(tx: Transaction): void {
  tx.write(addBlocks(NEWER_BLOCKS), []);
}

const addBlocks = (newer: string, account?: string) => `
  with newer as (${newer}),
  through as (select account_id, max(number) as number from newer group by account_id),
  parts as (
    ${sealedLines(account)}
    union all select account_id, 'usd', 0 from through
    union all select c.account_id, c.currency, 0 from exposure_checkpoints c
      join through on c.account_id = ${account ?? "through.account_id"}
  )
  insert into exposure_checkpoints as c (account_id, currency, amount, through_number)
  select ${account ?? "account_id"}, currency, sum(amount), through.number
  from parts join through using (account_id) group by account_id, currency, through.number
  on conflict (account_id, currency) do update
    set amount = c.amount + excluded.amount, through_number = excluded.through_number`;

/** The accounts that have blocks after their checkpoints. */
export async function listBehindBlocks(session: Session): Promise<string[]> {
  const rows = await session.query<{ account_id: string }>(
    `select b.account_id from (
       select account_id, max(number) as number from seal_blocks
       where log = 'ledger' group by account_id
     ) as b left join (
       select account_id, max(through_number) as through_number from exposure_checkpoints
       group by account_id
     ) as c on c.account_id = b.account_id
     where b.number > coalesce(c.through_number, 0)`,
  );
  return rows.map((row) => row.account_id);
}

/** The same for one account; two at a time would add the same blocks twice, hence the lock. */
export async function updateCheckpoint(tx: Transaction, account_id: string): Promise<void> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `exposure ${account_id}`,
  ]);
  tx.write(addBlocks(NEWER_OF_ACCOUNT, "$1::uuid"), [account_id]);
}
