import type { Session } from "../platform/db/database.ts";

const UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** The record of a kind that a key names, with one of these conditions. */
const named = (kind: string, table: string, condition: string) =>
  `when s.key ~ '^${kind}:${UUID}:${UUID}$' then exists (select from ${table} r
     where r.account_id = split_part(s.key, ':', 2)::uuid
       and r.id = split_part(s.key, ':', 3)::uuid and (${condition}))`;

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

/**
 * Whatever is queued for a real chain is signed and sent: each row must belong to a record that was
 * to be paid. Amount, payee and transaction are compared with the record in verifyRecipients.
 */
export async function verifySends(session: Session): Promise<string | null> {
  const [stray] = await session.query<{ key: string }>(
    `select s.key from evm_sends s where not case
       ${named("refund", "refunds", "r.status in ('sending', 'sent') or s.state = 'refused'")}
       ${named("onramp", "onramps", "r.delivery in ('sending', 'sent') or s.state = 'refused'")}
       when s.key ~ '^deposit:${UUID}:[0-9]+$' then exists (select from fiat_deposits r
         where r.account_id = (select id from accounts where is_operator)
           and r.id = split_part(s.key, ':', 2)::uuid
           and (r.status in ('returning', 'returned') or s.state = 'refused'))
       when s.key ~ '^sweep:[0-9]+:' then exists (select from evm_sweeps r
         where r.number = split_part(s.key, ':', 2)::bigint and r.chain = s.chain
           and (${SWEEP_STEP}))
       when s.key ~ '^nonce:' then s.action = '{"kind": "cancel"}'
       else false end
     order by s.number limit 1`,
  );
  if (stray) return `a real chain is asked to send ${stray.key}, which no record wants`;
  return verifySweeps(session);
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
