import type { Session, Transaction } from "../../platform/db/database.ts";
import { distinctSetOf, type RecordKey, setOf } from "../../platform/db/rows.ts";
import type { Page } from "../../platform/http/list.ts";
import { COUNT_MAX } from "../../platform/metrics/model.ts";
import { updateVouchedRows } from "../../platform/sealing/write-vouched.ts";
import { BANK_ANSWERS, isPayoutOf } from "../payouts/store.ts";
import type { BankException, ExceptionStatus } from "./model.ts";

const EXCEPTIONS = `select b.account_id, b.id, b.end_to_end_id, b.bank_reference, b.bank_account,
    b.amount, b.currency, b.kind as answer, b.outcome as kind, p.offramp_id, b.held, b.status,
    b.resolution, b.reason, b.assigned_offramp_id, b.assigned_attempt, b.given_back, b.refund_rate,
    b.returns, b.created_at, b.updated_at
  from bank_answers b
  left join payouts p on ${isPayoutOf("b")}
  where b.outcome <> 'applied'`;

/** The exceptions of all accounts, newest first: they are the operator's to resolve. */
export function listBankExceptions(
  session: Session,
  status: ExceptionStatus | undefined,
  page: Page,
): Promise<BankException[]> {
  return session.query<BankException>(
    `${EXCEPTIONS} and b.id < $1 and b.id >= $2 ${status ? "and b.status = $4" : ""}
     order by b.id desc limit $3`,
    [page.below_id, page.from_id, page.limit + 1, ...(status ? [status] : [])],
  );
}

export async function findBankException(
  session: Session,
  id: string,
): Promise<BankException | undefined> {
  const [row] = await session.query<BankException>(`${EXCEPTIONS} and b.id = $1`, [id]);
  return row;
}

/** Before offramps and payouts; in the order of their accounts and ids. */
export async function lockBankExceptions(
  tx: Session,
  ids: readonly string[],
): Promise<BankException[]> {
  // Exceptions only: all other answers, one for each payout, have no index by their id.
  const owners = await tx.query<RecordKey>(
    "select account_id, id from bank_answers where id = any($1::uuid[]) and outcome <> 'applied'",
    [ids],
  );
  const wanted = distinctSetOf(tx, "wanted", "account_id uuid, id uuid", owners);
  return tx.query<BankException>(
    `${EXCEPTIONS} and (b.account_id, b.id) in (select account_id, id from ${wanted.from})
     order by b.account_id, b.id for no key update of b`,
    wanted.values,
  );
}

export function updateBankExceptions(tx: Transaction, exceptions: readonly BankException[]): void {
  updateVouchedRows(
    tx,
    BANK_ANSWERS,
    `status text, resolution text, reason text, assigned_offramp_id uuid, assigned_attempt int,
     given_back bigint, refund_rate numeric, returns int, updated_at timestamptz`,
    exceptions,
  );
}

/** What of each payout came back after it was refunded, and was given back. */
export async function findGivenBack(
  session: Session,
  offramps: readonly RecordKey[],
): Promise<Map<string, bigint>> {
  const wanted = setOf(session, "wanted", "account_id uuid, id uuid", offramps);
  const rows = await session.query<{ id: string; held: bigint }>(
    `select b.assigned_offramp_id as id, sum(b.held)::bigint as held
     from ${wanted.from}
     join bank_answers b on b.account_id = wanted.account_id
       and b.assigned_offramp_id = wanted.id and b.given_back is not null
     group by 1`,
    wanted.values,
  );
  return new Map(rows.map(({ id, held }) => [id, held]));
}

/** How many are open, counted up to COUNT_MAX, and since when. */
export async function findOpenExceptions(
  session: Session,
): Promise<{ exceptions: number; oldest_at: Date | null }> {
  const [row] = await session.query<{ exceptions: number; oldest_at: Date | null }>(
    `select count(*)::integer as exceptions, min(first.created_at) as oldest_at from (
       select created_at from bank_answers where status = 'open'
       order by id limit ${COUNT_MAX}) as first`,
  );
  return row!;
}
