import { findOperatorId } from "../accounts/store.ts";
import { type NewEntry, onrampAccount } from "../ledger/model.ts";
import {
  onrampConverted,
  onrampDelivered,
  onrampFunded,
  onrampGivenBack,
  onrampRefused,
} from "../ledger/onramp-postings.ts";
import { listEntriesByLedgerAccount } from "../ledger/store.ts";
import { digestFacts, ONRAMP_MOVES } from "../onramps/model.ts";
import type { OnrampRow } from "../onramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import { type Check, eachPage, inOrder } from "./checks.ts";
import { compareEntry } from "./compare-entries.ts";
import { verifyEvented } from "./verify-events.ts";
import { entryName } from "./verify-ledger.ts";

async function checkEntries(
  session: Session,
  account_id: string,
  onramps: readonly OnrampRow[],
): Promise<string | null> {
  const names = onramps.map((onramp) => onrampAccount(onramp.id));
  const entries = await listEntriesByLedgerAccount(session, account_id, names);
  const by_key = new Map(entries.map((entry) => [entry.key, entry]));
  for (const onramp of onramps) {
    for (const expected of expectedEntries(onramp)) {
      const entry = by_key.get(expected.key);
      if (!entry) {
        const name = `onramp ${onramp.id} of account ${account_id}`;
        return `${name}: the ledger has no entry ${expected.key}`;
      }
      const difference = compareEntry(entry, expected);
      if (difference) return difference;
      by_key.delete(expected.key);
    }
  }
  const [stray] = by_key.keys();
  if (stray === undefined) return null;
  return `account ${account_id} has a ledger entry ${stray} that belongs to no onramp`;
}

/** The entries that must exist in the onramp's state. */
function expectedEntries(onramp: OnrampRow): NewEntry[] {
  const { received, delivery, status } = onramp;
  if (received === null) return [];
  return [
    onrampFunded(onramp, received),
    ...(status === "failed" ? [onrampGivenBack(onramp, received)] : []),
    ...(delivery === "waiting" ? [] : [onrampConverted(onramp)]),
    ...(delivery === "sent" ? [onrampDelivered(onramp)] : []),
    ...(delivery === "refused" ? [onrampRefused(onramp)] : []),
  ];
}

const checkCodes: Check = async (session, account_id) => {
  const [row] = await session.query<{ id: string }>(
    `select o.id from onramps o
     left join deposit_codes c on c.account_id = o.account_id and c.onramp_id = o.id
     where o.account_id = $1 and c.code is distinct from o.deposit_message
     order by o.id limit 1`,
    [account_id],
  );
  if (!row) return null;
  return `onramp ${row.id} of account ${account_id}: its code belongs to another onramp`;
};

type PaidOnramp = {
  id: string;
  deposit_id: string | null;
  received: bigint | null;
  currency: string;
  has_failed: boolean;
};
type PayingDeposit = {
  id: string;
  onramp_account_id: string | null;
  onramp_id: string | null;
  matched_amount: bigint | null;
  currency: string;
  status: string;
};

const PAID_ONRAMP = `o.id, o.deposit_id, o.received, o.fiat_currency as currency,
  o.status = 'failed' as has_failed`;
const PAYING_DEPOSIT = `d.id, d.onramp_account_id, d.onramp_id, d.matched_amount, d.currency,
  d.status`;

/**
 * A deposit and the onramp that it pays reference each other, with the same amount. They are looked
 * up by their keys and not joined: deposits are the operator's, so the two may be on two nodes.
 */
const checkPaid: Check = async (session, account_id) => {
  const operator_id = await findOperatorId(session);
  return eachPage<PaidOnramp>(
    session,
    account_id,
    `select ${PAID_ONRAMP} from onramps o where o.account_id = $1 and o.deposit_id is not null
       and o.status <> 'failed' and o.id > $2 order by o.id limit $3`,
    async (onramps) => {
      const deposits = await session.query<PayingDeposit>(
        `select ${PAYING_DEPOSIT} from fiat_deposits d
         where d.account_id = $1 and d.id = any ($2::uuid[])`,
        [operator_id, onramps.map(({ deposit_id }) => deposit_id)],
      );
      const by_id = new Map(deposits.map((deposit) => [deposit.id, deposit]));
      const unpaid = onramps.find((onramp) => {
        const deposit = by_id.get(onramp.deposit_id!);
        if (!deposit || deposit.currency !== onramp.currency) return true;
        return deposit.status !== "matching" && deposit.matched_amount !== onramp.received;
      });
      if (!unpaid) return null;
      return `onramp ${unpaid.id} of account ${account_id}: it is paid, but has no deposit`;
    },
  );
};

const checkPaying: Check = (session, account_id) =>
  eachPage<PayingDeposit>(
    session,
    account_id,
    `select ${PAYING_DEPOSIT} from fiat_deposits d where d.account_id = $1
       and d.status in ('matched', 'releasing') and d.id > $2 order by d.id limit $3`,
    async (deposits) => {
      const accounts = new Set(deposits.map((deposit) => deposit.onramp_account_id));
      const onramps = await session.query<PaidOnramp>(
        `select ${PAID_ONRAMP} from onramps o
         where o.account_id = any ($1::uuid[]) and o.id = any ($2::uuid[])`,
        [[...accounts], deposits.map(({ onramp_id }) => onramp_id)],
      );
      const by_id = new Map(onramps.map((onramp) => [onramp.id, onramp]));
      const unmatched = deposits.find((deposit) => {
        const onramp = by_id.get(deposit.onramp_id ?? "");
        if (onramp?.deposit_id !== deposit.id) return true;
        if (onramp.received !== deposit.matched_amount) return true;
        return deposit.status === "matched" && onramp.has_failed;
      });
      if (!unmatched) return null;
      return `deposit ${unmatched.id}: the onramp that it is matched to does not refer to it`;
    },
  );

const checkStrayPostings: Check = async (session, account_id) => {
  const [stray] = await session.query<{ id: string; key: string }>(
    `select e.id, e.key from ledger_entries e where e.account_id = $1 and e.kind like 'fiat\\_%'
       and not exists (select from fiat_deposits d where d.account_id = $1
         and d.id::text = split_part(e.key, ':', 2))
     order by e.id limit 1`,
    [account_id],
  );
  return stray ? `${entryName(stray.id, account_id)} (${stray.key}): there is no deposit` : null;
};

/**
 * Suspense and return clearing contain exactly the unsettled deposits; compared per line of the
 * bank, since a remaining part is a separate row.
 */
const checkSuspense: Check = async (session, account_id) => {
  const [row] = await session.query<{ bank_reference: string; account: string }>(
    `with line as (
       select bank_account, bank_reference, array_agg(id::text) as ids, currency,
         sum(case when is_posted and status in ('unmatched', 'matching')
           then coalesce(matched_amount, amount) else 0 end) as suspense,
         sum(case when status = 'returning' then coalesce(matched_amount, amount) else 0 end)
           as return_clearing
       from fiat_deposits where account_id = $1
       group by bank_account, bank_reference, currency),
     posted as (
       select split_part(e.key, ':', 2) as deposit_id, l.ledger_account, -sum(l.amount) as amount
       from ledger_entries e join ledger_lines l on l.account_id = e.account_id
         and l.entry_id = e.id
       where e.account_id = $1 and e.kind like 'fiat\\_%'
         and l.ledger_account in ('suspense', 'return_clearing')
       group by 1, 2),
     compared as (
       select bank_account, bank_reference, currency, suspense, return_clearing,
         coalesce(sum(p.amount) filter (where p.ledger_account = 'suspense'), 0)
           as posted_suspense,
         coalesce(sum(p.amount) filter (where p.ledger_account = 'return_clearing'), 0)
           as posted_returns
       from line cross join unnest(line.ids) as part (id)
       left join posted p on p.deposit_id = part.id
       group by bank_account, bank_reference, currency, suspense, return_clearing)
     select bank_reference,
       case when suspense <> posted_suspense then 'suspense' else 'return_clearing' end as account
     from compared where suspense <> posted_suspense or return_clearing <> posted_returns
     order by bank_reference limit 1`,
    [account_id],
  );
  if (!row) return null;
  return `deposits ${row.bank_reference}: ${row.account} differs from their open amount`;
};

/** Compares every onramp with its events, its ledger entries and the deposit that pays it. */
export const verifyOnramps = inOrder(
  checkCodes,
  checkPaid,
  checkPaying,
  checkStrayPostings,
  checkSuspense,
  verifyEvented<OnrampRow>(
    {
      table: "onramps",
      name: "onramp",
      event: "onramp_update",
      moves: ONRAMP_MOVES,
      before_events: null,
      digest: digestFacts,
      select: "select * from onramps",
    },
    checkEntries,
  ),
);
