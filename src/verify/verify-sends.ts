import type { Session } from "../platform/db/database.ts";

const UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/** The record of a kind that a key names, with one of these conditions. */
const named = (kind: string, table: string, condition: string) =>
  `when s.key ~ '^${kind}:${UUID}:${UUID}$' then exists (select from ${table} r
     where r.account_id = split_part(s.key, ':', 2)::uuid
       and r.id = split_part(s.key, ':', 3)::uuid and (${condition}))`;

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
         where r.number = split_part(s.key, ':', 2)::bigint)
       else false end
     order by s.number limit 1`,
  );
  return stray ? `a real chain is asked to send ${stray.key}, which no record wants` : null;
}
