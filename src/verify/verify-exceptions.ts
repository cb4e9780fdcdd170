import {
  type ExceptionMoney,
  exceptionGivenBack,
  exceptionLost,
  exceptionReturnBooked,
  exceptionReturnRefused,
  exceptionReturnStarted,
  exceptionWrittenOff,
  suspenseReceived,
} from "../ledger/exception-postings.ts";
import type { NewEntry } from "../ledger/model.ts";
import type { BankException } from "../offramps/exceptions/model.ts";
import { refundWorth } from "../offramps/give-up.ts";
import type { Session } from "../platform/db/database.ts";
import { isBelow, parseDecimal } from "../platform/money.ts";
import { type Check, eachPage, inOrder } from "./checks.ts";
import { compareEntries } from "./compare-entries.ts";
import { entryName } from "./verify-ledger.ts";

type Row = Omit<BankException, "offramp_id"> & {
  /** Of the payout that it was assigned to. */
  destination_amount: bigint | null;
  destination_currency: string;
  user_id: string;
  deposit_token: string;
  deposit_token_chain: string;
  rate: string;
};

/** Every exception has the entries of its state, and the operator's decision in the audit log. */
const checkExceptions: Check = (session, account_id) =>
  eachPage<Row>(
    session,
    account_id,
    `select b.account_id, b.id, b.end_to_end_id, b.bank_reference, b.bank_account, b.amount,
       b.currency, b.kind as answer, b.outcome as kind, b.held, b.status, b.resolution, b.reason,
       b.assigned_offramp_id, b.assigned_attempt, b.returns, b.created_at, b.updated_at,
       b.given_back, b.refund_rate, o.destination_amount, o.destination_currency, o.user_id,
       o.deposit_token, o.deposit_token_chain, o.rate
     from bank_answers b
     left join offramps o on o.account_id = b.account_id and o.id = b.assigned_offramp_id
     where b.account_id = $1 and b.id > $2 and b.outcome <> 'applied' order by b.id limit $3`,
    async (rows) => {
      const expected = rows.flatMap(expectedEntries);
      const generous = rows.find(isGenerous);
      return (
        (generous ? `bank exception ${generous.id}: it was given back at a better rate` : null) ??
        (await compareEntries(session, account_id, expected)) ??
        checkActs(session, account_id, rows)
      );
    },
  );

/** Assigned returns are checked with the offramp that they belong to. */
function expectedEntries(row: Row): NewEntry[] {
  const tries = Array.from({ length: row.returns }, (_, index) => ({ ...row, returns: index + 1 }));
  return [
    // Money beyond a payout is a part of the entry of its return.
    ...(row.held > 0n && row.held === row.amount ? [suspenseReceived(row)] : []),
    ...tries.flatMap((tried) => returnEntries(row, tried)),
    ...(row.status === "resolved" ? lossEntries(row) : []),
  ];
}

function returnEntries(row: Row, tried: ExceptionMoney & { returns: number }): NewEntry[] {
  const started = exceptionReturnStarted(tried);
  const is_last = tried.returns === row.returns && row.resolution === "return";
  if (!is_last) return [started, exceptionReturnRefused(tried)];
  return row.status === "returning" ? [started] : [started, exceptionReturnBooked(tried)];
}

function lossEntries(row: Row): NewEntry[] {
  if (row.resolution === "write_off") {
    return [row.held > 0n ? exceptionWrittenOff(row) : exceptionLost(row, row.amount)];
  }
  if (row.given_back !== null) return [givenBackEntry(row, row.given_back)];
  if (row.resolution !== "assign" || row.answer !== "booked") return [];
  const excess = row.amount - (row.destination_amount ?? 0n);
  return excess > 0n ? [exceptionLost(row, excess)] : [];
}

function givenBackEntry(row: Row, given_back: bigint): NewEntry {
  const worth = refundWorth(row, row.held, row.refund_rate!);
  const offramp = { ...row, id: row.assigned_offramp_id! };
  return exceptionGivenBack(row, offramp, worth, worth - given_back);
}

/** At a rate better than the quote's, or without one. */
function isGenerous({ given_back, refund_rate, rate }: Row): boolean {
  if (given_back === null && refund_rate === null) return false;
  if (given_back === null || refund_rate === null) return true;
  return isBelow(parseDecimal(refund_rate)!, parseDecimal(rate)!);
}

/** Exceptions whose decision is applied and not noted yet (`offramps/exceptions`); has a MAC. */
async function listAppliedNow(session: Session, account_id: string): Promise<Set<string>> {
  const rows = await session.query<{ id: string }>(
    `select (o.result::jsonb ->> 'answer')::jsonb -> 'bank_exception' ->> 'id' as id
     from exception_outcomes o
     where o.account_id = $1 and o.result::jsonb ? 'answer'
       and (exists (select from exception_decisions d where d.id = o.id)
         or exists (select from proposals p where p.id = o.id and p.status = 'confirmed'))`,
    [account_id],
  );
  return new Set(rows.map(({ id }) => id));
}

async function checkActs(
  session: Session,
  account_id: string,
  rows: readonly Row[],
): Promise<string | null> {
  const decided = rows.filter(({ status }) => status !== "open");
  const acts = await session.query<{ record: string; action: string; reason: string }>(
    `select record, action, reason from audit_entries
     where account_id = (select id from accounts where is_operator)
       and record = any($1::text[]) order by id`,
    [decided.map(({ id }) => `bank_exception:${id}`)],
  );
  const last = new Map(acts.map((act) => [act.record, act]));
  const unnoted = decided.filter(({ id, resolution, reason }) => {
    const act = last.get(`bank_exception:${id}`);
    return act?.action !== `bank_exception.${resolution}` || act.reason !== reason;
  });
  const applied = unnoted.length > 0 ? await listAppliedNow(session, account_id) : new Set();
  const unfounded = unnoted.find(({ id }) => !applied.has(id));
  if (!unfounded) return null;
  const { id, status } = unfounded;
  return `bank exception ${id} of account ${account_id}: it is ${status}, but nobody decided so`;
}

const checkStrays: Check = async (session, account_id) => {
  const [row] = await session.query<{ id: string; key: string }>(
    `select e.id, e.key from ledger_entries e
     where e.account_id = $1 and (
       e.kind = 'suspense_received' and not exists (select from bank_answers b
         where b.account_id = $1 and 'suspense:' || b.bank_reference = e.key and b.held > 0)
       or e.kind like 'exception\\_%' and not exists (select from bank_answers b
         where b.account_id = $1 and b.outcome <> 'applied' and b.id::text = split_part(e.key, ':',
           case when e.kind in ('exception_assigned', 'exception_given_back') then 3 else 2 end)
         and case e.kind when 'exception_written_off' then b.resolution = 'write_off'
           when 'exception_lost' then b.resolution in ('write_off', 'assign')
           when 'exception_assigned' then b.resolution = 'assign' and b.given_back is null
           when 'exception_given_back' then b.given_back is not null
           else split_part(e.key, ':', 3)::integer between 1 and b.returns end))
     order by e.id limit 1`,
    [account_id],
  );
  return row
    ? `${entryName(row.id, account_id)} (${row.key}): no bank exception explains it`
    : null;
};

/** Money in suspense is always in one of the operator's two lists. */
const checkSuspense: Check = async (session, account_id) => {
  const [row] = await session.query<{ currency: string; sum: string; listed: string }>(
    `with listed as (
       select currency, sum(amount) as amount from (
         select currency, held as amount from bank_answers
         where account_id = $1 and status = 'open'
         union all
         select currency, coalesce(matched_amount, amount) from fiat_deposits
         where account_id = $1 and is_posted and status in ('unmatched', 'matching')) waiting
       group by currency)
     select currency, coalesce(l.sum, 0)::text as sum, coalesce(listed.amount, 0)::text as listed
     from listed full join (select currency, -sum(amount) as sum from ledger_lines
       where account_id = $1 and ledger_account = 'suspense' group by currency) l using (currency)
     where coalesce(l.sum, 0) <> coalesce(listed.amount, 0) order by currency limit 1`,
    [account_id],
  );
  if (!row) return null;
  const name = `suspense of account ${account_id}`;
  return `${name} holds ${row.sum} ${row.currency}, but ${row.listed} wait for the operator`;
};

/** Compares the bank exceptions with the ledger and with the operator's decisions. */
export const verifyExceptions = inOrder(checkExceptions, checkStrays, checkSuspense);
