import type { Chain } from "../../../../catalogue/chains.ts";
import type { Database, Session, Transaction } from "../../../../platform/db/database.ts";
import { sweepAuthorizationKey, sweepTransferKey, topUpKey } from "../../send-keys.ts";
import type { Sweep } from "./model.ts";

type SweepRow = Omit<Sweep, "amount" | "millionths"> & { amount: string; millionths: string };

/** Credited deposits of one token at one address. */
type Unswept = {
  address: string;
  address_index: number;
  token: string;
  /** Millionths. */
  amount: bigint;
  /** Of the transfers. */
  numbers: bigint[];
};

/** Transfers of one address in one sweep, the largest ones: a flood of dust delays no deposit. */
const TRANSFERS_MAX = 1_000;

// A refused authorization can be used by anybody until it has expired; then the method changes.
const MOVES_TOKENS = `e.key in
  ('sweep:' || s.number || ':transfer', 'sweep:' || s.number || ':authorization')`;
const COLUMNS = "s.*, a.address_index::int";
const FROM = "evm_sweeps s join evm_addresses a using (address)";

/**
 * Addresses whose credited deposits of a token reach the minimum, oldest first. Not those with a
 * sweep that is open or failed.
 */
export async function listUnswept(
  session: Session,
  chain: Chain,
  { wallet, tokens, minimum }: { wallet: string; tokens: readonly string[]; minimum: bigint },
  limit: number,
): Promise<Unswept[]> {
  const rows = await session.query<Omit<Unswept, "amount"> & { amount: string }>(
    `select t.address, a.address_index::int, t.token, sum(t.amount)::text as amount,
       array_agg(t.number order by t.number) as numbers
     from (
       select t.*, row_number() over (
         partition by t.address, t.token order by t.amount desc, t.number) as place
       from evm_transfers t where t.chain = $1 and t.finding is null and t.sweep is null
     ) as t join evm_addresses a using (address)
     where a.wallet = $2 and t.token = any($3::text[]) and t.place <= $5
       and not exists (select from evm_sweeps s where s.chain = t.chain and s.address = t.address
         and s.state in ('open', 'failed'))
     group by t.address, a.address_index, t.token
     having sum(t.amount) >= $4
     order by min(t.number) limit $6`,
    [chain, wallet, tokens, minimum, TRANSFERS_MAX, limit],
  );
  return rows.map((row) => ({ ...row, amount: BigInt(row.amount) }));
}

type NewSweep = Pick<
  Sweep,
  | "chain"
  | "address"
  | "token"
  | "contract"
  | "amount"
  | "millionths"
  | "method"
  | "authorization_nonce"
>;

/** Creates a sweep that takes these transfers. False where another process has taken some. */
export async function insertSweep(
  database: Database,
  sweep: NewSweep,
  numbers: readonly bigint[],
  now: Date,
): Promise<boolean> {
  return database
    .transaction(async (tx) => {
      const { chain, address, token, contract, amount, millionths, method } = sweep;
      const { authorization_nonce } = sweep;
      const [created] = await tx.query<{ number: bigint }>(
        `insert into evm_sweeps (chain, address, token, contract, amount, millionths, method,
           authorization_nonce, state, state_since, created_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, $9) on conflict do nothing
         returning number`,
        [chain, address, token, contract, amount, millionths, method, authorization_nonce, now],
      );
      if (!created) return false;
      const taken = await tx.query(
        `update evm_transfers set sweep = $1
         where number = any($2::bigint[]) and sweep is null and finding is null returning number`,
        [created.number, numbers],
      );
      if (taken.length < numbers.length) throw new TransfersTaken();
      return true;
    })
    .catch((error: unknown) => {
      if (error instanceof TransfersTaken) return false;
      throw error;
    });
}

class TransfersTaken extends Error {}

/**
 * Open sweeps that may be looked at now, oldest first: at most `limit` that go on, and as many that
 * had to wait, which take no place of the others.
 */
export async function listOpenSweeps(
  session: Session,
  chain: Chain,
  limit: number,
  now: Date,
): Promise<Sweep[]> {
  const rows = await session.query<SweepRow>(
    `select ${COLUMNS} from (
       select *, row_number() over (partition by retry_at is null
         order by coalesce(retry_at, created_at), number) as place
       from evm_sweeps
       where chain = $1 and state = 'open' and coalesce(retry_at <= $3, true)
     ) s join evm_addresses a using (address)
     where s.place <= $2 order by s.number`,
    [chain, limit, now],
  );
  return rows.map(toSweep);
}

/** Newest first; for the operator. */
export async function listSweeps(session: Session, limit: number): Promise<Sweep[]> {
  const rows = await session.query<SweepRow>(
    `select ${COLUMNS} from ${FROM} order by s.number desc limit $1`,
    [limit],
  );
  return rows.map(toSweep);
}

/** Why an open sweep cannot go on before a time; null: it goes on. */
export async function updateWaiting(
  session: Session,
  number: bigint,
  later: { problem: string; retry_at: Date } | null,
): Promise<void> {
  await session.query(
    "update evm_sweeps set problem = $2, retry_at = $3 where number = $1 and state = 'open'",
    [number, later?.problem ?? null, later?.retry_at ?? null],
  );
}

/** Ends an open sweep. */
export async function updateEnded(
  session: Session,
  number: bigint,
  { state, problem }: { state: "final" | "failed"; problem: string | null },
  now: Date,
): Promise<void> {
  await session.query(
    `update evm_sweeps set state = $2, problem = $3, state_since = $4
     where number = $1 and state = 'open'`,
    [number, state, problem, now],
  );
}

/** The authorization was not used, or not accepted: native coin is sent instead. */
export async function updateUnauthorized(
  session: Session,
  number: bigint,
  { is_authorization_refused }: { is_authorization_refused: boolean },
): Promise<void> {
  await session.query(
    `update evm_sweeps set method = 'top_up', is_authorization_refused = $2
     where number = $1 and state = 'open' and method = 'authorization'`,
    [number, is_authorization_refused],
  );
}

/** Whether the token's contract refused an authorization since then. */
export async function existsAuthorizationRefused(
  session: Session,
  { chain, contract }: { chain: Chain; contract: string },
  since: Date,
): Promise<boolean> {
  const rows = await session.query(
    `select from evm_sweeps where chain = $1 and contract = $2 and is_authorization_refused
       and created_at >= $3 limit 1`,
    [chain, contract, since],
  );
  return rows.length > 0;
}

/** Counts a top-up. False where another process was faster. */
export async function updateToppedUp(
  tx: Transaction,
  { number, top_ups }: Pick<Sweep, "number" | "top_ups">,
): Promise<boolean> {
  const rows = await tx.query(
    `update evm_sweeps set top_ups = $2 + 1
     where number = $1 and top_ups = $2 and state = 'open' returning number`,
    [number, top_ups],
  );
  return rows.length > 0;
}

/** Whether it is open; it stays so until the transaction ends. */
export async function lockOpenSweep(tx: Transaction, number: bigint): Promise<boolean> {
  const rows = await tx.query(
    "select from evm_sweeps where number = $1 and state = 'open' for update",
    [number],
  );
  return rows.length > 0;
}

/**
 * The operator wants another sweep to take its transfers. False where it may still take them
 * itself: only a failed one does not, and an open one whose transfer was not queued yet.
 */
export function updateGivenUp(
  database: Database,
  number: bigint,
  now: Date,
  record: (tx: Transaction) => void,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    await lockOpenSweep(tx, number);
    const rows = await tx.query(
      `update evm_sweeps s set state = 'given_up', state_since = $2
       where number = $1 and state in ('failed', 'open') and not exists (
         select from evm_sends e where ${MOVES_TOKENS}
           and (e.state <> 'refused' or s.method = 'authorization'))
       returning number`,
      [number, now],
    );
    if (rows.length === 0) return false;
    tx.write("update evm_transfers set sweep = null where sweep = $1", [number]);
    record(tx);
    return true;
  });
}

/**
 * What final sweeps have taken from an address, in millionths, and whether one may be taking now:
 * signed, but not final.
 */
export async function findSwept(
  session: Session,
  chain: Chain,
  { token, address }: { token: string; address: string },
): Promise<{ amount: bigint; is_moving: boolean }> {
  const [row] = await session.query<{ amount: string; is_moving: boolean }>(
    `select coalesce((select sum(t.amount) from evm_transfers t
         join evm_sweeps s on s.number = t.sweep
         where t.address = $2 and t.chain = $1 and t.token = $3 and s.state = 'final'), 0)::text
         as amount,
       exists (select from evm_sweeps s join evm_sends e on ${MOVES_TOKENS}
         where s.chain = $1 and s.address = $2 and s.token = $3 and s.state = 'open'
           and e.state <> 'queued'
           and (e.state <> 'refused' or s.method = 'authorization')) as is_moving`,
    [chain, address, token],
  );
  return { amount: BigInt(row!.amount), is_moving: row!.is_moving };
}

type SweepCounts = { chain: Chain; open: number; waiting: number; failed: number };

/** Sweeps that are not over, by chain. */
export function countSweeps(session: Session, limit: number): Promise<SweepCounts[]> {
  return session.query(
    `select chain, (count(*) filter (where state = 'open' and problem is null))::int as open,
       (count(*) filter (where state = 'open' and problem is not null))::int as waiting,
       (count(*) filter (where state = 'failed'))::int as failed
     from (select chain, state, problem from evm_sweeps where state in ('open', 'failed')
       limit $1) as found
     group by chain`,
    [limit],
  );
}

/** One transaction of a sweep. */
export type SweepStep = {
  key: string;
  state: string;
  tx_id: string | null;
  problem: string | null;
  gas_cost: bigint | null;
};

/** The transactions of these sweeps, by key. */
export async function listSteps(
  session: Session,
  sweeps: readonly Sweep[],
): Promise<Map<string, SweepStep>> {
  const rows = await session.query<Omit<SweepStep, "gas_cost"> & { gas_cost: string | null }>(
    "select key, state, tx_id, problem, gas_cost from evm_sends where key = any($1::text[])",
    [sweeps.flatMap(keysOf)],
  );
  return new Map(
    rows.map((row) => [
      row.key,
      { ...row, gas_cost: row.gas_cost === null ? null : BigInt(row.gas_cost) },
    ]),
  );
}

/** In the order in which they are sent. */
export function keysOf(sweep: Sweep): string[] {
  const top_ups = Array.from({ length: sweep.top_ups }, (_, at) => topUpKey(sweep, at + 1));
  return [sweepAuthorizationKey(sweep), ...top_ups, sweepTransferKey(sweep)];
}

function toSweep(row: SweepRow): Sweep {
  return { ...row, amount: BigInt(row.amount), millionths: BigInt(row.millionths) };
}
