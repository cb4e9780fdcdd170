import { findOperatorId } from "../accounts/store.ts";
import type { Session } from "../platform/db/database.ts";
import { findRows, type RecordKey } from "../platform/db/rows.ts";
import { eachPageAbove } from "./checks.ts";

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** How a key names the record that is paid, and in which states that is. */
const PAID = [
  {
    key: new RegExp(`^refund:(?<account_id>${UUID}):(?<id>${UUID})$`),
    ...{ table: "refunds", state: "status", paid: ["sending", "sent"] },
  },
  {
    key: new RegExp(`^onramp:(?<account_id>${UUID}):(?<id>${UUID})$`),
    ...{ table: "onramps", state: "delivery", paid: ["sending", "sent"] },
  },
  {
    // The operator's: the key does not name the account.
    key: new RegExp(`^deposit:(?<id>${UUID}):[0-9]+$`),
    ...{ table: "fiat_deposits", state: "status", paid: ["returning", "returned"] },
  },
];

/** A transaction `s` of a sweep `r`: between the address of its deposits and the treasury only. */
const SWEEP_STEP = `
  case split_part(s.key, ':', 3)
    when 'top_up' then s.action ->> 'kind' = 'gas_top_up' and s.action ->> 'address' = r.address
      and split_part(s.key, ':', 4) = any (select generate_series(1, r.top_ups)::text)
    when 'transfer' then s.action ->> 'kind' = 'token_transfer' and s.sender = r.address
      and s.action ->> 'contract' = r.contract and s.action ->> 'amount' = r.amount::text
      and exists (select from evm_senders t
        where t.chain = r.chain and t.address = s.action ->> 'to')
      and not exists (select from evm_addresses a where a.address = s.action ->> 'to')
    when 'authorization' then s.action ->> 'kind' = 'sweep_with_authorization'
      and s.action ->> 'address' = r.address and s.action ->> 'contract' = r.contract
      and s.action ->> 'amount' = r.amount::text
    else false end`;

type Send = {
  key: string;
  is_refused: boolean;
  /** Of a sweep, or a nonce that is used up: it is what those send. */
  is_own: boolean;
};

const SENDS = `select s.key, s.state = 'refused' as is_refused, coalesce(case
    when s.key ~ '^sweep:[0-9]+:' then exists (select from evm_sweeps r
      where r.number = split_part(s.key, ':', 2)::bigint and r.chain = s.chain
        and (${SWEEP_STEP}))
    when s.key ~ '^nonce:' then s.action = '{"kind": "cancel"}' end, false) as is_own
  from (select * from evm_sends where key > $1 order by key limit $2) s order by s.key`;

/**
 * Whatever is queued for a real chain is signed and sent: each row must belong to a record that was
 * to be paid. Amount, payee and transaction are compared with the record in verifyRecipients. The
 * records are looked up and not joined: they may be on other nodes than the sends.
 */
export async function verifySends(session: Session): Promise<string | null> {
  const operator_id = await findOperatorId(session);
  const keyOf = ({ key }: Send) => [key];
  const fault = await eachPageAbove<Send>(
    { session, query: SENDS, values: [], above: [""], keyOf },
    async (sends) => {
      const wanted = await findWanted(
        session,
        sends.filter(({ is_own }) => !is_own),
        operator_id,
      );
      const stray = sends.find(({ key, is_own }) => !is_own && !wanted.has(key));
      return stray ? `a real chain is asked to send ${stray.key}, which no record wants` : null;
    },
  );
  return fault ?? verifySweeps(session);
}

/** The keys of those that a record wants, or wanted: it may have given up what was refused. */
async function findWanted(
  session: Session,
  sends: readonly Send[],
  operator_id: string | undefined,
): Promise<Set<string>> {
  const wanted = new Set<string>();
  for (const { key: pattern, table, state, paid } of PAID) {
    const named = sends.flatMap((send) => {
      const found = pattern.exec(send.key)?.groups;
      const account_id = found?.account_id ?? operator_id;
      return found && account_id ? [{ ...send, account_id, id: found.id! }] : [];
    });
    const rows = await findRows<RecordKey & Record<string, unknown>>(session, table, named);
    const state_of = new Map(rows.map((row) => [`${row.account_id} ${row.id}`, row[state]]));
    for (const { key, is_refused, account_id, id } of named) {
      const record = `${account_id} ${id}`;
      const is_paid = paid.includes(state_of.get(record) as string);
      if (is_paid || (is_refused && state_of.has(record))) wanted.add(key);
    }
  }
  return wanted;
}

/** A sweep takes the sum of its deposits, all of one token at one address. */
async function verifySweeps(session: Session): Promise<string | null> {
  const [wrong] = await session.query<{ number: bigint }>(
    `select s.number from evm_sweeps s left join evm_transfers t on t.sweep = s.number
     where s.state <> 'given_up'
     group by s.number
     having s.millionths <> coalesce(sum(t.amount) filter (where t.chain = s.chain
       and t.address = s.address and t.token = s.token), 0) or count(t.number) <> count(*)
     limit 1`,
  );
  return wrong ? `sweep ${wrong.number} does not move what its deposits are` : null;
}
